// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A machine's estimate of the fleet clock, which counts the time in which at least one daemon runs
/// and the fleet is not held.
///
/// Each value of the store was reached before it is received, so each of them plus the time that
/// passed here since then is a lower bound, and the largest of them is the estimate. No machine must
/// be the one that keeps the clock: any of them writes its estimate when the last change is 2 s ago.
/// What is lost is what no connected daemon saw.
///
/// **Why no account gains time.** An estimate is a lower bound only: nothing tells a reader how old a
/// value was when it arrived. An account that is opened by a low estimate and closed by a higher one
/// of another machine would gain the difference. So the transaction that opens an account, called an
/// opening, also writes the clock and compares its last revision; `opened_t` is the value that it
/// writes; and the openings are numbered. Let an opening with the number *n* write *V* at the time
/// *c*. Then each estimate of a machine that knows of it (`openings` ≥ *n*) is at most *V* + (*t* −
/// *c*) at each later time *t*:
///
/// - A machine that receives the first value with a number of *n* or more takes this value instead of
///   its own estimate, even if it is smaller. Estimates from before the opening end there.
/// - Between two values an estimate grows with the time that passes.
/// - A write compares the last revision of the clock. So the machine that makes a later write knows of
///   the opening, and by induction its value is at most *V* plus the time up to the moment when it was
///   calculated. It is received after that.
/// - A hold compares the last revision of the clock as well, so its reading has the same bound. A
///   change of the hold replaces all estimates by that reading.
///
/// Only a machine with `openings` ≥ *n* may close this account or count its time. So the account counts
/// at most the time that really passed since *c*, however old a value was when it arrived, and however
/// long a transaction was on its way.
///
/// **What this costs.** An opening discards what other machines are ahead of its reading, and the time
/// that the transaction takes. That is some milliseconds if the machine follows the clock, which it
/// must do before it opens an account. It is never more than the time between two writes of the clock
/// and what they took: the reading continues the last value that was written, or the opening does
/// nothing.
public struct FleetClock: Hashable, Sendable {
    /// How often it is written.
    public static let period = Duration.seconds(2)
    /// How much smaller than the estimate the last value may stay, beside the time that a write takes.
    /// What is ahead of it is lost with the machine that knows it, or by an opening.
    public static let aheadMax = Duration.milliseconds(100)

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
    /// The number of the last opening of accounts that the estimate takes into account.
    public private(set) var openings: Int64 = 0
    /// Whether the last value is so much smaller than the estimate that the others must be told at
    /// once: a machine that joins begins with it, and the time is lost if it opens an account.
    ///
    /// It is not while the value is only as old as the store is far away: of machines that are 100 ms
    /// away from it, each would write at once whatever another one wrote, and so all the time.
    public private(set) var isAhead = false
    /// How long the last write of this machine took. The value of another machine is about as old when
    /// it arrives.
    private var delay: Duration = .zero

    /// The clock as it is known when the hold is read.
    ///
    /// - Parameter hold: the hold, whose reading the clock had at its last change.
    public init(hold: Versioned<HoldValue>, at now: AwakeInstant) {
        time = hold.value.time
        at = now
        self.hold = hold.modified
        isHeld = hold.value.isHeld
        seen = now
    }

    /// The estimate; it becomes smaller only by an opening or a change of the hold.
    public func reading(at now: AwakeInstant) -> Duration {
        isHeld ? time : time + max(.zero, now - at)
    }

    /// When the estimate reaches this; nil while the clock stands.
    public func instant(reaching target: Duration) -> AwakeInstant? {
        isHeld ? nil : at + max(.zero, target - time)
    }

    /// A change of the clock's key was received. Values from before the last change of the hold
    /// include time in which the fleet was held, and are ignored.
    ///
    /// - Parameter isOwn: whether it is the answer to a write of this machine.
    public mutating func receive(
        _ clock: Versioned<ClockValue>, at now: AwakeInstant, isOwn: Bool = false
    ) {
        if isOwn, clock.modified >= max(modified, hold) {
            // It is what the estimate was when it was sent.
            delay = min(max(.zero, reading(at: now) - clock.value.time), Self.period)
            isAhead = false
        }
        guard clock.modified > modified else { return }
        modified = clock.modified
        seen = now
        let isOpening = clock.value.openings > openings
        openings = max(openings, clock.value.openings)
        guard !isHeld, clock.modified > hold else { return }
        let reading = isOpening ? clock.value.time : reading(at: now)
        isAhead = clock.value.time + Self.aheadMax + delay < reading
        time = max(reading, clock.value.time)
        at = now
    }

    /// A change of the hold was received. An older one than the last is ignored.
    ///
    /// - Returns: whether it was newer; then its reading is the estimate.
    @discardableResult
    public mutating func receive(_ value: Versioned<HoldValue>, at now: AwakeInstant) -> Bool {
        guard value.modified > hold else { return false }
        time = value.value.time
        at = now
        hold = value.modified
        isHeld = value.value.isHeld
        isAhead = false
        return true
    }

    /// The store was read, which shows as well as a change that it is there.
    public mutating func loaded(at now: AwakeInstant) { seen = now }

    /// What every write of the clock compares: nothing was written that this machine does not know.
    private var compares: [FleetCompare] { [.modified(.clock, modified), .modified(.hold, hold)] }

    /// What writes the estimate, if no other machine did. During a hold it is written as well,
    /// because its changes show that the watch works.
    public func write(by machine: MachineName, at now: AwakeInstant) -> FleetTransaction {
        let value = ClockValue(time: reading(at: now), openings: openings, by: machine)
        return FleetTransaction(
            compares: compares, changes: [.put(.clock, value.text, lease: nil)],
            reads: [.clock, .hold])
    }

    /// What opens accounts: each branch writes a job with the reading as its `opened`, and with the
    /// number of this opening. The first branch of the transaction writes the clock.
    ///
    /// - Parameter branches: at most `FleetTransaction.branchesMax` - 1.
    public func opening(
        _ branches: [FleetTransaction.Branch], by machine: MachineName, at now: AwakeInstant
    ) -> FleetTransaction {
        let value = ClockValue(time: reading(at: now), openings: openings + 1, by: machine)
        let clock = FleetTransaction.Branch(
            compares: [], changes: [.put(.clock, value.text, lease: nil)], reads: [])
        return FleetTransaction(
            compares: compares, branches: [clock] + branches, reads: [.clock, .hold])
    }
}
