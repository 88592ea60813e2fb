// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Finds a moment for the change of a source: one in which neither side decides about a run. Otherwise one side
/// could decide before the change, and the other one after it.
public enum QuietMoment {
    /// The longest wait for one.
    public static let waitMax: Duration = .seconds(600)
    /// How long before and after a time the change is not made. A change takes well under a second, and both sides
    /// act on a time within one.
    static let margin: Duration = .seconds(3)
    /// cron reads its tables when a minute begins, as soon as the machine lets it, and starts the jobs of that minute.
    private static let cron: (before: Duration, after: Duration) = (.seconds(10), .seconds(5))

    /// A span of time without a change.
    public typealias Busy = ClosedRange<WallInstant>

    /// The first instant from `now` on that is in none of the spans; nil if there is none within `waitMax`.
    /// - Complexity: O(*n* log *n*).
    public static func first(from now: WallInstant, outside busy: [Busy]) -> WallInstant? {
        var at = now
        for span in busy.sorted(by: { $0.lowerBound < $1.lowerBound }) where span.contains(at) {
            at = span.upperBound + .microseconds(1)
        }
        return at <= now + waitMax ? at : nil
    }

    /// The spans around the beginnings of minutes. Time zones differ by whole minutes.
    public static func minutes(around now: WallInstant) -> [Busy] {
        let minute = now.microsecondsSinceEpoch / 60_000_000
        return (minute...minute + 11).map { minute in
            let begin = WallInstant(microsecondsSinceEpoch: minute * 60_000_000)
            return begin - cron.before...begin + cron.after
        }
    }

    /// How the two sides delay the runs of a time.
    public struct Delays: Hashable, Sendable {
        /// The longest delays.
        public var systemd: Duration
        public var timerd: Duration
        /// When systemd started the service last; nil: not since the boot, or the timer is off and decides nothing.
        public var lastStart: WallInstant?
        /// When timerd starts the job next, with its delay; nil: that is not known.
        public var nextStart: WallInstant?

        public init(
            systemd: Duration, timerd: Duration, lastStart: WallInstant?, nextStart: WallInstant?
        ) {
            (self.systemd, self.timerd) = (systemd, timerd)
            (self.lastStart, self.nextStart) = (lastStart, nextStart)
        }

        /// How long before now a time can be whose runs are not over.
        public var longest: Duration { max(systemd, timerd) + margin }
    }

    /// The spans in which the runs of these times are due, until the longest delay is over. A time whose run systemd
    /// has started already is over on its side, and so is one that is too early for the next run of timerd.
    ///
    /// - Parameter times: those of the schedule from `delays.longest` before now on.
    public static func spans(of times: [WallInstant], _ delays: Delays) -> [Busy] {
        times.map { time in
            let isStarted = delays.lastStart.map { $0 >= time } ?? false
            let isPassed = delays.nextStart.map { $0 > time + delays.timerd } ?? false
            let delay = max(isPassed ? .zero : delays.timerd, isStarted ? .zero : delays.systemd)
            return time - margin...time + delay + margin
        }
    }

    /// The span around an instant at which something starts.
    public static func span(around instant: WallInstant) -> Busy {
        instant - margin...instant + margin
    }
}
