// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

/// Compares the time of accounts that count by the wall clock with the time that really passed: it
/// counts while the job is not paused and the fleet is not held, whatever runs and is connected. All
/// times are nanoseconds.
///
/// A machine that may change a job has a wall clock that is wrong by `skewMax` at most, so each time
/// that an account is opened and counted may be wrong by twice that.
struct WallTimeChecker {
    /// An account whose job is not paused.
    struct Account {
        /// The time that the job had in all when it was opened.
        var activeBefore: Duration
        /// The time that counts since then, and since it was last counted, as it really was.
        var passed: Int64
        var uncounted: Int64
        /// How much too much and too little may be counted since then.
        var gainMax: Int64
        var lossMax: Int64
    }

    /// A machine is fit up to a second, and `Date` has whole seconds.
    static let skewMax: Int64 = 2_010_000_000

    private(set) var accounts: [Job.Name: Account] = [:]
    private(set) var fault: String?
    /// Up to when time was added to the accounts.
    private var passedTo: Int64 = 0
    /// When the fleet was held, and since when it is.
    private var holds: [ClosedRange<Int64>] = []
    private var heldSince: Int64?

    /// Time passed up to this instant. It passes for a copy of the store as well.
    mutating func pass(to time: Int64) {
        let span = time - passedTo
        passedTo = time
        guard heldSince == nil else { return }
        for name in accounts.keys {
            accounts[name]?.passed += span
            accounts[name]?.uncounted += span
        }
    }

    /// The fleet is held from now on, or not any more, by a transaction that took this long.
    mutating func hold(_ isHeld: Bool, delay: Int64) {
        guard isHeld != (heldSince != nil) else { return }
        if let since = heldSince { holds.append(since...passedTo) }
        heldSince = isHeld ? passedTo : nil
        // The hold begins and ends by the clock of the machine that wrote it, when it sent that.
        for name in accounts.keys {
            accounts[name]?.gainMax += Self.skewMax + (isHeld ? 0 : delay)
            accounts[name]?.lossMax += Self.skewMax + (isHeld ? delay : 0)
        }
    }

    /// The time of a job was brought back, and does not count.
    mutating func recovered(_ name: Job.Name) { accounts[name] = nil }

    /// A job was written, by a transaction that took this long.
    ///
    /// - Parameters:
    ///   - isOpen: whether its time counts by the wall clock, by its definition and its pause.
    ///   - start: since when, if it did not before: now, or at the end of a pause.
    mutating func jobWritten(
        _ name: Job.Name, from old: JobValue?, to value: JobValue, isOpen: Bool,
        since start: Int64, delay: Int64
    ) {
        if let account = accounts[name], value.active != old?.active || !isOpen {
            check(name, account, value, delay)
            accounts[name]?.uncounted = 0
        }
        guard isOpen else { return accounts[name] = nil }
        guard accounts[name] == nil else { return }
        let held = (holds + (heldSince.map { [$0...passedTo] } ?? [])).filter {
            $0.upperBound > start
        }
        let passed =
            max(0, passedTo - start)
            - held.map { $0.upperBound - max($0.lowerBound, start) }.reduce(0, +)
        // If the pause ended before a hold, what was before the hold may be lost.
        accounts[name] = Account(
            activeBefore: value.active, passed: passed, uncounted: passed,
            gainMax: 2 * Self.skewMax + delay,
            lossMax: 2 * Self.skewMax + (held.isEmpty ? 0 : passed))
    }

    private mutating func check(
        _ name: Job.Name, _ account: Account, _ value: JobValue, _ delay: Int64
    ) {
        let counted = (value.active - account.activeBefore).wholeNanoseconds
        if counted > account.passed + account.gainMax {
            fail("\(name) gained \(counted - account.passed) ns of wall time: \(account)")
        }
        // A transaction on its way writes what was so when it was sent.
        if counted < account.passed - account.lossMax - delay {
            fail("\(name) lost \(account.passed - counted) ns of wall time: \(account)")
        }
    }

    private mutating func fail(_ text: String) { if fault == nil { fault = text } }
}
