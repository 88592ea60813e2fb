// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Which messages to people and services are requested.
public struct NotificationQuery: RequestQuery {
    /// How many messages may be requested, and how many are without a number.
    public static let limits = 1...200
    public static let limitDefault = 20

    /// How far a message is: it waits, was sent, or is given up.
    public enum State: String, CaseIterable, Hashable, Sendable {
        /// It is sent at the next attempt, which may be the first.
        case waiting
        /// An attempt succeeded.
        case sent
        /// It could not be sent, and is not tried again by itself.
        case dead
    }

    /// Only messages about this job, also those from before it was renamed, and of what they say only
    /// what is about it; nil: all.
    public var job: Job.Name?
    /// Only messages in this state; nil: all.
    public var state: State?
    /// How many at most: one of `limits`.
    public var limit: Int
    /// Only messages with a lower number; nil: from the latest on.
    public var cursor: Int64?

    /// By default the latest messages in any state, about any job.
    public init(
        job: Job.Name? = nil, state: State? = nil, limit: Int = NotificationQuery.limitDefault,
        cursor: Int64? = nil
    ) {
        self.job = job
        self.state = state
        self.limit = limit
        self.cursor = cursor
    }

    public init() { self.init(job: nil) }

    public static let parameters: [QueryParameter<NotificationQuery>] = [
        .job(
            "job", \.job,
            "Only messages about this job, also those from before it was renamed, and of what they say only what is about it."
        ),
        QueryParameter(
            "state", .word(State.allCases.map(\.rawValue)), "Only messages in this state."
        ) { (text, query) throws(ControlRequest.Fault) in
            guard let known = State(rawValue: text) else {
                throw .badQuery("state must be waiting, sent or dead")
            }
            query.state = known
        } write: {
            $0.state?.rawValue
        },
        .number("limit", \.limit, limits, "How many at most."),
        QueryParameter(
            "cursor", .text(pattern: "^[0-9]{1,18}$"),
            "Only what comes behind an earlier answer: its `next_cursor`."
        ) { (text, query) throws(ControlRequest.Fault) in
            guard let number = Int(digits: text) else {
                throw .badQuery("cursor must be the next_cursor of an earlier answer")
            }
            query.cursor = Int64(number)
        } write: {
            $0.cursor.map { "\($0)" }
        },
    ]
}

/// Something that people or a service get to know.
public struct NotificationStatus: Codable, Hashable, Sendable {
    /// When it happened, RFC 3339.
    public var at: String
    /// How many firings of the job had failed in a row; absent if none.
    public var failedInARow: Int?
    /// The job, by its name now; absent for a test.
    public var job: String?
    /// What happened, as in the key `on` of the configuration.
    public var kind: String
    /// How the run ended; absent if it is not about a run that ended.
    public var outcome: String?
    /// The identity of the run; absent if it is not about one.
    public var run: String?

    public init(
        at: String, failedInARow: Int? = nil, job: String?, kind: String, outcome: String? = nil,
        run: String? = nil
    ) {
        self.at = at
        self.failedInARow = failedInARow
        self.job = job
        self.kind = kind
        self.outcome = outcome
        self.run = run
    }
}

/// One mail or one request, with at least one notification.
public struct MessageStatus: Codable, Hashable, Sendable {
    /// The most notifications that an answer has of one message.
    public static let notificationsMax = 5

    /// How many attempts there were to send it.
    public var attempts: Int
    /// When its notifications were put together, RFC 3339.
    public var created: String
    /// What went wrong at the last attempt; absent if nothing did.
    public var error: String?
    /// When it is tried next, RFC 3339; only of a message that waits.
    public var next: String?
    /// How many notifications it has.
    public var notificationCount: Int
    /// The first 5 of them; with `job`, of those about it.
    public var notifications: [NotificationStatus]
    /// The name of the notifier that sends it.
    public var notifier: String
    /// Its number, which is higher for later messages.
    public var number: Int64
    /// When it was sent, RFC 3339; absent before.
    public var sent: String?
    /// What became of it; a dead message is not tried again by itself.
    public var state: String

    public init(
        number: Int64, notifier: String, state: String, created: String, attempts: Int,
        next: String? = nil, error: String? = nil, sent: String? = nil, notificationCount: Int,
        notifications: [NotificationStatus]
    ) {
        self.attempts = attempts
        self.created = created
        self.error = error
        self.next = next
        self.notificationCount = notificationCount
        self.notifications = notifications
        self.notifier = notifier
        self.number = number
        self.sent = sent
        self.state = state
    }
}

/// The requested messages, and where the next answer continues.
public struct NotificationsReply: Codable, Hashable, Sendable {
    /// The messages, the latest first.
    public var messages: [MessageStatus]
    /// What to pass as `cursor` for the messages behind; absent if there are no more.
    public var nextCursor: String?
    /// How many notifications are being collected for the next messages.
    public var pendingCount: Int

    public init(messages: [MessageStatus], nextCursor: String? = nil, pendingCount: Int) {
        self.messages = messages
        self.nextCursor = nextCursor
        self.pendingCount = pendingCount
    }
}

/// The result of a request to send a message again.
public struct MessageRetryReply: Codable, Hashable, Sendable {
    /// Whether it is sent again. If not, `reason` says why.
    public var changed: Bool
    /// The message after the request; empty if it is not there any more.
    public var messages: [MessageStatus]
    /// Why it is not sent again; absent if it is.
    public var reason: String?

    public init(changed: Bool, reason: String? = nil, messages: [MessageStatus]) {
        self.changed = changed
        self.messages = messages
        self.reason = reason
    }
}

/// One `[notify.NAME]` of the configuration, and how it is doing. Nothing of it is secret.
public struct NotifierStatus: Codable, Hashable, Sendable {
    /// The name of the credential with the address.
    public var credential: String?
    /// How many of its messages are given up (`dead`).
    public var deadCount: Int
    /// What went wrong with the latest message that is not sent; absent if there is none.
    public var error: String?
    /// The format of its messages; absent for mail and jobs.
    public var format: String?
    /// The machine to which it sends; absent if the address is a credential.
    public var host: String?
    /// How many notifications its limit `per-hour` holds back; absent if none.
    public var heldCount: Int?
    /// When the next message with them is sent, RFC 3339; absent if none are held back.
    public var heldUntil: String?
    /// Whether the latest message that was tried is not sent.
    public var isFailing: Bool
    /// The job that it runs; absent for other transports.
    public var job: String?
    /// Its name, as jobs give it in `notify`.
    public var notifier: String
    /// What it tells about, as in the configuration.
    public var on: [String]
    /// When it last sent a message, RFC 3339; absent if it never did.
    public var sent: String?
    /// The addresses of its mails; absent for other transports.
    public var to: [String]?
    /// The transport: `mail`, `webhook`, `ping` or `job`.
    public var transport: String
    /// How many of its messages wait for an attempt.
    public var waitingCount: Int

    /// A notifier that has sent nothing and whose receiver is not known.
    public init(notifier: String, transport: String, on: [String]) {
        deadCount = 0
        isFailing = false
        self.notifier = notifier
        self.on = on
        self.transport = transport
        waitingCount = 0
    }
}

/// How each notifier of the configuration is doing.
public struct NotifiersReply: Codable, Hashable, Sendable {
    /// The notifiers in the order of their names.
    public var notifiers: [NotifierStatus]

    public init(notifiers: [NotifierStatus]) { self.notifiers = notifiers }
}

/// What a test sent, and what came back.
public struct NotifierTestReply: Codable, Hashable, Sendable {
    /// What the receiver answered, or the mail program printed; absent if nothing was sent.
    public var answer: String?
    /// The body of the request, or the whole mail.
    public var body: String?
    /// Whether nothing was sent because only the message was requested.
    public var dryRun: Bool
    /// How long it took; absent if nothing was sent.
    public var elapsedUsec: Int64?
    /// What went wrong, as a sentence; absent if nothing did.
    public var error: String?
    /// The lines of the header of the request.
    public var headers: [String]?
    /// The HTTP status of the answer; absent without one.
    public var httpStatus: Int?
    /// Whether the receiver accepted it; false for a dry run.
    public var isSent: Bool
    /// The job that was run; absent if the notifier runs none.
    public var job: String?
    /// The method of HTTP; absent for a mail.
    public var method: String?
    /// The notifier.
    public var notifier: String
    /// What is added to the path of the address.
    public var pathSuffix: String?
    /// What is added to the query of the address.
    public var query: String?

    /// A test before anything is sent.
    public init(notifier: String, dryRun: Bool) {
        self.notifier = notifier
        self.dryRun = dryRun
        isSent = false
    }
}
