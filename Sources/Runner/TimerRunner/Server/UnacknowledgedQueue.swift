// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A queue of messages with consecutive numbers that start at 1. Each message is kept until the
/// other side has acknowledged it, and is sent again on a new connection.
struct UnacknowledgedQueue<Message> {
    struct Entry {
        var number: UInt64
        var message: Message
        /// The approximate memory that it takes, in bytes.
        var cost: Int
    }

    private var entries: [Entry?] = []
    /// The first entry that is not acknowledged; everything before it is nil.
    private var head = 0
    /// How many entries from `head` on were sent on this connection.
    private var sent = 0
    /// The cost of those that were sent and are not acknowledged yet.
    private(set) var sentBytes = 0
    private var number: UInt64 = 0

    var isEmpty: Bool { entries.count == head }

    var hasUnsent: Bool { head + sent < entries.count }

    /// Appends a message, to be sent and kept until it is acknowledged. Returns its number.
    @discardableResult
    mutating func append(_ message: Message, cost: Int) -> UInt64 {
        number += 1
        entries.append(Entry(number: number, message: message, cost: cost))
        return number
    }

    /// Marks the next message as sent and returns it; nil if all are sent.
    mutating func sendNext() -> Entry? {
        guard hasUnsent, let entry = entries[head + sent] else { return nil }
        sent += 1
        sentBytes += entry.cost
        return entry
    }

    /// Removes every sent message up to and including this number, which the other side has
    /// acknowledged.
    mutating func seen(_ number: UInt64) {
        while sent > 0, let entry = entries[head], entry.number <= number {
            entries[head] = nil
            head += 1
            sent -= 1
            sentBytes -= entry.cost
        }
        // The array is shortened when half of it is unused, so that the cost per message is
        // constant on average.
        if head >= 1024, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// Prepares to send everything that is not acknowledged again, except the messages for which
    /// `isKept` returns false.
    mutating func rewind(keeping isKept: (Message) -> Bool = { _ in true }) {
        entries = entries[head...].filter { entry in entry.map { isKept($0.message) } ?? false }
        head = 0
        sent = 0
        sentBytes = 0
    }

    /// Calls the body with each message that is not sent, in order.
    func forEachUnsent(_ body: (Message) -> Void) {
        for case .some(let entry) in entries[(head + sent)...] { body(entry.message) }
    }
}
