// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// When a server that is not needed ends.
extension ServerLimitTests {
    @Test func aServerWithoutASchedulerAndWithoutARunEnds() throws {
        let desk = try Desk { $0.idleMax = .milliseconds(50) }
        #expect(desk.endsByItself(within: 30))
        #expect(desk.connect() < 0, "a process listens")
        desk.stop()
    }

    @Test func aServerWithARunContinues_untilTheRunEnds() throws {
        let desk = try Desk { $0.idleMax = .milliseconds(200) }
        let job = Job(
            name: Self.job.name, command: .shell("echo up; read go < \(desk.folder)/go"),
            schedule: .every(.seconds(1)))
        mkfifo("\(desk.folder)/go", 0o600)
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        client.start([
            Run(firing: Firing(id: Self.order(1).run.firing, missed: 0, active: .zero), job: job)
        ])
        ear.wait { $0.contains { if case .output = $0 { true } else { false } } }
        client.close()
        #expect(!desk.endsByItself(within: 1))
        try "go\n".write(toFile: "\(desk.folder)/go", atomically: false, encoding: .utf8)
        #expect(desk.endsByItself(within: 30))
        // The next runner knows how it ended.
        let next = try Desk(in: desk.folder)
        let successor = try next.client { _, _ in }
        #expect(successor.holdings.map(\.isOver) == [true])
        successor.close()
        next.stop()
    }

    @Test func aServerWithASchedulerContinues() throws {
        let desk = try Desk { $0.idleMax = .milliseconds(50) }
        let client = try desk.client { _, _ in }
        #expect(!desk.endsByItself(within: 1))
        client.close()
        #expect(desk.endsByItself(within: 30))
        desk.stop()
    }

    /// A scheduler that connects just before a runner ends either is served, and the runner
    /// continues, or finds that no runner listens.
    @Test func aSchedulerThatConnectsAtTheLastMomentLosesNothing() throws {
        var counts = (had: 0, none: 0)
        for round in 0..<60 {
            let desk = try Desk { $0.idleMax = .milliseconds(10) }
            desk.configuration.jobs.withLock { $0 = [Self.job.name: Definition(Self.job)] }
            usleep(UInt32(9000 + round * 50))
            let ear = Ear()
            if let client = try? desk.client(timeout: .zero, { ear.take($0, $1) }) {
                counts.had += 1
                let firing = Firing(id: Self.order(round).run.firing, missed: 0, active: .zero)
                let run = Run(firing: firing, job: Self.job)
                client.start([run])
                guard case .ended(_, let end) = ear.end(of: run) else { return }
                #expect(end.outcome == .exited(0))
                client.close()
            } else {
                counts.none += 1
            }
            #expect(desk.endsByItself(within: 30))
            desk.stop()
        }
        print("at the last moment: \(counts)")
    }

    @Test func aRestartedRunnerIsFoundWhenItsSocketAppears() throws {
        let desk = try Desk()
        let back = DispatchSemaphore(value: 0)
        let client = try desk.client(announcedBy: desk.socket) { news, _ in
            if case .back = news { back.signal() }
        }
        desk.stop()
        // Meanwhile the interval between attempts grows, and the directory of the runner does not
        // exist.
        usleep(4_500_000)
        let next = try Desk(in: desk.folder)
        #expect(back.wait(timeout: .now() + 0.8) == .success)
        client.close()
        next.stop()
    }
}
