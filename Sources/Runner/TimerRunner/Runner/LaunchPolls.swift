// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The children whose programs do not run yet, and when to look how far they are.
///
/// A process reports its progress in memory that it shares with the runner, without waking it. In
/// every loop iteration the latest of them are looked at, and from time to time all: at first soon,
/// and less often the longer the latest one takes.
struct LaunchPolls {
    /// How soon after a start all are looked at if nothing else happens, and how long that interval
    /// may grow, in nanoseconds.
    static let interval: ClosedRange<Int64> = 10_000_000...1_000_000_000
    /// How many of the latest are looked at in each loop iteration.
    static let perIteration = 64

    struct Launch: Hashable {
        let serial: UInt64
        /// The argument for `cspawn_poll_launch`.
        let number: Int32
        /// Whether `timerd-session` reports the progress, over a socket.
        let isInSession: Bool
        /// When its program may start, by CLOCK_MONOTONIC.
        let began: Int64
        /// Whether the process may still have copies of the descriptors of the runner.
        var hasCopies = true
    }

    /// One look at some of them or, if `isTime`, at all.
    struct Pass {
        let isTime: Bool
        fileprivate var index: Int
        fileprivate var kept: Int
    }

    /// The latest is the last.
    private var launches: [Launch] = []
    /// When all are looked at, by CLOCK_MONOTONIC; nil if there is nothing to look at.
    private(set) var next: Int64?

    mutating func add(_ launch: Launch, at now: Int64) {
        launches.append(launch)
        let at = max(launch.began, now) + Self.interval.lowerBound
        next = min(next ?? at, at)
    }

    /// There is something else to look at from time to time, which has a time limit.
    mutating func look(within nanoseconds: Int64, at now: Int64) {
        next = min(next ?? .max, now + nanoseconds)
    }

    /// Begins a pass; nil if there is nothing to look at. During the pass none is added.
    func pass(at now: Int64) -> Pass? {
        guard let next else { return nil }
        let isTime = now >= next
        let first = isTime ? 0 : max(0, launches.count - Self.perIteration)
        return Pass(isTime: isTime, index: first, kept: first)
    }

    /// The next one to look at in this pass; nil after the last. It is removed, unless `keep` follows.
    func next(in pass: inout Pass) -> Launch? {
        guard pass.index < launches.count else { return nil }
        defer { pass.index += 1 }
        return launches[pass.index]
    }

    /// Keeps the one that was looked at last: its program does not run yet.
    mutating func keep(_ launch: Launch, in pass: inout Pass) {
        launches[pass.kept] = launch
        pass.kept += 1
    }

    /// Ends a pass.
    /// - Parameter isNeeded: whether there is something else to look at.
    mutating func end(_ pass: Pass, isNeeded: Bool, at now: Int64) {
        launches.removeSubrange(pass.kept...)
        if pass.isTime {
            next = launches.last.map { last in
                let pause = max(Self.interval.lowerBound, (now - last.began) / 2)
                return now + min(Self.interval.upperBound, pause)
            }
            if isNeeded, launches.isEmpty { next = now + Self.interval.upperBound }
        } else if launches.isEmpty, !isNeeded {
            // Otherwise the thread would wake up once more for each short run.
            next = nil
        }
    }
}
