// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// A table of settings that are not of single jobs: its name, what it is for, and its keys.
struct SettingsTable: Sendable {
    let name: String
    /// What the table is for, in a sentence.
    let help: String
    let keys: [DaemonKey]

    /// All of them. A new table is one entry.
    static let all = [
        SettingsTable(
            name: "daemon", help: "The daemon's own settings.", keys: DaemonSettings.keys),
        SettingsTable(
            name: "control", help: "Who may give commands to the daemon.",
            keys: DaemonSettings.controlKeys),
        SettingsTable(
            name: "web", help: "The status page for browsers.", keys: DaemonSettings.webKeys),
        SettingsTable(
            name: "metrics", help: "What metrics contain.", keys: DaemonSettings.metricsKeys),
        SettingsTable(
            name: "fleet", help: "The fleet of machines that share jobs, and this machine in it.",
            keys: FleetSettings.keys.map(\.ofDaemon)),
    ]
}

extension DaemonSettings: KeyTarget {
    /// The keys of `[daemon]`.
    static let keys: [DaemonKey] = [
        DaemonKey(
            \.maxConcurrent, "max-concurrent", .integer(1...concurrentMax),
            "How many runs can be active at the same time."),
        DaemonKey(
            \.history, "history", .span, "How long finished runs are kept in the history."),
        DaemonKey(
            \.historyMax, "history-max",
            .size(
                historyMaxLeast...(1 << 50),
                tooSmall:
                    "is too small for the saved state of many jobs; at least \(historyMaxLeast >> 20) MiB"
            ),
            "How large the saved state may become before the oldest finished runs are deleted."),
        DaemonKey(
            \.allowedUsers, "allowed-users",
            .accounts(min: 1) { (node) throws(Fault) in try node.allowedUsers() },
            "The users that jobs can run as, and groups with @ before them; the default is any user."
        ),
        DaemonKey(
            \.jobsMax, "jobs-max", .integer(jobsRange), "The maximum number of jobs."),
        DaemonKey(
            \.autoReload, "auto-reload", .boolean,
            "Whether changes of the files are used without a reload by hand."),
    ]

    /// The keys of `[control]`.
    fileprivate static let controlKeys: [DaemonKey] = [
        DaemonKey(
            \.operators, "operators",
            .accounts(min: 0) { (node) throws(Fault) in try node.accounts() },
            "The users, and groups with @ before them, that may change things, in addition to root and the daemon's user."
        )
    ]

    /// The keys of `[web]`.
    fileprivate static let webKeys: [DaemonKey] = [
        DaemonKey(
            \.webHosts, "hosts",
            .list(of: .pattern("^[A-Za-z0-9]")) { (node) throws(Fault) in try node.hosts() },
            "The names under which a reverse proxy serves the status page, with a port if it is not the usual one."
        )
    ]

    /// The keys of `[metrics]`.
    fileprivate static let metricsKeys: [DaemonKey] = [
        DaemonKey(
            \.metricsJobsMax, "jobs-max", .integer(0...jobsRange.upperBound),
            "How many jobs have metrics of their own; the others are in the sums only.")
    ]
}

extension KeyShape where Value == AllowedUsers {
    fileprivate static func accounts(
        min: Int, _ read: @escaping @Sendable (TomlNode) throws(Fault) -> Value
    ) -> Self {
        Self(
            .array(.pattern("^@?[A-Za-z_][A-Za-z0-9_-]{0,30}$"), min: min),
            write: { $0.users.isEmpty && $0.groups.isEmpty ? .array([]) : nil }, read: read)
    }
}
