// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Tracks which messages of one sequence a client has received, and up to which number they are
/// handled.
struct Receipts {
    /// The highest number that was received.
    private(set) var last: UInt64 = 0
    /// The messages that count as handled only after `markHandled` is called, in their order.
    private var unacknowledged: ArraySlice<UInt64> = []
    /// The number up to which messages are acknowledged to the runner, and the number up to which
    /// they are handled here.
    private var acknowledgedUpTo: UInt64 = 0
    private var handled: UInt64 = 0

    /// Records a received message.
    /// - Returns: whether it was received before, on another connection.
    mutating func receive(_ number: UInt64) -> Bool {
        let isAgain = number <= last
        last = max(last, number)
        // The runner sends it again because it did not receive the acknowledgement.
        if isAgain { acknowledgedUpTo = min(acknowledgedUpTo, number &- 1) }
        return isAgain
    }

    /// This message counts as handled only after `markHandled` is called with its number.
    mutating func expectAcknowledgement(of number: UInt64) { unacknowledged.append(number) }

    /// Everything up to this number is handled.
    /// - Returns: whether that is new.
    mutating func markHandled(_ number: UInt64) -> Bool {
        guard number > handled else { return false }
        handled = number
        return true
    }

    /// The number to acknowledge, if more than `slack` messages are handled and not acknowledged;
    /// it counts as acknowledged then.
    mutating func nextToAcknowledge(slack: UInt64) -> UInt64? {
        while let first = unacknowledged.first, first <= handled { unacknowledged.removeFirst() }
        let all = (unacknowledged.first ?? last &+ 1) &- 1
        guard all > acknowledgedUpTo, all - acknowledgedUpTo > slack else { return nil }
        acknowledgedUpTo = all
        return all
    }

    /// The number up to which messages are acknowledged to the runner.
    var acknowledged: UInt64 { acknowledgedUpTo }

    /// Called on a new connection to the same runner, so that the acknowledgement is sent again.
    mutating func resetAcknowledged() { acknowledgedUpTo = 0 }
}
