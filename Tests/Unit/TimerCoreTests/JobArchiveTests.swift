// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The jobs that were removed from the configuration.
@Suite struct JobArchiveTests {
    private static let now = World().now

    private static func record(
        _ job: Job.Name, removed: Duration? = nil, isCounting: Bool = false,
        phase: Phase = .armed
    ) -> JobRecord {
        JobRecord(
            job: job, phase: phase, active: .seconds(9), accrued: .seconds(5),
            isCounting: isCounting, firings: 2, lastScheduled: nil, configuredPaused: false,
            removed: removed.map { now.wall - $0 }, at: now, instance: 1)
    }

    private static func archive(_ records: JobRecord...) -> JobArchive {
        var archive = JobArchive()
        for record in records { archive.put(record, nil) }
        return archive
    }

    @Test func aJobThatReturnsIsTakenOut() {
        var archive = Self.archive(Self.record("a"), Self.record("b"))
        #expect(archive.contains("a") && archive.record(of: "a")?.accrued == .seconds(5))
        let found = archive.take("a")
        #expect(found?.record.job == "a" && found?.outcomes == nil)
        #expect(!archive.contains("a") && archive.take("a") == nil)
        archive.shrink()
        #expect(archive.contains("b") && archive.record(of: "c") == nil)
    }

    @Test func aRunMayEndAfterItsJobWasRemoved() {
        var archive = Self.archive(Self.record("a"))
        let id = Run.ID(
            firing: Firing.ID(job: "a", scheduled: Self.now.wall), attempt: 1)
        let run = RunSummary(id: id, ended: Self.now.wall, outcome: .exited(1), failed: true)
        archive.noteEnd(run, of: "a")
        archive.noteEnd(run, of: "b")
        #expect(!archive.contains("b"))
        let outcomes = archive.take("a")?.outcomes?.wrappedValue
        #expect(outcomes?.last == run && outcomes?.counts[.failed] == 1)
    }

    @Test func recordsAreClosedOnce_andDroppedAfterAMonth() {
        var archive = Self.archive(
            Self.record("new", isCounting: true), Self.record("gone", removed: .seconds(86_400)),
            Self.record("old", removed: Agenda.recordKept + .seconds(1)),
            Self.record("kept", removed: Agenda.recordKept))
        let (changed, dropped) = archive.close(at: Self.now, instance: 7)
        #expect(changed.map(\.job) == ["new"] && dropped == ["old"])
        #expect(changed.map(\.removed) == [Self.now.wall] && changed.map(\.instance) == [7])
        #expect(changed.allSatisfy { !$0.isCounting })
        #expect(!archive.contains("old") && archive.contains("kept") && archive.contains("gone"))
        let again = archive.close(at: Self.now, instance: 8)
        #expect(again.changed.isEmpty && again.dropped.isEmpty)
    }

    /// The name, when the earlier job was due, whether it has finished and was removed.
    @Test func aOneOffJobTakesOverNothing_exceptFromItself() {
        var job = Job.every(.seconds(60), "once")
        job.isOneOff = true
        let due = Self.now.wall + .seconds(60)
        job.schedule = .wall(WallSchedule([.at(due)]))
        for (phase, through, removed, isKept) in [
            (Phase.finished, due, Duration.seconds(1), true),
            (.finished, due - .seconds(1), .seconds(1), false),
            (.armed, due, .seconds(1), false),
            (.armed, due, nil, true),
        ] as [(Phase, WallInstant, Duration?, Bool)] {
            var record = Self.record("once", removed: removed, phase: phase)
            record.processedThrough = through
            var archive = Self.archive(record)
            archive.forgetOneOff(before: job)
            #expect(archive.contains("once") == isKept, "\(phase.word) \(isKept)")
        }
    }
}
