// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing
import TimerConfig
import TimerCore

@testable import TimerDaemon

/// A machine that does not answer.
@Suite struct TimeLimitedMachineTests {
    private final class Silent: MachineQueries {
        private let gate = DispatchSemaphore(value: 0)
        private let state = Mutex(0)

        var asked: Int { state.withLock { $0 } }

        func open() { gate.signal() }

        private func wait() {
            state.withLock { $0 += 1 }
            gate.wait()
        }

        func findings(for question: MachineCheck.Question) -> [MachineCheck.Finding] {
            wait()
            return []
        }

        func isMember(_ name: String, of groups: [String]) -> Bool? {
            wait()
            return true
        }
    }

    private let question = MachineCheck.Question(
        of: Job(name: Job.Name("a")!, command: .shell("true"), schedule: .every(.seconds(60))))

    @Test func afterTheFirstAnswerThatDoesNotComeNothingMoreIsAsked() {
        let silent = Silent()
        let machine = TimeLimitedMachine(
            silent, on: DispatchQueue(label: "test"), timeout: .milliseconds(10))
        #expect(machine.findings(for: question).isEmpty && machine.hasTimedOut)
        #expect(machine.isMember("root", of: ["root"]) == nil)
        #expect(machine.findings(for: question).isEmpty)
        #expect(silent.asked <= 1)
        silent.open()
    }

    @Test func anAnswerThatComesIsGiven() {
        let open = Silent()
        open.open()
        let machine = TimeLimitedMachine(
            open, on: DispatchQueue(label: "test"), timeout: .seconds(60))
        #expect(machine.isMember("root", of: ["root"]) == true && !machine.hasTimedOut)
    }
}
