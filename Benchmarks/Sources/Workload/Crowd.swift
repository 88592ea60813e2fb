// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A great many jobs and the clocks that go with them, for measuring an agenda without a daemon.
public struct Crowd {
    /// What the jobs' schedules are.
    public enum Kind: String, CaseIterable, Sendable {
        /// `every = "1h"`, spread over the hour.
        case every
        /// `calendar`, each at a second of its own of each day.
        case calendar
    }

    /// The jobs.
    public let roster: Roster
    /// The clocks as the measurement begins.
    public let start: Now
    private let bootID: BootID

    /// So many jobs of a kind.
    public init(_ count: Int, _ kind: Kind) throws {
        guard let bootID = BootID("0123456789abcdef0123456789abcdef") else {
            throw Failure("no boot id")
        }
        self.bootID = bootID
        start = Self.now(after: .zero, bootID)
        roster = Roster(
            try (0..<count).map { index in
                guard let name = Job.Name("job-\(index)") else { throw Failure("no name") }
                // Of no order the heap could profit from, and no two alike.
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
        // Whole microseconds, which is what an agenda tells of its next firing.
        kind == .every ? .microseconds(3_600_000_000 / count * (place + 1)) : nil
    }

    /// All clocks, so much after the start.
    public func now(after span: Duration) -> Now { Self.now(after: span, bootID) }

    private static func now(after span: Duration, _ bootID: BootID) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_790_000_000) + span,
            awake: AwakeInstant(nanoseconds: 1_000_000_000) + span,
            boot: BootInstant(nanoseconds: 2_000_000_000 + span.wholeNanoseconds), bootID: bootID)
    }

    /// An agenda that has loaded the jobs.
    public func agenda() -> Agenda {
        Agenda.load(roster, Recollection(life: 1), concurrentRunsMax: 64, at: start).agenda
    }

    /// The job that comes due next and the clocks at that instant.
    public func nextWake(of agenda: Agenda, at now: Now) -> (job: Job.Name, now: Now)? {
        agenda.next(at: now).map { next in
            (next.job, self.now(after: next.instant - start.wall))
        }
    }
}

extension [Action] {
    /// The runs among the actions that are to be started.
    public var started: [Run] {
        flatMap { action -> [Run] in
            if case .begin(_, let start, _) = action { start } else { [] }
        }
    }
}
