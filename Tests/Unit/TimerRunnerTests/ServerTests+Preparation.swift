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
        private let jobs: RunnerServer.Definitions

        init(_ job: Job) { jobs = [job.name: Definition(job)] }

        func fixture(in folder: String? = nil, fails: Bool = false) throws -> ServerFixture {
            try ServerFixture(in: folder) { settings in
                settings.hasChanged = { self.changed.withLock { $0 } }
                settings.isAffected = { _ in false }
                settings.definitions = { _ in
                    self.begun.withLock { $0 += 1 }
                    self.gate.wait()
                    self.ended.withLock { $0 += 1 }
                    return fails ? .failure(.init("cannot read it")) : .success(self.jobs)
                }
            }
        }

        func waitUntilBegun(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
            wait(sourceLocation: sourceLocation) { begun.withLock { $0 } >= count }
        }

        func release() { gate.signal() }
    }

    /// How many readings had ended when a client heard that the runner is prepared.
    private func readings(
        whenPrepared fixture: ServerFixture, _ files: SlowFiles
    ) throws -> Int {
        let client = try fixture.client { _, seen in seen() }
        let answered = DispatchSemaphore(value: 0)
        let ended = Mutex(0)
        client.prepare {
            ended.withLock { $0 = files.ended.withLock { $0 } }
            answered.signal()
        }
        files.waitUntilBegun(1)
        files.release()
        #expect(answered.wait(timeout: .now() + 30) == .success)
        client.close()
        return ended.withLock { $0 }
    }

    private func tokens(of scheduler: ServerLimitTests.Intruder) -> [UInt64] {
        scheduler.replies.compactMap {
            if case .barrierReached(_, let token) = $0 { token } else { nil }
        }
    }

    @Test(arguments: [false, true])
    func aRunnerIsPreparedOnceItHasTheDefinitions_orCannotReadThem(fails: Bool) throws {
        let files = SlowFiles(job("exit 3"))
        let fixture = try files.fixture(fails: fails)
        #expect(try readings(whenPrepared: fixture, files) == 1)
        fixture.stop()
    }

    /// Files that have changed are read for a new scheduler before any run is due. Jobs that did not
    /// change run meanwhile, and a decision that needs a barrier does not wait.
    @Test func filesThatHaveChangedAreReadFirst_andNothingElseWaitsForThem() throws {
        let files = SlowFiles(ServerLimitTests.job)
        let fixture = try files.fixture()
        _ = try readings(whenPrepared: fixture, files)
        files.changed.withLock { $0 = true }
        do {
            let scheduler = ServerLimitTests.Intruder(fixture)
            scheduler.say(.prepare)
            scheduler.say(.barrier(1))
            scheduler.say(.start([ServerLimitTests.request(1)]))
            #expect(!scheduler.isClosed { ServerLimitTests.ends($0) == 1 })
            #expect(tokens(of: scheduler) == [1])
            files.waitUntilBegun(2)
            files.release()
            #expect(!scheduler.isClosed { _ in tokens(of: scheduler) == [1, Wire.preparedToken] })
            // One answer is enough, however often it asks.
            for _ in 0..<1000 { scheduler.say(.prepare) }
            scheduler.say(.barrier(2))
            #expect(!scheduler.isClosed { _ in tokens(of: scheduler).last == 2 })
            #expect(tokens(of: scheduler) == [1, Wire.preparedToken, 2])
        }
        fixture.stop()
    }

    /// A scheduler that went away while it waited leaves nothing for the next one.
    @Test func theNextSchedulerGetsOnlyItsOwnAnswer() throws {
        let files = SlowFiles(ServerLimitTests.job)
        let fixture = try files.fixture()
        do {
            let first = ServerLimitTests.Intruder(fixture)
            first.say(.prepare)
            #expect(!first.isClosed { !$0.isEmpty })
            files.waitUntilBegun(1)
        }
        do {
            let next = ServerLimitTests.Intruder(fixture)
            #expect(!next.isClosed { $0.contains(.complete) })
            files.release()
            files.release()
            next.say(.barrier(1))
            #expect(!next.isClosed { _ in tokens(of: next).contains(1) })
            next.say(.prepare)
            #expect(!next.isClosed { _ in tokens(of: next).contains(Wire.preparedToken) })
            next.say(.barrier(2))
            #expect(!next.isClosed { _ in tokens(of: next).contains(2) })
            #expect(tokens(of: next) == [1, Wire.preparedToken, 2])
        }
        fixture.stop()
    }

    /// A runner that ended before it was prepared is not: the client asks the next one.
    @Test func aRunnerThatGoesAwayIsNotPrepared() throws {
        let files = SlowFiles(job("exit 3"))
        let first = try files.fixture()
        let client = try first.client { _, seen in seen() }
        let answered = DispatchSemaphore(value: 0)
        client.prepare { answered.signal() }
        files.waitUntilBegun(1)
        first.stop(keepsFolder: true)
        let others = SlowFiles(job("exit 3"))
        let second = try others.fixture(in: first.folder)
        others.waitUntilBegun(1)
        #expect(answered.wait(timeout: .now()) == .timedOut)
        others.release()
        #expect(answered.wait(timeout: .now() + 30) == .success)
        files.release()
        client.close()
        second.stop()
    }
}
