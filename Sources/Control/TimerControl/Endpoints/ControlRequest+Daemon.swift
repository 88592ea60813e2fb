// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The endpoints for the daemon, its configuration, its notifications and its fleet.
extension ControlRequest {
    static let daemonEndpoints: [any AnyEndpoint] = [
        metrics, document.endpoint, version.endpoint, hold, release.endpoint,
        previewReload.endpoint, reload, messages, retryMessage,
        notifiers.endpoint, testNotifier, fleet.endpoint, fleetCommand,
    ]

    public static let metrics = get(
        "metrics", "/metrics",
        "Metrics for Prometheus: OpenMetrics 1.0 for a client that accepts it, else the text format 0.0.4.",
        for: .readers, query: MetricsFormat.self,
        answer: AnswerForm(
            content: .text(["text/plain", "application/openmetrics-text"]),
            sentence: "All metrics."), isLong: true)

    public static let document = get(
        "document", "/v1/openapi.json", "The OpenAPI document of this interface.", for: .readers,
        answer: AnswerForm(content: .document, sentence: "An OpenAPI document.")
    ).request

    public static let version = get(
        "version", "/v1/version",
        "Which version of timerd answers, and since when; short also with very many jobs.",
        for: .readers, answer: .json(VersionReply.self, "The version.")
    ).request

    public static let hold = post(
        "hold", "/v1/hold",
        "Hold this machine, or change the terms of its hold: no run of any job starts, also of jobs that are loaded later, and no elapsed time counts.",
        for: .operators, body: .command("PauseBody", ["for_usec", "note", "until", "with_run"]),
        answer: .json(HoldReply.self, "What was done."), errors: [.conflict])

    public static let release = post(
        "release", "/v1/release",
        "Release this machine: each job continues as after a pause, as its `on-resume` says.",
        for: .operators, answer: .json(HoldReply.self, "What was done."), errors: [.conflict]
    ).request

    public static let previewReload = get(
        "previewReload", "/v1/reload", "What reading the configuration again would change.",
        for: .readers, answer: .json(ReloadReply.self, "What would change."),
        errors: [.invalidConfiguration], isLong: true
    ).request

    public static let reload = post(
        "reload", "/v1/reload",
        "Read the configuration again. A file of `jobs.d` with errors is refused; any other error refuses all of it.",
        for: .operators, query: ReloadQuery.self,
        answer: .json(ReloadReply.self, "What changed."), errors: [.invalidConfiguration],
        isLong: true)

    // MARK: - Notifications

    public static let messages = get(
        "messages", "/v1/notifications",
        "The messages about jobs to people and services, the latest first.", for: .readers,
        query: NotificationQuery.self, answer: .json(NotificationsReply.self, "The messages."))

    public static let retryMessage = post(
        "retryMessage", "/v1/notifications/{message}/retry",
        "Send a message again that could not be sent, or not yet.", for: .operators, of: .message,
        answer: .json(MessageRetryReply.self, "What was done."), errors: [.notFound])

    public static let notifiers = get(
        "notifiers", "/v1/notifiers",
        "Who is notified about jobs, and how that works. Nothing of it is secret.", for: .readers,
        answer: .json(NotifiersReply.self, "The notifiers.")
    ).request

    public static let testNotifier = post(
        "testNotifier", "/v1/notifiers/{notifier}/test",
        "Send a test message at once, and wait for the answer of the receiver.", for: .operators,
        of: .notifier, query: NotifierTestQuery.self,
        answer: .json(NotifierTestReply.self, "What was sent, and what came back."),
        errors: [.notFound], isLong: true)

    // MARK: - The fleet

    public static let fleet = get(
        "fleet", "/v1/fleet",
        "The fleet that this machine belongs to, with the machines that are connected.",
        for: .readers, answer: .json(FleetReply.self, "The fleet."), errors: [.conflict]
    ).request

    public static let fleetCommand = post(
        "orderFleet", "/v1/fleet",
        "A command for the fleet. It is answered when it has its effect on all machines.",
        for: .operatorsAtSocket, body: .fleetCommand,
        answer: .json(FleetCommandReply.self, "It was executed."), errors: [.conflict], isLong: true
    )
}

/// The version of the daemon, and since when it runs.
public struct VersionReply: Codable, Hashable, Sendable {
    /// The version of the interface, as in its paths.
    public var apiVersion: Int
    /// The process ID of the scheduler.
    public var pid: Int32
    /// When the daemon started, RFC 3339. Another value means another daemon instance.
    public var since: String
    /// The version of timerd.
    public var version: String

    /// This version of the interface.
    public init(version: String, pid: Int32, since: String) {
        apiVersion = 1
        self.pid = pid
        self.since = since
        self.version = version
    }
}

/// How the configuration is read again.
public struct ReloadQuery: RequestQuery {
    /// Whether any error refuses the whole configuration.
    public var isStrict = false

    public init() {}

    public init(isStrict: Bool) { self.isStrict = isStrict }

    public static let parameters: [QueryParameter<ReloadQuery>] = [
        .flag("strict", \.isStrict, "Whether an error in any file refuses all of it.")
    ]
}

/// How a notifier is tested.
public struct NotifierTestQuery: RequestQuery {
    /// Whether the message is only shown, and nothing is sent.
    public var isDryRun = false

    public init() {}

    public init(isDryRun: Bool) { self.isDryRun = isDryRun }

    public static let parameters: [QueryParameter<NotifierTestQuery>] = [
        .flag("dry_run", \.isDryRun, "Whether the message is only shown, and nothing is sent.")
    ]
}
