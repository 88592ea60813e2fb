// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One table `[notify.NAME]` of the configuration: how notifications about jobs are sent, and about
/// what.
public struct Notifier: Hashable, Sendable, NamedTable {
    public typealias Name = TableName<Notifier>
    public static let kind = "notifier"

    /// Its name, which jobs give in `notify`.
    public var name: Name
    /// How messages are sent, and to where.
    public var transport: Transport
    /// The kinds of notifications that it sends. It has no incidents of other kinds.
    public var on: Set<NotificationKind>
    /// How many firings in a row must fail before a failure is sent; at least 1.
    public var after: Int
    /// How long after a message the next one is sent while the incident is not over. Nil: never.
    /// At least one minute.
    public var repeatInterval: Duration?
    /// How long messages are collected before they are sent as one. Not negative; zero for pings
    /// and jobs, which are always sent one by one.
    public var batch: Duration
    /// How many messages are sent in an hour at most; at least 1.
    public var perHour: Int
    /// The path of the program that sends mails; nil: `sendmail` in the usual directories.
    public var sendmail: String?
    /// The proxy for requests by https, as curl(1) takes it; nil: they are sent directly. Requests to
    /// this machine always are.
    public var proxy: String?

    /// Creates a notifier; by default with the values that the configuration has by default.
    public init(
        name: Name, transport: Transport, on: Set<NotificationKind>? = nil,
        after: Int = standardAfter,
        repeatInterval: Duration? = nil, batch: Duration? = nil, perHour: Int = standardPerHour,
        sendmail: String? = nil, proxy: String? = nil
    ) {
        self.name = name
        self.transport = transport
        self.on = on ?? transport.standardKinds
        self.after = after
        self.repeatInterval = repeatInterval
        self.batch = transport.canBatch ? batch ?? Self.standardBatch : .zero
        self.perHour = perHour
        self.sendmail = sendmail
        self.proxy = proxy
    }

    /// How long messages are collected, if the configuration does not say it.
    public static let standardBatch: Duration = .seconds(30)
    /// How many firings in a row must fail, if the configuration does not say it.
    public static let standardAfter = 1
    /// How many messages are sent in an hour at most, if the configuration does not say it.
    public static let standardPerHour = 20

    /// A way to send messages, with what it needs.
    public enum Transport: Hashable, Sendable {
        /// A mail to these addresses, at least one. `from` is the sender, and `contentType` the type
        /// of the text; nil: the standard ones.
        case mail(to: [String], from: String?, contentType: String?)
        /// A POST request to this address, in this format.
        case webhook(Address, WebhookFormat)
        /// A request for each run, to a service that raises an alarm when no request comes.
        case ping(Address, PingFormat)
        /// A run of this job, which gets the facts in variables `TIMERD_NOTIFY_…`.
        case job(Job.Name)

        /// What is sent if the configuration does not set `on`. A job is late, long, stale or paused
        /// too long only if it has the key for that, so these kinds need no second key.
        public var standardKinds: Set<NotificationKind> {
            isPing
                ? [.start, .success, .failure]
                : [.failure, .recovery, .late, .long, .stale, .pausedLong]
        }

        /// Whether several messages can be sent as one.
        public var canBatch: Bool {
            switch self {
            case .mail, .webhook: true
            case .ping, .job: false
            }
        }

        /// Whether it reports each run, whatever happened before.
        public var isPing: Bool { if case .ping = self { true } else { false } }
    }

    /// The URL of requests, or where the runner finds it.
    public enum Address: Hashable, Sendable {
        /// This URL: `https://`, or `http://` of this machine.
        case url(String)
        /// The URL is in the file with this name in `$CREDENTIALS_DIRECTORY` of the runner.
        case credential(String)
    }

    /// The format of a POST request.
    public enum WebhookFormat: String, CaseIterable, Hashable, Sendable {
        /// The facts as a JSON object.
        case json
        /// A message of Slack, which Mattermost accepts too.
        case slack
        /// A message of Discord, with the text as its `content`.
        case discord
        /// A message of ntfy, with the text as the body and the rest in headers.
        case ntfy
    }

    /// The monitoring service that a ping is for, which decides about its path and parameters.
    public enum PingFormat: String, CaseIterable, Hashable, Sendable {
        case healthchecks
        case cronitor
        case kuma
    }
}

/// What a message is about, by its word in `on` of the configuration.
public enum NotificationKind: String, CaseIterable, Hashable, Sendable {
    /// A run is about to start.
    case start
    /// A run succeeded, by the exit codes that its job counts as success.
    case success
    /// Firings failed: all attempts of as many firings in a row as `after` says.
    case failure
    /// An incident with a notification is over.
    case recovery
    /// A firing has not started within `late-after` of its scheduled instant.
    case late
    /// A run has not ended within `long-after` of its start.
    case long
    /// No run succeeded within `stale-after`.
    case stale
    /// It is not known how a run ended.
    case lost
    /// A firing was skipped, but not because a user requested it.
    case skipped
    /// A job has been paused for longer than `paused-after`.
    case pausedLong = "paused-long"
    /// A run ended and had written output, and no other notification about its end was sent.
    case output
    /// A test, which a user requested.
    case test

    /// The kinds that the configuration can name.
    public static let configurable = allCases.filter { $0 != .test }
    /// The kinds that a ping can be sent for.
    public static let ofPings: [NotificationKind] = [.start, .success, .failure]
    /// The kinds that begin an incident, with one notification, which can be repeated until the
    /// incident is over.
    public static let incidents: [NotificationKind] = [
        .failure, .late, .long, .stale, .lost, .skipped, .pausedLong,
    ]
}
