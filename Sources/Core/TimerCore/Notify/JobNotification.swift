// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Something that a notifier must report. The agenda decides on it, and the store keeps it in
/// the outbox, in the transaction that records what happened.
public struct JobNotification: Hashable, Sendable {
    /// The notifier that sends it. Each notifier gets a notification of its own.
    public var notifier: Notifier.Name
    /// What happened; it determines which of the other properties have values.
    public var kind: NotificationKind
    /// The job that it is about; nil only for a test.
    public var job: Job.Name?
    /// The run that it is about; nil if it is not about a run.
    public var run: Run.ID?
    /// When it happened, by the wall clock.
    public var at: WallInstant
    /// How the run ended; nil if it has not ended or there is none.
    public var outcome: RunOutcome?
    /// How many firings of the job failed in a row. For a recovery: how many had failed.
    public var failedInARow: Int
    /// When the incident began; nil if it is not about an incident. For the kinds that are about
    /// time: when the run was due or started, when the job was paused, or its last success.
    public var since: WallInstant?
    /// Whether there was a notification about the same incident before.
    public var isRepeat: Bool
    /// Whether the run failed and is tried again. Only pings report such a run.
    public var willRetry: Bool
    /// What the run used; nil if it has not ended or there is none.
    public var usage: RunUsage?
    /// Why a firing was skipped, as the word in the journal and JSON (`still-running`).
    public var skipReason: String?
    /// For a recovery: the kinds of the incidents that are over, at least one.
    public var recoveredFrom: [NotificationKind]

    /// By default it is about no run and no incident.
    public init(
        notifier: Notifier.Name, kind: NotificationKind, job: Job.Name?, run: Run.ID? = nil,
        at: WallInstant, outcome: RunOutcome? = nil, failedInARow: Int = 0,
        since: WallInstant? = nil, isRepeat: Bool = false, willRetry: Bool = false,
        usage: RunUsage? = nil, skipReason: String? = nil, recoveredFrom: [NotificationKind] = []
    ) {
        self.notifier = notifier
        self.kind = kind
        self.job = job
        self.run = run
        self.at = at
        self.outcome = outcome
        self.failedInARow = failedInARow
        self.since = since
        self.isRepeat = isRepeat
        self.willRetry = willRetry
        self.usage = usage
        self.skipReason = skipReason
        self.recoveredFrom = recoveredFrom
    }
}

/// The state of one incident of a job for one notifier. While there is none, all is well.
public struct IncidentRecord: Hashable, Sendable {
    /// Identifies an incident: a job has at most one of each kind for each notifier.
    public struct ID: Hashable, Sendable {
        /// The current name of the job.
        public var job: Job.Name
        /// The notifier that reports it. Others have incidents of their own.
        public var notifier: Notifier.Name
        /// One of `NotificationKind.incidents`.
        public var kind: NotificationKind

        public init(job: Job.Name, notifier: Notifier.Name, kind: NotificationKind) {
            self.job = job
            self.notifier = notifier
            self.kind = kind
        }
    }

    public var id: ID
    /// When it began, by the wall clock.
    public var since: WallInstant
    /// How often it happened in a row: failed firings, lost runs or skipped firings. 0 for the kinds
    /// that are about time. Not negative.
    public var count: Int
    /// When the last notification about it was decided on; nil while fewer firings failed than `after`
    /// says.
    public var notified: WallInstant?

    /// By default an incident without a notification yet.
    public init(id: ID, since: WallInstant, count: Int, notified: WallInstant? = nil) {
        self.id = id
        self.since = since
        self.count = count
        self.notified = notified
    }

    /// The same incident of a job that has another name now.
    func renamed(_ job: Job.Name) -> IncidentRecord {
        var renamed = self
        renamed.id.job = job
        return renamed
    }
}

/// A change of an incident, for the store.
public enum IncidentChange: Hashable, Sendable {
    /// It began, or changed.
    case set(IncidentRecord)
    /// It is over.
    case remove(IncidentRecord.ID)

    public var id: IncidentRecord.ID {
        switch self {
        case .set(let record): record.id
        case .remove(let id): id
        }
    }
}

extension RunVariables {
    /// The names of the variables that a run of a notifier's job gets. The configuration reader
    /// allows them for the jobs that notifiers run.
    public static let ofNotifications: Set<String> = [
        "TIMERD_NOTIFY_NOTIFIER", "TIMERD_NOTIFY_MESSAGE", "TIMERD_NOTIFY_KIND",
        "TIMERD_NOTIFY_AT", "TIMERD_NOTIFY_JOB", "TIMERD_NOTIFY_RUN", "TIMERD_NOTIFY_OUTCOME",
        "TIMERD_NOTIFY_FAILED_IN_A_ROW", "TIMERD_NOTIFY_SINCE", "TIMERD_NOTIFY_REPEAT",
        "TIMERD_NOTIFY_SKIP_REASON", "TIMERD_NOTIFY_RECOVERED_FROM",
    ]

    /// The variables of the job that a notifier runs for a notification. What is not known is not set.
    ///
    /// - Parameter message: its number; nil for a test.
    public init(_ notification: JobNotification, message: Int64?) {
        var values = [
            "TIMERD_NOTIFY_NOTIFIER": notification.notifier.description,
            "TIMERD_NOTIFY_KIND": notification.kind.rawValue,
            "TIMERD_NOTIFY_AT": notification.at.rfc3339Micros,
        ]
        values["TIMERD_NOTIFY_MESSAGE"] = message.map { "\($0)" }
        values["TIMERD_NOTIFY_JOB"] = notification.job?.description
        values["TIMERD_NOTIFY_RUN"] = notification.run?.description
        values["TIMERD_NOTIFY_OUTCOME"] = notification.outcome?.description
        values["TIMERD_NOTIFY_SINCE"] = notification.since?.rfc3339Micros
        values["TIMERD_NOTIFY_SKIP_REASON"] = notification.skipReason
        if notification.failedInARow > 0 {
            values["TIMERD_NOTIFY_FAILED_IN_A_ROW"] = "\(notification.failedInARow)"
        }
        if notification.isRepeat { values["TIMERD_NOTIFY_REPEAT"] = "1" }
        if !notification.recoveredFrom.isEmpty {
            values["TIMERD_NOTIFY_RECOVERED_FROM"] =
                notification.recoveredFrom.map(\.rawValue).joined(separator: " ")
        }
        self.init(values)
    }
}
