// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a client has received in one lane, and up to which number it is where it belongs.
struct Receipts {
    /// The highest number that was received.
    private(set) var last: UInt64 = 0
    /// The messages that count as seen only once somebody says so, in their order.
    private var unacknowledged: ArraySlice<UInt64> = []
    /// Up to which number the runner was told that all is seen, and up to which number that is known here.
    private var said: UInt64 = 0
    private var known: UInt64 = 0

    /// A message was received.
    /// - Returns: whether it was received before, on another connection.
    mutating func receive(_ number: UInt64) -> Bool {
        let isAgain = number <= last
        last = max(last, number)
        // The runner has not heard that it is seen.
        if isAgain { said = min(said, number &- 1) }
        return isAgain
    }

    /// This message counts as seen once `know` says so.
    mutating func expectAcknowledgement(of number: UInt64) { unacknowledged.append(number) }

    /// Everything up to this number is where it belongs.
    /// - Returns: whether that was not known yet.
    mutating func know(_ number: UInt64) -> Bool {
        guard number > known else { return false }
        known = number
        return true
    }

    /// Up to which number everything is seen, if the runner was told less by more than `slack`; it counts as told
    /// then.
    mutating func nextToSay(slack: UInt64) -> UInt64? {
        while let first = unacknowledged.first, first <= known { unacknowledged.removeFirst() }
        let all = (unacknowledged.first ?? last &+ 1) &- 1
        guard all > said, all - said > slack else { return nil }
        said = all
        return all
    }

    /// Up to which number the runner was told that all is seen.
    var told: UInt64 { said }

    /// A new connection to the same runner: it is told again what is seen.
    mutating func repeatAll() { said = 0 }
}
