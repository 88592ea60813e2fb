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

/// When a runner exits by itself: it is not needed any more, or its program was replaced.
extension ServerTests {
    /// No scheduler is connected, so that nothing else wakes the thread.
    @Test func aRunnerWhoseLastRunEndsWithoutASchedulerIsNotNeeded() throws {
        let fixture = try ServerFixture { $0.idleMax = .milliseconds(100) }
        let gate = "\(fixture.folder)/gate"
        mkfifo(gate, 0o600)
        let events = ReceivedEvents(seesAll: false)
        let jobs = [job("echo up; read go <\(gate)"), job("true")]
        let runs = [run(jobs[0]), run(jobs[1], 1)]
        let client = try fixture.client { events.take($0, $1) }
        for (run, job) in zip(runs, jobs) {
            fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
            client.start([run])
            events.wait {
                $0.contains { if case .began(run.id, _, _) = $0 { true } else { false } }
            }
        }
        client.close()
        #expect(!fixture.endsByItself(within: 0.5))
        try "go\n".write(to: URL(fileURLWithPath: gate), atomically: false, encoding: .utf8)
        #expect(fixture.endsByItself(within: 10))
        fixture.stop()
    }

    /// After an upgrade it logs this when a scheduler connects, and ends for the next runner
    /// without affecting a run, whether the scheduler is still connected or not.
    @Test(arguments: [true, false])
    func aRunnerWhoseProgramWasReplacedEndsOnceNoRunIsActive(isConnected: Bool) throws {
        let replaced = Mutex(false)
        let fixture = try ServerFixture { $0.isReplaced = { replaced.withLock { $0 } } }
        let gate = "\(fixture.folder)/gate"
        mkfifo(gate, 0o600)
        let job = job("read go <\(gate); exit 3")
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let before = ReceivedEvents()
        let first = try fixture.client { before.take($0, $1) }
        first.start([run(job)])
        before.wait { $0.contains { if case .began = $0 { true } else { false } } }
        first.close()
        #expect(fixture.configuration.said.withLock { $0 } == [])
        replaced.withLock { $0 = true }
        let events = ReceivedEvents()
        let second = try fixture.client { events.take($0, $1) }
        #expect(fixture.configuration.said.withLock { $0.first?.contains("was replaced") } == true)
        if !isConnected { second.close() }
        #expect(!fixture.endsByItself(within: 0.3))
        let opened = open(gate, O_WRONLY | O_CLOEXEC)
        #expect(write(opened, "go\n", 3) == 3)
        close(opened)
        if isConnected { #expect(outcome(events.end(of: run(job))) == "exited(3)") }
        #expect(fixture.endsByItself(within: 60))
        #expect(fixture.configuration.said.withLock { $0.count } == 1)
        if isConnected {
            #expect(events.firstAway() == true, "it reports that it ends")
            second.close()
        }
        fixture.stop()
    }

    /// Requests to a runner that is ending are handled by the next one, once.
    @Test func aRunRequestedFromAReplacedRunnerIsStartedByTheNextOne() throws {
        let replaced = Mutex(false)
        let fixture = try ServerFixture { $0.isReplaced = { replaced.withLock { $0 } } }
        let job = job("exit 3")
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let events = ReceivedEvents()
        // It may end before it answers a client, and the next one exists only below.
        let client = try fixture.client(timeout: .seconds(60)) { events.take($0, $1) }
        replaced.withLock { $0 = true }
        client.start((0..<20).map { run(job, $0) })
        fixture.server.refresh()
        #expect(fixture.endsByItself(within: 60))
        let next = try ServerFixture(in: fixture.folder)
        next.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        for number in 0..<20 {
            #expect(outcome(events.end(of: run(job, number))) == "exited(3)")
        }
        client.close()
        fixture.stop(keepsFolder: true)
        next.stop()
    }

    @Test(arguments: [
        ("55d0-55d1 r-xp 00000000 08:01 42  /usr/bin/timerd-runner (deleted)", true),
        ("55d0-55d1 r-xp 00000000 08:01 42  /usr/lib/a library.so (deleted)", true),
        ("55d0-55d1 r--p 00000000 08:01 42  /usr/bin/timerd-runner (deleted)", false),
        ("55d0-55d1 r-xp 00000000 08:01 42  /usr/bin/timerd-runner", false),
        ("55d0-55d1 rw-s 00000000 00:01 42  /dev/zero (deleted)", false),
        ("55d0-55d1 rwxp 00000000 00:01 42  /memfd:code (deleted)", false),
        ("55d0-55d1 r-xp 00000000 00:00 0  [vdso]", false), ("", false), (" (deleted)", false),
    ])
    func aProgramWasReplaced_ifItsCodeIsFromADeletedFile(line: String, isReplaced: Bool) {
        let maps = "1-2 r-xp 00000000 08:01 41  /usr/lib/libc.so.6\n\(line)\n"
        #expect(OwnProgram.hasReplaced(in: maps) == isReplaced)
        #expect(!OwnProgram().isReplaced())
    }
}
