// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
