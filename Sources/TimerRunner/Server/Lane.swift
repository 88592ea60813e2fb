// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Messages in the order of their numbers, which count from 1. Each is kept until the other side has seen it, and is
/// sent again on a new connection.
struct Lane<Message> {
    struct Entry {
        var number: UInt64
        var message: Message
        /// What it takes of the memory, roughly, in bytes.
        var cost: Int
    }

    private var entries: [Entry?] = []
    /// The first entry that is not seen; everything before it is nil.
    private var head = 0
    /// How many entries from `head` on were sent on this connection.
    private var sent = 0
    /// The cost of those that were sent and are not seen yet.
    private(set) var sentBytes = 0
    private var number: UInt64 = 0

    var isEmpty: Bool { entries.count == head }

    var hasUnsent: Bool { head + sent < entries.count }

    /// Adds a message behind all others.
    /// - Returns: its number.
    @discardableResult
    mutating func append(_ message: Message, cost: Int) -> UInt64 {
        number += 1
        entries.append(Entry(number: number, message: message, cost: cost))
        return number
    }

    /// Takes the next message that is to be sent; nil if all are.
    mutating func sendNext() -> Entry? {
        guard hasUnsent, let entry = entries[head + sent] else { return nil }
        sent += 1
        sentBytes += entry.cost
        return entry
    }

    /// Drops every message that was sent, up to and including this number.
    mutating func seen(_ number: UInt64) {
        while sent > 0, let entry = entries[head], entry.number <= number {
            entries[head] = nil
            head += 1
            sent -= 1
            sentBytes -= entry.cost
        }
        // The room is given back when half of it is unused, so that each message costs the same over many.
        if head >= 1024, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }

    /// Has everything that is not seen sent again, without the messages that are not worth it.
    mutating func rewind(keeping isKept: (Message) -> Bool = { _ in true }) {
        entries = entries[head...].filter { entry in entry.map { isKept($0.message) } ?? false }
        head = 0
        sent = 0
        sentBytes = 0
    }

    /// Calls this with each message that is not sent, in order.
    func forEachUnsent(_ body: (Message) -> Void) {
        for case .some(let entry) in entries[(head + sent)...] { body(entry.message) }
    }
}
