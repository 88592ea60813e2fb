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

/// What runs while the files of the configuration change, or are being read.
extension ServerTests {
    /// A deleted job is not run any more, even if the scheduler was not told to reload, or ignores
    /// it; a changed job runs as it fired until the reload.
    @Test func aJobDeletedFromTheConfigurationIsNotRun() throws {
        let changed = Mutex(false)
        let fixture = try ServerFixture { $0.hasChanged = { changed.withLock { $0 } } }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let (kept, deleted) = (job("exit 3", "kept"), job("exit 4", "deleted"))
        fixture.configuration.jobs.withLock {
            $0 = [kept.name: Definition(kept), deleted.name: Definition(deleted)]
        }
        client.start([run(kept), run(deleted)])
        #expect(outcome(events.end(of: run(kept))) == "exited(3)")
        #expect(outcome(events.end(of: run(deleted))) == "exited(4)")
        fixture.configuration.jobs.withLock { $0 = [kept.name: Definition(job("exit 5", "kept"))] }
        changed.withLock { $0 = true }
        client.start([run(kept, 1)])
        #expect(outcome(events.end(of: run(kept, 1))) == "exited(3)")
        client.start([run(deleted, 1)])
        #expect(
            outcome(events.end(of: run(deleted, 1)))
                == "spawn-failed(ENOENT, find the job in the current configuration)")
        client.close()
        fixture.stop()
    }

    /// Files that change, of which one is being written: in it the jobs are missing for a moment.
    private final class ChangingFiles: Sendable {
        /// What `unchangedFor` returns.
        let age = Mutex(Duration.zero)
        let changed = Mutex(false)

        func fixture(_ limits: RunnerLimits = RunnerLimits()) throws -> ServerFixture {
            try ServerFixture { settings in
                settings.limits = limits
                settings.hasChanged = { self.changed.withLock { $0 } }
                settings.unchangedFor = { self.age.withLock { $0 } }
            }
        }
    }

    private static let notFound =
        "spawn-failed(ENOENT, find the job in the current configuration)"

    /// The file is read again and again, each time a little later, until it has not changed for long enough.
    @Test func aRunWhoseJobIsMissingInAFileThatIsBeingWrittenStartsOnceItIsThere() throws {
        let files = ChangingFiles()
        var limits = RunnerLimits()
        limits.settleTime = .milliseconds(20)
        limits.settleTimeMax = .seconds(3600)
        let fixture = try files.fixture(limits)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let (kept, other) = (job("exit 3", "kept"), job("exit 4", "other"))
        let all = [kept.name: Definition(kept), other.name: Definition(other)]
        fixture.configuration.jobs.withLock { $0 = all }
        client.start([run(kept)])
        #expect(outcome(events.end(of: run(kept))) == "exited(3)")
        fixture.configuration.jobs.withLock { $0 = [other.name: Definition(other)] }
        files.changed.withLock { $0 = true }
        client.start([run(kept, 1)])
        // Others do not wait for it, and what is told to it waits as well.
        client.start([run(other)])
        #expect(outcome(events.end(of: run(other))) == "exited(4)")
        let reads = fixture.configuration.reads.withLock { $0 }
        fixture.waitForReadings(reads + 3)
        func ends() -> Int {
            events.events.count { if case .ended(run(kept, 1).id, _) = $0 { true } else { false } }
        }
        #expect(ends() == 0)
        fixture.configuration.jobs.withLock { $0 = all }
        #expect(outcome(events.end(of: run(kept, 1))) == "exited(3)")
        // It is known from then on, without a reload.
        client.start([run(kept, 2)])
        #expect(outcome(events.end(of: run(kept, 2))) == "exited(3)")
        #expect(ends() == 1)
        client.close()
        fixture.stop()
    }

    /// A compromised scheduler must not run what the files do not say, however long it waits.
    @Test func aRunWhoseJobIsMissingIsRefused_onceTheFileIsLeftAlone_orWasWrittenForTooLong() throws
    {
        for isLeftAlone in [true, false] {
            let files = ChangingFiles()
            var limits = RunnerLimits()
            limits.settleTime = .milliseconds(20)
            limits.settleTimeMax = isLeftAlone ? .seconds(3600) : .milliseconds(200)
            let fixture = try files.fixture(limits)
            let events = ReceivedEvents()
            let client = try fixture.client { events.take($0, $1) }
            let kept = job("exit 3", "kept")
            files.changed.withLock { $0 = true }
            client.start([run(kept)])
            if isLeftAlone {
                fixture.waitForReadings(4)
                files.age.withLock { $0 = .milliseconds(20) }
            }
            #expect(outcome(events.end(of: run(kept))) == Self.notFound)
            client.close()
            fixture.stop()
        }
    }

    /// Another scheduler is answered once nothing is left of the requests of the one before it.
    @Test func theNextSchedulerDoesNotWaitForAFileThatIsBeingWritten() throws {
        let files = ChangingFiles()
        var limits = RunnerLimits()
        limits.settleTime = .milliseconds(50)
        limits.settleTimeMax = .seconds(3600)
        let fixture = try files.fixture(limits)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let kept = job("exit 3", "kept")
        files.changed.withLock { $0 = true }
        client.start([run(kept)])
        fixture.waitForReadings(2)
        client.close()
        let other = ReceivedEvents()
        let next = try fixture.client { other.take($0, $1) }
        #expect(outcome(other.end(of: run(kept))) == Self.notFound)
        next.close()
        fixture.stop()
    }

    /// Reading very many jobs takes a while: a run waits for that only if the file of its job has
    /// changed.
    @Test func whileChangedFilesAreReadTheRunsOfOthersStart() throws {
        let changed = Mutex(false)
        let gate = DispatchSemaphore(value: 0)
        let (kept, deleted) = (job("exit 3", "kept"), job("exit 4", "deleted"))
        let fixture = try ServerFixture { settings in
            let read = settings.definitions
            settings.definitions = { last in
                if changed.withLock({ $0 }) { gate.wait() }
                return read(last)
            }
            settings.hasChanged = { changed.withLock { $0 } }
            settings.isAffected = { $0 == deleted.name }
        }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        fixture.configuration.jobs.withLock {
            $0 = [kept.name: Definition(kept), deleted.name: Definition(deleted)]
        }
        client.start([run(kept), run(deleted)])
        #expect(outcome(events.end(of: run(kept))) == "exited(3)")
        #expect(outcome(events.end(of: run(deleted))) == "exited(4)")
        fixture.configuration.jobs.withLock { $0[deleted.name] = nil }
        changed.withLock { $0 = true }
        client.start([run(deleted, 1), run(kept, 1)])
        #expect(outcome(events.end(of: run(kept, 1))) == "exited(3)")
        client.start([run(kept, 2)])
        #expect(outcome(events.end(of: run(kept, 2))) == "exited(3)")
        #expect(
            !events.events.contains {
                if case .ended(run(deleted, 1).id, _) = $0 { true } else { false }
            })
        changed.withLock { $0 = false }
        for _ in 0..<3 { gate.signal() }
        #expect(
            outcome(events.end(of: run(deleted, 1)))
                == "spawn-failed(ENOENT, find the job in the current configuration)")
        client.close()
        fixture.stop()
    }

    /// One-off jobs that are due at once come one after the other, and a check of the files is used
    /// for a while: the job is not in what was read, and the files count as unchanged.
    @Test func aJobThatIsAddedWhileTheFilesAreReadIsRun() throws {
        let changed = Mutex(false)
        let looks = Mutex(0)
        let (isRead, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (edited, added) = (job("exit 3", "edited"), job("exit 4", "added"))
        let fixture = try ServerFixture { settings in
            let read = settings.definitions
            settings.definitions = { last in
                let found = read(last)
                if changed.withLock({ $0 }) {
                    isRead.signal()
                    gate.wait()
                }
                return found
            }
            settings.hasChanged = {
                looks.withLock { $0 += 1 }
                return changed.withLock { $0 }
            }
            settings.isAffected = { $0 == edited.name }
            settings.unchangedFor = { .seconds(3600) }
        }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        fixture.configuration.jobs.withLock { $0 = [edited.name: Definition(edited)] }
        client.start([run(edited)])
        #expect(outcome(events.end(of: run(edited))) == "exited(3)")
        // What runs is what the scheduler has loaded, until it reloads.
        let edit = Definition(job("exit 5", "edited"))
        fixture.configuration.jobs.withLock { $0 = [edited.name: edit] }
        changed.withLock { $0 = true }
        client.start([run(edited, 1)])
        isRead.wait()
        changed.withLock { $0 = false }
        fixture.configuration.jobs.withLock { $0[added.name] = Definition(added) }
        let before = looks.withLock { $0 }
        client.start([run(added)])
        wait { looks.withLock { $0 } > before }
        gate.signal()
        #expect(outcome(events.end(of: run(added))) == "exited(4)")
        #expect(outcome(events.end(of: run(edited, 1))) == "exited(3)")
        client.start([run(edited, 2)])
        #expect(outcome(events.end(of: run(edited, 2))) == "exited(3)")
        client.close()
        fixture.stop()
    }
}
