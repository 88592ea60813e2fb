// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

/// Compares the active time of accounts with the time that really passed: it is never gained, and
/// lost only by what the design permits. All times are nanoseconds.
///
/// How much is lost is seen in the clock of the fleet: it is *behind* by the difference of the true
/// time and its value. An account loses what the clock falls behind while it is open.
struct ActiveTimeChecker {
    /// An account that is open, or was.
    struct Account {
        /// Active time as it really was.
        var trueActive: Int64 = 0
        /// How much may be missing of the time up to when it was last closed.
        var lossBefore: Int64 = 0
        /// How far the clock was behind when it was opened; nil while it is closed.
        var behindAtOpening: Int64?
    }

    /// How much one opening or hold may discard, beside the time that its transaction takes: its
    /// machine reads the clock as late as the watch brings it. The model delays the watch by up to
    /// 2 s, and each way by up to 0.9 s.
    static let discardMax = 2_500_000_000 as Int64
    /// What cannot be attributed: a daemon that begins with the last value of the clock is behind by
    /// what passed since that write. That is a period of 2 s, or two if a write was lost, and the
    /// time that the write takes.
    static let lossMargin = 5_000_000_000 as Int64

    private(set) var accounts: [Job.Name: Account] = [:]
    var fault: String?
    /// The true time of the fleet, and how far its clock may be behind it.
    private var fleetTime: Int64 = 0
    private var behindMax: Int64 = 0
    /// How far it was behind before a machine that knew more corrected it, and when that was.
    private var corrected: (behind: Int64, at: Int64)?
    /// How much more the clock may be behind at its next write than before; `.max` if no daemon may
    /// have known the time in the meantime.
    private var mayFallBy: Int64 = 0
    /// The time of the fleet at the last write of its clock.
    private var writtenAt: Int64 = 0
    /// Whether the clock was not yet written since the store was adopted.
    private var isNew = true
    private var openings: Int64 = 0
    /// What the time of the fleet would be if the store had not been lost before this copy of it was
    /// restored; nil once the copy is adopted. A member that has not noticed the loss may still write it.
    private var lostTime: Int64?

    /// Time passed in which the fleet was not held.
    mutating func pass(_ span: Int64) {
        fleetTime += span
        for name in accounts.keys where accounts[name]?.behindAtOpening != nil {
            accounts[name]?.trueActive += span
        }
    }

    /// Accounts that were open in the copy may count the time up to this one, or lose it.
    private mutating func continueUp(to time: Int64) {
        let span = max(0, time - fleetTime)
        pass(span)
        for name in accounts.keys where accounts[name]?.behindAtOpening != nil {
            accounts[name]?.lossBefore += span
        }
    }

    /// Time passed in which the store was lost.
    mutating func passLost(_ span: Int64) { lostTime = lostTime.map { $0 + span } }

    /// From now on it is possible that no daemon knows the time of the fleet.
    mutating func mayLose() { mayFallBy = .max }

    /// The store was adopted: the clock goes on from the value that it has.
    mutating func adopted() { (isNew, lostTime) = (true, nil) }

    /// The store is a copy of what it was at that time.
    mutating func restored(_ copy: Self) {
        let time = lostTime ?? fleetTime
        self = copy
        lostTime = time
    }

    /// The store is another one, with nothing in it.
    mutating func wiped() { self = Self() }

    // MARK: - The clock

    /// The clock was written by a transaction that took this long.
    ///
    /// - Returns: whether its value is as good as the last one. One that was long on its way is not.
    mutating func clockWritten(_ value: ClockValue, delay: Int64) -> Bool {
        let time = value.time.wholeNanoseconds
        if let lostTime { continueUp(to: lostTime) }
        if isNew { begin(at: time) }
        let isOpening = value.openings > openings
        openings = value.openings
        let behind = fleetTime - time
        let isGood = behind <= behindMax + 100_000_000 || isOpening
        if isOpening {
            discard(to: behind, delay, "an opening")
        } else if behind > behindMax {
            behindMax += min(behind - behindMax, mayFallBy)
        } else {
            // A machine that knew more corrected it. What is lost after that is lost once more.
            if behindMax - behind > 100_000_000 { corrected = (behindMax, fleetTime) }
            behindMax = behind
        }
        (writtenAt, mayFallBy) = (fleetTime, 0)
        return isGood
    }

    /// The fleet is held, by a transaction that took this long.
    mutating func held(at time: Duration, delay: Int64) {
        guard !isNew else { return }
        discard(to: fleetTime - time.wholeNanoseconds, delay, "a hold")
        (writtenAt, mayFallBy) = (fleetTime, 0)
    }

    /// The hold ended: time counts from when the first machine reads that.
    mutating func released() { mayFallBy = max(mayFallBy, Self.discardMax) }

    /// All machines take this reading, and what they were ahead of it is lost.
    private mutating func discard(to behind: Int64, _ delay: Int64, _ what: String) {
        // The reading continues the last value that was written: a write that was lost counts too.
        let most = Self.discardMax + delay + fleetTime - writtenAt
        if mayFallBy < .max, behind - behindMax > most + mayFallBy {
            fail("\(what) discards \(behind - behindMax) ns, and may discard \(most) ns")
        }
        behindMax = behind
    }

    /// The first value of the clock in a store that was adopted is the time of the fleet. What passed
    /// since the one before it may be lost.
    private mutating func begin(at time: Int64) {
        for name in accounts.keys {
            guard let behind = accounts[name]?.behindAtOpening else { continue }
            accounts[name]?.lossBefore += max(0, behindMax + fleetTime - writtenAt - behind)
            accounts[name]?.behindAtOpening = 0
        }
        (fleetTime, writtenAt, behindMax, mayFallBy, isNew) = (time, time, 0, 0, false)
        corrected = nil
    }

    // MARK: - Accounts

    /// A job counted time by another clock than that of the fleet.
    mutating func countedOtherwise(_ name: Job.Name, _ span: Duration) {
        accounts[name, default: Account()].trueActive += span.wholeNanoseconds
    }

    /// The time of a job was brought back into a store that was adopted: from here on it is what is true.
    mutating func recovered(_ name: Job.Name, _ value: JobValue) {
        accounts[name] = Account(trueActive: value.active.wholeNanoseconds)
    }

    /// A job was written, by a transaction that took this long.
    mutating func jobWritten(
        _ name: Job.Name, from old: JobValue?, to value: JobValue, delay: Int64
    ) {
        var account = accounts[name] ?? Account()
        if old?.opened != nil, old?.opened != value.opened {
            check(name, account, value, delay)
        }
        if value.opened == nil, let behind = account.behindAtOpening {
            account.lossBefore += loss(since: behind) + delay
            account.behindAtOpening = nil
        } else if let opened = value.opened, account.behindAtOpening == nil {
            account.behindAtOpening = fleetTime - opened.wholeNanoseconds
        }
        accounts[name] = account
    }

    /// How much an account may have lost that was opened when the clock was so far behind.
    private func loss(since behind: Int64) -> Int64 {
        // What passed since the last write of the clock may be lost before the next one shows it.
        let unwritten = min(mayFallBy, fleetTime - writtenAt)
        // A machine that was not yet told of a correction counts by the value before it.
        let before = corrected.flatMap { fleetTime - $0.at <= Self.discardMax ? $0.behind : nil }
        return max(0, max(behindMax + unwritten, before ?? 0) - behind)
    }

    private mutating func check(
        _ name: Job.Name, _ account: Account, _ value: JobValue, _ delay: Int64
    ) {
        let counted = value.active.wholeNanoseconds
        // Clocks are fast or slow by 100 millionths at most, and are read in whole nanoseconds.
        let tolerance = account.trueActive / 10_000 + 1_000_000
        if counted > account.trueActive + tolerance {
            fail("\(name) gained \(counted - account.trueActive) ns of active time")
        }
        // A transaction on its way writes what was so when it was sent.
        let most =
            account.lossBefore + loss(since: account.behindAtOpening ?? 0) + Self.lossMargin + delay
        if counted < account.trueActive - most - tolerance {
            fail(
                "\(name) lost \(account.trueActive - counted) ns of active time, and may lose "
                    + "\(most) ns: \(account), behind \(behindMax), unwritten "
                    + "\(min(mayFallBy, fleetTime - writtenAt)), delay \(delay)")
        }
    }

    private mutating func fail(_ text: String) { if fault == nil { fault = text } }
}
