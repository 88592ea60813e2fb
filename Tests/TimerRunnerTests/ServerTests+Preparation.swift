// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// What a scheduler learns about a runner that does not have the configuration yet.
extension ServerTests {
    /// Files that are read only once the test allows it.
    private final class SlowFiles: Sendable {
        let changed = Mutex(false)
        /// How many readings began and ended.
        let begun = Mutex(0)
        let ended = Mutex(0)
        private let gate = DispatchSemaphore(value: 0)
        let jobs = Mutex<RunnerServer.Definitions>([:])

        func fixture(fails: Bool = false) throws -> ServerFixture {
            try ServerFixture { settings in
                settings.hasChanged = { self.changed.withLock { $0 } }
                settings.isAffected = { _ in false }
                settings.definitions = { _ in
                    self.begun.withLock { $0 += 1 }
                    self.gate.wait()
                    self.ended.withLock { $0 += 1 }
                    return fails
                        ? .failure(.init("cannot read it")) : .success(self.jobs.withLock { $0 })
                }
            }
        }

        func waitUntilBegun(_ count: Int) {
            while begun.withLock({ $0 }) < count { usleep(1000) }
        }

        func release() { gate.signal() }
    }

    /// How many readings had ended when the first barrier of a client was answered, and the client.
    private func readings(
        atBarrierOf fixture: ServerFixture, _ files: SlowFiles
    ) throws -> Int {
        let client = try fixture.client { _, seen in seen() }
        let answered = DispatchSemaphore(value: 0)
        let ended = Mutex(0)
        client.barrier {
            ended.withLock { $0 = files.ended.withLock { $0 } }
            answered.signal()
        }
        files.waitUntilBegun(1)
        files.release()
        #expect(answered.wait(timeout: .now() + 30) == .success)
        client.close()
        return ended.withLock { $0 }
    }

    @Test(arguments: [false, true])
    func theFirstBarrierWaitsForTheDefinitions_evenIfTheyCannotBeRead(fails: Bool) throws {
        let files = SlowFiles()
        let job = job("exit 3")
        files.jobs.withLock { $0 = [job.name: Definition(job)] }
        let fixture = try files.fixture(fails: fails)
        #expect(try readings(atBarrierOf: fixture, files) == 1)
        fixture.stop()
    }

    /// Files that have changed are read for a new scheduler before any run is due. Jobs that did not
    /// change run meanwhile, and a decision that needs a barrier does not wait.
    @Test func theFirstBarrierWaitsForFilesThatHaveChanged_andNothingElseDoes() throws {
        let files = SlowFiles()
        let probe = ServerLimitTests.job
        files.jobs.withLock { $0 = [probe.name: Definition(probe)] }
        let fixture = try files.fixture()
        _ = try readings(atBarrierOf: fixture, files)
        files.changed.withLock { $0 = true }
        do {
            let scheduler = ServerLimitTests.Intruder(fixture)
            func tokens() -> [UInt64] {
                scheduler.replies.compactMap {
                    if case .barrierReached(_, let token) = $0 { token } else { nil }
                }
            }
            scheduler.say(.barrier(1))
            scheduler.say(.start([ServerLimitTests.order(1)]))
            #expect(!scheduler.isClosed { ServerLimitTests.ends($0) == 1 })
            #expect(tokens() == [])
            files.waitUntilBegun(2)
            files.release()
            #expect(!scheduler.isClosed { _ in tokens() == [1] })
        }
        do {
            let next = ServerLimitTests.Intruder(fixture)
            next.say(.barrier(1))
            next.say(.barrier(2))
            #expect(
                !next.isClosed {
                    if case .barrierReached(_, token: 2) = $0.last { true } else { false }
                })
            files.waitUntilBegun(3)
            files.release()
        }
        fixture.stop()
    }

    /// A scheduler that went away while its barrier was held leaves nothing for the next one.
    @Test func theNextSchedulerGetsNoAnswerToABarrierOfAnother() throws {
        let files = SlowFiles()
        let probe = ServerLimitTests.job
        files.jobs.withLock { $0 = [probe.name: Definition(probe)] }
        let fixture = try files.fixture()
        do {
            let first = ServerLimitTests.Intruder(fixture)
            first.say(.barrier(9))
            #expect(!first.isClosed { !$0.isEmpty })
            files.waitUntilBegun(1)
        }
        do {
            let next = ServerLimitTests.Intruder(fixture)
            next.say(.barrier(1))
            #expect(
                !next.isClosed { $0.contains { if case .complete = $0 { true } else { false } } })
            files.release()
            files.release()
            #expect(
                !next.isClosed {
                    if case .barrierReached(_, token: 1) = $0.last { true } else { false }
                })
        }
        fixture.stop()
    }
}
