// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A machine's estimate of the fleet clock, which counts the time in which at least one daemon runs
/// and the fleet is not held.
///
/// Each value of the store was reached at the time at which it is received, so each of them plus the
/// time that passed here since then is a lower bound, and the largest of them the estimate. No
/// machine must be the one that keeps the clock: any of them writes its estimate when the last
/// change is 2 s ago. What is lost is what no connected daemon saw.
///
/// A span between two readings of different machines is too long by as much as the first of them
/// lagged. So a machine that does not follow the clock (it starts, it was suspended, or it was away
/// while the clock was restarted) opens no account before it has seen a change. If there is none, because no machine keeps the clock, it restarts the
/// clock from the last value and counts the restart. A machine that was not connected then gives up
/// what it is ahead: the accounts that were opened since the restart must not gain it. While other
/// machines are known, the restart waits some seconds longer than a write, so that one lost write of
/// a machine that keeps the clock does not discard what it knows.
public struct FleetClock: Hashable, Sendable {
    /// How often it is written.
    public static let period = Duration.seconds(2)

    /// The largest estimate, and when it was that.
    private var time: Duration
    private var at: AwakeInstant
    /// The last change of the hold that was seen: its revision, and whether it holds.
    private var hold: Int64
    private var isHeld: Bool
    /// The revision of the last change of the clock's key that was seen.
    public private(set) var modified: Int64 = 0
    /// When it was seen.
    public private(set) var seen: AwakeInstant
    /// The restart of the clock that the estimate continues, and whether it does: not before a value
    /// of a machine that keeps the clock was received, or the clock was restarted.
    private(set) var restarts: Int64 = 0
    private(set) var isContinuous: Bool
    /// Whether the last value is so much smaller than the estimate that the others must be told at
    /// once: who joins now begins with it.
    public private(set) var isAhead = false

    /// The clock as it is known when the hold is read.
    ///
    /// - Parameter hold: the hold, whose reading the clock had at its last change.
    public init(hold: Versioned<HoldValue>, at now: AwakeInstant) {
        time = hold.value.time
        at = now
        self.hold = hold.modified
        isHeld = hold.value.isHeld
        isContinuous = false
        seen = now
    }

    /// The clock's key as it was read, by a machine that did not follow the clock so far.
    public mutating func begin(with clock: Versioned<ClockValue>, at now: AwakeInstant) {
        receive(clock, at: now)
        isContinuous = false
    }

    /// The estimate; it never becomes smaller between two holds.
    public func reading(at now: AwakeInstant) -> Duration {
        isHeld ? time : time + max(.zero, now - at)
    }

    /// When the estimate reaches this; nil while the clock stands or if it is not reachable.
    public func instant(reaching target: Duration) -> AwakeInstant? {
        isHeld ? nil : at + max(.zero, target - time)
    }

    /// A change of the clock's key was received. Values from before the last change of the hold
    /// include time in which the fleet was held, and are ignored.
    public mutating func receive(_ clock: Versioned<ClockValue>, at now: AwakeInstant) {
        guard clock.modified > modified else { return }
        modified = clock.modified
        seen = now
        isContinuous = true
        let isRestarted = clock.value.restarts > restarts
        restarts = max(restarts, clock.value.restarts)
        guard !isHeld, clock.modified > hold else { return }
        let reading = isRestarted ? clock.value.time : reading(at: now)
        isAhead = clock.value.time + .seconds(1) < reading
        time = max(reading, clock.value.time)
        at = now
    }

    /// A change of the hold was received. An older one than the last is ignored.
    ///
    /// - Returns: whether it was newer; then the reading is exactly known.
    @discardableResult
    public mutating func receive(_ value: Versioned<HoldValue>, at now: AwakeInstant) -> Bool {
        guard value.modified > hold else { return false }
        time = value.value.time
        at = now
        hold = value.modified
        isHeld = value.value.isHeld
        isAhead = false
        isContinuous = true
        return true
    }

    /// The store was read, which shows as well as a change that it is there.
    public mutating func loaded(at now: AwakeInstant) { seen = now }

    /// What writes the estimate, if no other machine did. During a hold it is written as well,
    /// because its changes show that the watch works.
    public func write(by machine: MachineName, at now: AwakeInstant) -> FleetTransaction {
        let value = ClockValue(
            time: reading(at: now), restarts: restarts + (isContinuous ? 0 : 1), by: machine)
        return FleetTransaction(
            compares: [.modified(.clock, modified), .modified(.hold, hold)],
            changes: [.put(.clock, value.text, lease: nil)], reads: [.clock, .hold])
    }
}
