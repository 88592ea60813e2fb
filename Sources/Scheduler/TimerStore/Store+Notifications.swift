// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The notifications in the outbox. The agenda decides on them, and they are written in the
/// transaction that records what happened. Later they are grouped into messages (`Store+Messages`).
extension Store {
    /// A notification with its row in the outbox.
    public struct StoredNotification: Hashable, Sendable {
        /// Its number. Later notifications have higher ones.
        public var id: Int64
        /// What happened. Once it belongs to a message, it keeps the name that the job has in it.
        public var notification: JobNotification
        /// The current name of the job; nil if the notification is about none.
        public var owner: Job.Name?
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
