// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What people are shown about the outbox.
extension Store {
    /// The messages of one notifier in numbers.
    public struct NotifierSums: Hashable, Sendable {
        /// How many of its messages wait for an attempt.
        public var waiting = 0
        /// How many of its messages are given up.
        public var dead = 0
        /// When it last sent one; nil if it never did.
        public var sent: WallInstant?
        /// Why the latest of its messages that are not sent could not be sent; nil if there is none.
        public var error: String?
        /// Whether the latest message that was tried is not sent.
        public var isFailing = false

        /// The sums of a notifier without messages.
        public init() {}
    }

    /// The sums of each notifier that has messages.
    /// - Complexity: O(*n*) in the number of messages.
    public func notifierSums() throws(StoreError) -> [Notifier.Name: NotifierSums] {
        var found: [Notifier.Name: NotifierSums] = [:]
        try connection.run(
            """
            SELECT notifier, sum(state = 'waiting'), sum(state = 'dead'), max(sent_us)
            FROM message GROUP BY notifier
            """, doing: "sum the messages up"
        ) { row in
            guard let name = row.text(0).flatMap({ Notifier.Name($0) }) else { return }
            var sums = NotifierSums()
            sums.waiting = Int(row.integer(1) ?? 0)
            sums.dead = Int(row.integer(2) ?? 0)
            sums.sent = row.integer(3).flatMap { WallInstant(kept: $0) }
            found[name] = sums
        }
        for name in found.keys {
            try connection.run(
                Self.lastAttemptQuery, [.text(name.description)], doing: "read the last message"
            ) { found[name]?.isFailing = $0.text(0) != "sent" }
            try connection.run(
                Self.lastErrorQuery, [.text(name.description)], doing: "read the last error"
            ) { found[name]?.error = $0.text(0) }
        }
        return found
    }

    /// The state of the latest message of a notifier that was tried.
    static let lastAttemptQuery =
        "SELECT state FROM message WHERE notifier = ? AND attempts > 0 ORDER BY id DESC LIMIT 1"
    static let lastErrorQuery =
        "SELECT error FROM message WHERE notifier = ? AND error IS NOT NULL ORDER BY id DESC LIMIT 1"

    /// How many notifications belong to no message yet.
    public func notificationsWithoutMessageCount() throws(StoreError) -> Int {
        Int(
            try connection.integer(
                "SELECT count(*) FROM notification WHERE message IS NULL",
                doing: "count the outbox") ?? 0)
    }

    /// The first message about the incident that a notification is about; nil if there is
    /// none before the message with this number.
    ///
    /// - Parameter job: the current name of its job: a message from before a renaming is found, too.
    /// - Complexity: O(log *n* + *m*) for *n* notifications, of which *m* are about this incident.
    public func earlierMessage(
        about notification: JobNotification, of job: Job.Name?, before number: Int64
    ) throws(StoreError) -> Int64? {
        let kinds =
            notification.kind == .recovery
            ? notification.recoveredFrom : notification.isRepeat ? [notification.kind] : []
        guard let job, let since = notification.since, !kinds.isEmpty else { return nil }
        var found: Int64?
        try connection.run(
            Self.earlierMessageQuery(kinds: kinds.count),
            [
                .integer(number), .text(notification.notifier.description),
                .text(job.description), .integer(since.microsecondsSinceEpoch),
            ] + kinds.map { .text($0.rawValue) }, doing: "read an earlier message"
        ) { found = $0.integer(0) }
        return found
    }

    /// The first message before another one with a notification of some kinds about a job.
    static func earlierMessageQuery(kinds: Int) -> String {
        """
        SELECT min(message) FROM notification WHERE message IS NOT NULL AND message < ?
            AND notifier = ? AND owner = ? AND at_us >= ?
            AND kind IN (\(Array(repeating: "?", count: kinds).joined(separator: ", ")))
        """
    }
}
