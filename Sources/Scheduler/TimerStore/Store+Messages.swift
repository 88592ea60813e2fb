// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The messages of the outbox: one mail or one request each, into which notifications are grouped. A
/// message is written before it is sent for the first time, so that it is the same one if it must be
/// sent again after a kill.
extension Store {
    /// How many sent messages are kept at most.
    public static let sentMessagesKept: Int64 = 10_000

    /// How far a message is: it waits, was sent, or is given up.
    public enum MessageState: String, CaseIterable, Hashable, Sendable {
        /// It is sent at the next attempt, which may be the first.
        case waiting
        /// It was sent. The newest `sentMessagesKept` of these are kept.
        case sent
        /// It could not be sent and is not tried again, unless a user requests it.
        case dead
    }

    /// One mail or one request, with at least one notification.
    public struct Message: Hashable, Sendable {
        /// Its number, which no other message of this database has, also after a deletion.
        public var id: Int64
        /// The notifier that sends it.
        public var notifier: Notifier.Name
        /// When it was created, by the wall clock.
        public var created: WallInstant
        public var state: MessageState
        /// How many attempts have ended. Not negative.
        public var attempts: Int
        /// When it is tried next; nil unless it waits.
        public var next: WallInstant?
        /// What went wrong at the last attempt; nil if nothing did.
        public var error: String?
        /// When it was sent; nil if it was not.
        public var sent: WallInstant?
        /// How many notifications it contains, at least 1.
        public var count: Int
    }

    /// The result of an attempt to send a message.
    public struct MessageResult: Hashable, Sendable {
        /// The number of the message.
        public var id: Int64
        /// The state after the attempt.
        public var state: MessageState
        /// How many attempts have ended, with this one.
        public var attempts: Int
        /// When it is tried next; only if it waits.
        public var next: WallInstant?
        /// What went wrong; nil if nothing did. Without any secret.
        public var error: String?
        /// When the attempt ended, by the wall clock.
        public var at: WallInstant

        public init(
            id: Int64, state: MessageState, attempts: Int, next: WallInstant? = nil,
            error: String? = nil, at: WallInstant
        ) {
            self.id = id
            self.state = state
            self.attempts = attempts
            self.next = next
            self.error = error
            self.at = at
        }
    }

    // MARK: - Reading

    /// The messages that wait to be sent, the oldest first.
    public func waitingMessages() throws(StoreError) -> [Message] {
        try messages("state = 'waiting' ORDER BY id", [])
    }

    /// The messages, the latest first.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - before: only messages with a lower number; nil: from the latest one.
    ///   - state: only those in this state; nil: all.
    ///   - job: only those with a notification about this job, by its current name; nil: all.
    public func messages(
        limit: Int, before: Int64? = nil, state: MessageState? = nil, job: Job.Name? = nil
    ) throws(StoreError) -> [Message] {
        try messages(
            """
            id < ?1 AND (?2 IS NULL OR state = ?2)
                AND \(job == nil ? "?4 IS NULL" : "id IN (SELECT message FROM notification WHERE owner = ?4)")
            ORDER BY id DESC LIMIT ?3
            """,
            [
                .integer(before ?? .max), Value(state?.rawValue), .integer(Int64(limit)),
                Value(job?.description),
            ])
    }

    /// The message with this number; nil if there is none.
    public func message(_ id: Int64) throws(StoreError) -> Message? {
        try messages("id = ?", [.integer(id)]).first
    }

    /// How many messages are in each state.
    /// - Complexity: O(*n*) in the number of messages.
    public func messageCounts() throws(StoreError) -> [MessageState: Int] {
        var counts: [MessageState: Int] = [:]
        try connection.run(
            "SELECT state, count(*) FROM message GROUP BY state", doing: "count the messages"
        ) { row in
            guard let state = row.text(0).flatMap({ MessageState(rawValue: $0) }) else { return }
            counts[state] = Int(row.integer(1) ?? 0)
        }
        return counts
    }

    /// The highest number that a message ever had; 0 if there was none. A new message needs a
    /// higher one.
    public func lastMessage() throws(StoreError) -> Int64 {
        try connection.integer(
            "SELECT seq FROM sqlite_sequence WHERE name = 'message'", doing: "read the last message"
        ) ?? 0
    }

    private func messages(
        _ condition: String, _ values: [Value]
    ) throws(StoreError) -> [Message] {
        var found: [Message] = []
        try connection.run(
            """
            SELECT \(MessageColumn.list),
                (SELECT count(*) FROM notification WHERE message = message.id)
            FROM message WHERE \(condition)
            """, values, doing: "read the messages"
        ) { row in
            let count = row.integer(Int32(MessageColumn.allCases.count)) ?? 0
            if let one = Message(Columns(row), count: Int(count)) { found.append(one) }
        }
        return found
    }

    // MARK: - Writing

    /// Groups notifications that belong to no message yet. If none of them is left, there is no
    /// message.
    func createMessage(
        _ id: Int64, _ notifier: Notifier.Name, _ notifications: [Int64], at: WallInstant
    ) throws(StoreError) {
        var count = 0
        for row in notifications {
            count += try connection.run(
                "UPDATE notification SET message = ? WHERE id = ? AND message IS NULL",
                [.integer(id), .integer(row)], doing: "write a message")
        }
        guard count > 0 else { return }
        try connection.run(
            """
            INSERT INTO message (id, notifier, created_us, state, attempts, next_us)
            VALUES (?1, ?2, ?3, 'waiting', 0, ?3)
            """, [.integer(id), .text(notifier.description), Value(at)], doing: "write a message")
    }

    func write(_ result: MessageResult) throws(StoreError) {
        try connection.run(
            """
            UPDATE message SET state = ?2, attempts = ?3, next_us = ?4, error = ?5, sent_us = ?6
            WHERE id = ?1
            """,
            [
                .integer(result.id), .text(result.state.rawValue),
                .integer(result.attempts.keepable),
                result.state == .waiting ? Value(result.next) : .null, Value(result.error),
                result.state == .sent ? Value(result.at) : .null,
            ], doing: "write the result of a message")
    }

    /// The attempts are still counted: each has a run of its own, and if the daemon is killed during
    /// one, the next daemon must ask for the same.
    func retryMessage(_ id: Int64, at: WallInstant) throws(StoreError) {
        try connection.run(
            """
            UPDATE message SET state = 'waiting', next_us = ?2
            WHERE id = ?1 AND state <> 'sent'
            """, [.integer(id), Value(at)], doing: "retry a message")
    }

    /// Deletes some of the messages that are too old, with their notifications.
    /// - Returns: whether there may be more.
    func pruneMessages(before instant: WallInstant, max: Int64) throws(StoreError) -> Bool {
        try setDurable(false)
        let newest = try lastMessage() - Self.sentMessagesKept
        let old = """
            SELECT id FROM message WHERE state <> 'waiting'
                AND (created_us < ?1 OR (state = 'sent' AND id <= ?2)) ORDER BY id LIMIT ?3
            """
        let values: [Value] = [
            .integer(instant.microsecondsSinceEpoch), .integer(newest), .integer(max),
        ]
        let what = "prune the outbox"
        return try connection.transaction(doing: what) { () throws(StoreError) in
            try connection.run(
                "DELETE FROM notification WHERE message IN (\(old))", values, doing: what)
            let count = try connection.run(
                "DELETE FROM message WHERE id IN (\(old))", values, doing: what)
            let orphans = try connection.run(
                """
                DELETE FROM notification WHERE id IN (SELECT id FROM notification
                    WHERE message IS NULL AND at_us < ? ORDER BY id LIMIT ?)
                """, [.integer(instant.microsecondsSinceEpoch), .integer(max)], doing: what)
            return count == max || orphans == max
        }
    }
}

extension Store.Message {
    /// Reads a row of a message; nil if it is not valid.
    fileprivate init?(_ row: Columns<MessageColumn>, count: Int) {
        guard let id = row.integer(.id),
            let notifier = row.text(.notifier).flatMap({ Notifier.Name($0) }),
            let created = row.integer(.createdUs).flatMap({ WallInstant(kept: $0) }),
            let state = row.text(.state).flatMap({ Store.MessageState(rawValue: $0) })
        else { return nil }
        self.init(
            id: id, notifier: notifier, created: created, state: state,
            attempts: row.integer(.attempts).flatMap { Int(kept: $0) } ?? 0,
            next: row.integer(.nextUs).flatMap { WallInstant(kept: $0) }, error: row.text(.error),
            sent: row.integer(.sentUs).flatMap { WallInstant(kept: $0) }, count: count)
    }
}
