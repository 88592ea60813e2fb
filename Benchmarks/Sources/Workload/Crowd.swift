// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Very many jobs and their clocks, to measure an agenda without a daemon.
public struct Crowd {
    /// The kind of schedules.
    public enum Kind: String, CaseIterable, Sendable {
        /// `every = "1h"`, distributed over the hour.
        case every
        /// `calendar`, each at a different second of the day.
        case calendar
    }

    /// The jobs.
    public let jobSet: JobSet
    /// The clocks at the start of the measurement.
    public let start: Now
    private let bootID: BootID

    /// Creates this many jobs of a kind.
    public init(_ count: Int, _ kind: Kind) throws {
        guard let bootID = BootID("0123456789abcdef0123456789abcdef") else {
            throw Failure("no boot id")
        }
        self.bootID = bootID
        start = Self.now(after: .zero, bootID)
        jobSet = JobSet(
            try (0..<count).map { index in
                guard let name = Job.Name("job-\(index)") else { throw Failure("no name") }
                // The due times are different and in an order that does not help the heap.
                let place = index * 7919 % count
                return Job(
                    name: name, command: .arguments(["/bin/true"]),
                    schedule: try Self.schedule(kind, place), first: Self.first(kind, place, count))
            })
    }

    private static func schedule(_ kind: Kind, _ place: Int) throws -> Schedule {
        switch kind {
        case .every: return .every(.seconds(3600))
        case .calendar:
            let second = place % 86_400
            let text = "\(second / 3600):\(second / 60 % 60):\(second % 60)"
            return .wall(WallSchedule([.calendar(try CalendarSpec(text), .utc)]))
        }
    }

    private static func first(_ kind: Kind, _ place: Int, _ count: Int) -> Duration? {
        // These are whole microseconds, like the instants of the next firing that an agenda
        // returns.
        kind == .every ? .microseconds(3_600_000_000 / count * (place + 1)) : nil
    }

    /// All clocks, this long after the start.
    public func now(after span: Duration) -> Now { Self.now(after: span, bootID) }

    private static func now(after span: Duration, _ bootID: BootID) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_790_000_000) + span,
            awake: AwakeInstant(nanoseconds: 1_000_000_000) + span,
            boot: BootInstant(nanoseconds: 2_000_000_000 + span.wholeNanoseconds), bootID: bootID)
    }

    /// An agenda with the jobs loaded.
    public func agenda() -> Agenda {
        Agenda.load(jobSet, RecoveredState(instance: 1), concurrentRunsMax: 64, at: start).agenda
    }

    /// The job that is due next, and the clocks at that instant.
    public func nextWake(of agenda: Agenda, at now: Now) -> (job: Job.Name, now: Now)? {
        agenda.next(at: now).map { next in
            (next.job, self.now(after: next.instant - start.wall))
        }
    }
}

extension [Action] {
    /// The runs that the actions start.
    public var started: [Run] {
        flatMap { action -> [Run] in
            if case .begin(_, let start, _) = action { start } else { [] }
        }
    }
}
