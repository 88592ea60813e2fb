// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The outbox. The agenda decides on notifications, which are written in the transaction that
/// records what happened. Later they are grouped into messages: one mail, or one request. A message
/// is written before it is sent for the first time, so that it is the same one if it must be sent
/// again after a kill.
extension Store {
    /// How many sent messages are kept at most.
    public static let sentMessagesKept: Int64 = 10_000

    /// A notification in the outbox.
    public struct StoredNotification: Hashable, Sendable {
        /// Its row. Later notifications have higher numbers.
        public var id: Int64
        /// What happened. Once it belongs to a message, it keeps the name that the job has in it.
        public var notification: JobNotification
        /// The current name of the job; nil if the notification is about none.
        public var owner: Job.Name?
    }

    /// What became of a message.
    public enum MessageState: String, CaseIterable, Hashable, Sendable {
        /// It is sent at the next attempt.
        case waiting
        /// It was sent.
        case sent
        /// It could not be sent and is not tried again, unless a user requests it.
        case dead
    }

    /// One mail or one request, with at least one notification.
    public struct Message: Hashable, Sendable {
        /// Its number, which no other message of this database has, also after a deletion.
        public var id: Int64
        /// Who sends it.
        public var notifier: Notifier.Name
        /// When it was created, by the wall clock.
        public var created: WallInstant
        /// What became of it.
        public var state: MessageState
        /// How often it was tried. Not negative.
        public var attempts: Int
        /// When it is tried next; nil unless it waits.
        public var next: WallInstant?
        /// What went wrong at the last attempt; nil if nothing did.
        public var error: String?
        /// When it was sent; nil before.
        public var sent: WallInstant?
        /// How many notifications it contains.
        public var count: Int
    }

    // MARK: - Reading

    /// The notifications that belong to no message yet, the oldest first.
    ///
    /// - Parameters:
    ///   - after: only those with a higher number.
    ///   - limit: how many at most.
    /// - Complexity: O(`limit`).
    public func notificationsWithoutMessage(
        after: Int64 = 0, limit: Int
    ) throws(StoreError) -> [StoredNotification] {
        try notifications(
            "message IS NULL AND id > ? ORDER BY id LIMIT ?",
            [.integer(after), .integer(Int64(limit))])
    }

    /// The notifications of a message, the oldest first.
    public func notifications(of message: Int64) throws(StoreError) -> [StoredNotification] {
        try notifications("message = ? ORDER BY id", [.integer(message)])
    }

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

    private func notifications(
        _ condition: String, _ values: [Value]
    ) throws(StoreError) -> [StoredNotification] {
        var found: [StoredNotification] = []
        try connection.run(
            "SELECT \(NotificationColumn.list) FROM notification WHERE \(condition)", values,
            doing: "read the outbox"
        ) { row in
            // A row that cannot be read cannot be sent; it is deleted with the old ones.
            if let one = StoredNotification(Columns(row)) { found.append(one) }
        }
        return found
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

    /// The incidents that are not over.
    func incidents() throws(StoreError) -> [IncidentRecord] {
        var found: [IncidentRecord] = []
        try connection.run(
            "SELECT \(IncidentColumn.list) FROM incident ORDER BY job, notifier, kind",
            doing: "read the incidents"
        ) { row in
            guard let incident = IncidentRecord(Columns(row)) else {
                return note("an incident in the saved state is damaged; it is ignored")
            }
            found.append(incident)
        }
        return found
    }

    // MARK: - Writing

    func insert(_ one: JobNotification) throws(StoreError) {
        try connection.run(
            """
            INSERT INTO notification (notifier, kind, job, run, at_us, outcome, failed_in_a_row,
                since_us, is_repeat, will_retry, elapsed_us, user_us, system_us, peak_bytes,
                skip_reason, recovered_from, owner)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?3)
            """,
            [
                .text(one.notifier.description), .text(one.kind.rawValue),
                Value(one.job?.description), Value(one.run?.description), Value(one.at),
                Value(one.outcome?.description), .integer(one.failedInARow.keepable),
                Value(one.since), Value(one.isRepeat), Value(one.willRetry),
                Value(one.usage?.elapsed.wholeMicroseconds),
                Value(one.usage?.user.wholeMicroseconds),
                Value(one.usage?.system.wholeMicroseconds), Value(one.usage?.peakResidentBytes),
                Value(one.skipReason),
                one.recoveredFrom.isEmpty
                    ? .null : .text(one.recoveredFrom.map(\.rawValue).joined(separator: " ")),
            ], doing: "write a notification")
    }

    func write(_ change: IncidentChange) throws(StoreError) {
        let id = change.id
        let key: [Value] = [
            .text(id.job.description), .text(id.notifier.description), .text(id.kind.rawValue),
        ]
        switch change {
        case .set(let incident):
            try connection.run(
                "INSERT OR REPLACE INTO incident (\(IncidentColumn.list)) VALUES (?, ?, ?, ?, ?, ?)",
                key + [
                    Value(incident.since), .integer(incident.count.keepable),
                    Value(incident.notified),
                ], doing: "write an incident")
        case .remove:
            try connection.run(
                "DELETE FROM incident WHERE job = ? AND notifier = ? AND kind = ?", key,
                doing: "write the end of an incident")
        }
    }

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

    /// The result of an attempt to send a message.
    public struct MessageResult: Hashable, Sendable {
        /// The message.
        public var id: Int64
        /// What became of it.
        public var state: MessageState
        /// How often it was tried so far.
        public var attempts: Int
        /// When it is tried next; only if it waits.
        public var next: WallInstant?
        /// What went wrong; nil if nothing did. Without any secret.
        public var error: String?
        /// When the attempt ended.
        public var at: WallInstant

        /// Creates a result.
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

    /// The attempts are still counted: each has a run of its own, and if the daemon is killed during
    /// one, the next daemon must ask for the same.
    func retryMessage(_ id: Int64, at: WallInstant) throws(StoreError) {
        try connection.run(
            """
            UPDATE message SET state = 'waiting', next_us = ?2
            WHERE id = ?1 AND state <> 'sent'
            """, [.integer(id), Value(at)], doing: "retry a message")
    }

    /// A renamed job keeps its incidents and its messages. Notifications that belong to a message
    /// keep the old name in it, because a message that is sent again must be the same one.
    func renameInOutbox(_ from: String, _ to: String, doing what: String) throws(StoreError) {
        try connection.run(
            "UPDATE OR REPLACE incident SET job = ? WHERE job = ?", [.text(to), .text(from)],
            doing: what)
        try connection.run(
            "UPDATE notification SET job = ?1 WHERE owner = ?2 AND message IS NULL",
            [.text(to), .text(from)], doing: what)
        try connection.run(
            "UPDATE notification SET owner = ?1 WHERE owner = ?2", [.text(to), .text(from)],
            doing: what)
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

extension Store.StoredNotification {
    /// Reads a row of the outbox; nil if it is not valid.
    fileprivate init?(_ row: Columns<NotificationColumn>) {
        guard let id = row.integer(.id),
            let notifier = row.text(.notifier).flatMap({ Notifier.Name($0) }),
            let kind = row.text(.kind).flatMap({ NotificationKind(rawValue: $0) }),
            let at = row.integer(.atUs).flatMap({ WallInstant(kept: $0) })
        else { return nil }
        let job = row.text(.job).flatMap { Job.Name($0) }
        guard job != nil || kind == .test else { return nil }
        let usage = row.integer(.elapsedUs).map { elapsed in
            RunUsage(
                elapsedUs: elapsed, userUs: row.integer(.userUs), systemUs: row.integer(.systemUs),
                peakBytes: row.integer(.peakBytes))
        }
        self.id = id
        owner = row.text(.owner).flatMap { Job.Name($0) }
        notification = JobNotification(
            notifier: notifier, kind: kind, job: job, run: row.text(.run).flatMap { Run.ID($0) },
            at: at, outcome: row.text(.outcome).flatMap { RunOutcome($0) },
            failedInARow: row.integer(.failedInARow).flatMap { Int(kept: $0) } ?? 0,
            since: row.integer(.sinceUs).flatMap { WallInstant(kept: $0) },
            isRepeat: row.integer(.isRepeat) == 1, willRetry: row.integer(.willRetry) == 1,
            usage: usage, skipReason: row.text(.skipReason),
            recoveredFrom: (row.text(.recoveredFrom) ?? "").split(separator: " ")
                .compactMap { NotificationKind(rawValue: String($0)) })
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

extension IncidentRecord {
    /// Reads a row of an incident; nil if it is not valid.
    fileprivate init?(_ row: Columns<IncidentColumn>) {
        guard let job = row.text(.job).flatMap({ Job.Name($0) }),
            let notifier = row.text(.notifier).flatMap({ Notifier.Name($0) }),
            let kind = row.text(.kind).flatMap({ NotificationKind(rawValue: $0) }),
            NotificationKind.incidents.contains(kind),
            let since = row.integer(.sinceUs).flatMap({ WallInstant(kept: $0) }),
            let count = row.integer(.count).flatMap({ Int(kept: $0) })
        else { return nil }
        self.init(
            id: ID(job: job, notifier: notifier, kind: kind), since: since, count: count,
            notified: row.integer(.notifiedUs).flatMap { WallInstant(kept: $0) })
    }
}
