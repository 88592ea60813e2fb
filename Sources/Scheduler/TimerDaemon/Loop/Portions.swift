// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HostQueues
import HostThreads
import TimerCore

/// Work on many jobs, which the loop does in portions. It is a class, so that no portion copies what
/// the ones before have collected. Used only on the deciding queue.
protocol LongWork: AnyObject {
    /// Does the next portion: about a fifth of a millisecond, or a millisecond at most.
    func advance(on loop: isolated Loop) -> PortionResult
    /// The places of the jobs have changed: work that has looked at some of them begins again.
    func restart()
}

extension LongWork {
    func restart() {}
}

/// What a portion of long work leads to.
enum PortionResult {
    /// The next portion follows.
    case more
    /// The next portion follows once everything is written that was submitted so far.
    case moreAfterWriting
    /// The work waits for something else, and `release` or `finish` is called then.
    case held
    case finished
}

/// Long work that yields: after each turn of limited time, other work of the deciding queue comes
/// first, so that a job that is due does not wait for the last of many.
///
/// Works of one kind are done one after the other, and works of different kinds take turns. A reload
/// also leaves the processor to other threads again and again, for the reason that `ThreadThrottle`
/// gives.
struct Portions {
    /// How long a turn lasts: after this time, no further portion begins.
    static let turn: Duration = .microseconds(500)

    enum Kind: Int, CaseIterable {
        /// Timers to set.
        case timers
        /// A command for many jobs.
        case command
        /// What follows when the writes of such a command are on the disk.
        case completions
        case reload
        case checkpoint
        /// Snapshots of all jobs, and of some.
        case list
        case excerpt
        case measures
        case preview
        /// Definitions of jobs.
        case definitions

        /// Whether it would mix two configurations, so that it waits during a reload.
        var waitsForReload: Bool { self == .list || self == .measures }
        /// Whether it may keep a processor busy for long.
        var isThrottled: Bool { self == .reload || self == .definitions }
    }

    private struct Line {
        var works = Deque<any LongWork>()
        /// Whether the first work waits for something.
        var isHeld = false
    }

    private var lines = [Line](repeating: Line(), count: Kind.allCases.count)
    /// The kind whose turn it is.
    private var next = 0
    private var isTurnPlanned = false
    /// When no further portion begins.
    private var turnEnd = AwakeInstant(nanoseconds: 0)
    /// When throttled work began, or continued after its last pause.
    private var resumedAt = AwakeInstant(nanoseconds: 0)

    /// Adds work, behind other work of its kind.
    mutating func add(_ work: any LongWork, as kind: Kind, at awake: AwakeInstant) {
        if kind.isThrottled, !contains(kind) { resumedAt = awake }
        lines[kind.rawValue].works.append(work)
    }

    func contains(_ kind: Kind) -> Bool { !lines[kind.rawValue].works.isEmpty }

    /// Whether a command for many jobs or a reload has not reached all of its jobs.
    var isDeciding: Bool { contains(.command) || contains(.reload) }

    // MARK: - Turns

    /// Whether a turn must be planned, because there is work and none is planned.
    mutating func planTurn(isReloading: Bool) -> Bool {
        guard !isTurnPlanned, Kind.allCases.contains(where: { isReady($0, isReloading) }) else {
            return false
        }
        isTurnPlanned = true
        return true
    }

    mutating func beginTurn(at awake: AwakeInstant) {
        isTurnPlanned = false
        turnEnd = awake + Self.turn
    }

    /// The work of which a portion is done now; nil if the time of this turn is over, or if no work
    /// is ready.
    mutating func takeNext(
        at awake: AwakeInstant, isReloading: Bool
    ) -> (kind: Kind, work: any LongWork)? {
        guard awake < turnEnd else { return nil }
        for _ in Kind.allCases {
            let kind = Kind.allCases[next]
            next = (next + 1) % Kind.allCases.count
            if isReady(kind, isReloading), let work = lines[kind.rawValue].works.first {
                return (kind, work)
            }
        }
        return nil
    }

    private func isReady(_ kind: Kind, _ isReloading: Bool) -> Bool {
        contains(kind) && !lines[kind.rawValue].isHeld && !(isReloading && kind.waitsForReload)
    }

    // MARK: - After a portion

    /// The first work of this kind waits until `release`.
    mutating func hold(_ kind: Kind) { lines[kind.rawValue].isHeld = true }

    /// It need not wait any longer.
    mutating func release(_ kind: Kind) { lines[kind.rawValue].isHeld = false }

    /// It continues after a pause.
    mutating func resume(_ kind: Kind, at awake: AwakeInstant) {
        resumedAt = awake
        release(kind)
    }

    /// How long the next portion of this kind must be put off; nil if it need not be.
    func pause(before kind: Kind, at awake: AwakeInstant) -> Duration? {
        kind.isThrottled && awake - resumedAt >= ThreadThrottle.workTime
            ? ThreadThrottle.pauseTime : nil
    }

    /// Removes the first work of this kind.
    mutating func finish(_ kind: Kind) {
        lines[kind.rawValue].works.removeFirst()
        lines[kind.rawValue].isHeld = false
    }

    /// The places of the jobs have changed.
    func restart() {
        for line in lines { line.works.first?.restart() }
    }
}
