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
        let fixture = try ServerFixture { $0.idleMax = .milliseconds(50) }
        #expect(fixture.endsByItself(within: 30))
        #expect(fixture.connect() < 0, "a process listens")
        fixture.stop()
    }

    @Test func aServerWithARunContinues_untilTheRunEnds() throws {
        let fixture = try ServerFixture { $0.idleMax = .milliseconds(200) }
        let job = Job(
            name: Self.job.name, command: .shell("echo up; read go < \(fixture.folder)/go"),
            schedule: .every(.seconds(1)))
        mkfifo("\(fixture.folder)/go", 0o600)
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        client.start([
            Run(firing: Firing(id: Self.request(1).run.firing, missed: 0, active: .zero), job: job)
        ])
        events.wait { $0.contains { if case .output = $0 { true } else { false } } }
        client.close()
        #expect(!fixture.endsByItself(within: 1))
        try "go\n".write(toFile: "\(fixture.folder)/go", atomically: false, encoding: .utf8)
        #expect(fixture.endsByItself(within: 30))
        // The next runner knows how it ended.
        let next = try ServerFixture(in: fixture.folder)
        let successor = try next.client { _, _ in }
        #expect(successor.holdings.map(\.isOver) == [true])
        successor.close()
        next.stop()
    }

    @Test func aServerWithASchedulerContinues() throws {
        let fixture = try ServerFixture { $0.idleMax = .milliseconds(50) }
        let client = try fixture.client { _, _ in }
        #expect(!fixture.endsByItself(within: 1))
        client.close()
        #expect(fixture.endsByItself(within: 30))
        fixture.stop()
    }

    /// A scheduler that connects just before a runner ends either is served, and the runner
    /// continues, or finds that no runner listens.
    @Test func aSchedulerThatConnectsAtTheLastMomentLosesNothing() throws {
        var counts = (had: 0, none: 0)
        for round in 0..<60 {
            let fixture = try ServerFixture { $0.idleMax = .milliseconds(10) }
            fixture.configuration.jobs.withLock { $0 = [Self.job.name: Definition(Self.job)] }
            usleep(UInt32(9000 + round * 50))
            let events = ReceivedEvents()
            if let client = try? fixture.client(timeout: .zero, { events.take($0, $1) }) {
                counts.had += 1
                let firing = Firing(id: Self.request(round).run.firing, missed: 0, active: .zero)
                let run = Run(firing: firing, job: Self.job)
                client.start([run])
                guard case .ended(_, let end) = events.end(of: run) else { return }
                #expect(end.outcome == .exited(0))
                client.close()
            } else {
                counts.none += 1
            }
            #expect(fixture.endsByItself(within: 30))
            fixture.stop()
        }
        print("at the last moment: \(counts)")
    }

    @Test func aRestartedRunnerIsFoundWhenItsSocketAppears() throws {
        let fixture = try ServerFixture()
        let back = DispatchSemaphore(value: 0)
        let client = try fixture.client(announcedBy: fixture.socket) { news, _ in
            if case .back = news { back.signal() }
        }
        fixture.stop()
        // Meanwhile the interval between attempts grows, and the directory of the runner does not
        // exist.
        usleep(4_500_000)
        let next = try ServerFixture(in: fixture.folder)
        #expect(back.wait(timeout: .now() + 0.8) == .success)
        client.close()
        next.stop()
    }
}
