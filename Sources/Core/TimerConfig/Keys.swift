// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON
import TimerZones

/// One key of a job's table: its name, its help for editors, whether `[defaults]` may have it, and
/// the function that reads it.
///
/// A new key needs one entry in `all`, and a field in `Draft`.
struct JobKey: Sendable {
    let name: String
    let shape: ValueShape
    /// What the key means, in a sentence for the schema and the documentation.
    let help: String
    /// Its default value; nil if there is none, or none that can be written in the file.
    let standard: JSONValue?
    let isDefault: Bool
    let read: @Sendable (TomlNode, inout Draft) throws(Fault) -> Void

    init(
        _ name: String, _ shape: ValueShape, _ help: String, standard: JSONValue? = nil,
        default isDefault: Bool = true,
        _ read: @escaping @Sendable (TomlNode, inout Draft) throws(Fault) -> Void
    ) {
        self.name = name
        self.shape = shape
        self.help = help
        self.standard = standard
        self.isDefault = isDefault
        self.read = read
    }

    static let named = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    /// Each job has exactly one of these.
    static let commands = ["command", "shell"]
    /// Each job has exactly one of these too.
    static let schedules = ["every", "after", "on-boot", "calendar", "cron", "at"]
    /// The names of the keys that `[defaults]` may have.
    static let defaultNames = all.filter(\.isDefault).map(\.name)

    static let all: [JobKey] =
        [
            JobKey(
                "description", .text,
                "A text about the job, for people.", default: false
            ) { node, draft throws(Fault) in
                draft.description = try node.string()
            },
            JobKey(
                "command", .array(.text, min: 1),
                "A program and its arguments, without a shell.", default: false
            ) { node, draft throws(Fault) in
                draft.command = .arguments(try node.arguments())
            },
            JobKey(
                "shell", .pattern("."),
                "A command line for /bin/sh -c.", default: false
            ) { node, draft throws(Fault) in
                let line = try node.string()
                guard !line.isEmpty else { throw Fault(node.mark, "the command line is empty") }
                draft.shell = .shell(line)
            },
            JobKey(
                "every", .span,
                "The job runs on a fixed grid of elapsed time, with this interval.", default: false
            ) { node, draft throws(Fault) in
                draft.every = try node.interval(
                    "for a first run at the start, use first = \"0s\"")
            },
            JobKey(
                "after", .span,
                "The job runs once, after this much elapsed time.", default: false
            ) { node, draft throws(Fault) in
                draft.after = try node.interval(
                    "for one run at the start, use after = \"1ms\"")
            },
            JobKey(
                "on-boot", .span,
                "The job runs once in each boot of the machine, this long after it.", default: false
            ) { node, draft throws(Fault) in
                draft.onBoot = try node.span()
            },
            JobKey(
                "calendar", .oneOrMore(.text),
                "The job runs at these calendar events, as in systemd.time(7).", default: false
            ) { node, draft throws(Fault) in
                draft.calendar = try node.schedules(CalendarSpec.init)
            },
            JobKey(
                "cron", .oneOrMore(.text),
                "The job runs at the times of these crontab lines, without their commands.",
                default: false
            ) { node, draft throws(Fault) in
                let drawing = draft.drawing
                draft.cron = try node.schedules { (text) throws(ScheduleError) in
                    try CronSpec.read(text, drawing: drawing)
                }
            },
            JobKey(
                "at", .pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}T"),
                "The job runs once, at this instant of RFC 3339.", default: false
            ) { node, draft throws(Fault) in
                draft.at = (try node.instant(), node.mark)
            },
            JobKey(
                "timezone", .text,
                "The time zone of calendar and cron; the default is the machine's."
            ) { node, draft throws(Fault) in
                draft.timezone = (try node.string(), node.mark)
            },
            JobKey(
                "dst-gap", .words(of: DSTRule.Gap.self),
                "What happens at times that daylight saving time skips."
            ) { node, draft throws(Fault) in
                draft.gap = try node.choice(of: DSTRule.Gap.allCases.map { ($0.rawValue, $0) })
            },
            JobKey(
                "dst-overlap", .words(of: DSTRule.Overlap.self),
                "What happens at times that daylight saving time repeats."
            ) { node, draft throws(Fault) in
                draft.overlap = try node.choice(
                    of: DSTRule.Overlap.allCases.map { ($0.rawValue, $0) })
            },
            JobKey(
                "first", .span,
                "With every: the time before the first run, if it is not the interval."
            ) { node, draft throws(Fault) in draft.first = try node.span() },
            JobKey(
                "from", .words(of: IntervalStart.self),
                "With every: whether the interval is counted from run to run, or from the end of each run.",
                standard: .string(Draft().from.rawValue)
            ) { node, draft throws(Fault) in draft.from = try node.word() },
            JobKey(
                "count", .words(of: TimeBasis.self),
                "Which time counts as elapsed time.", standard: .string(Draft().count.rawValue)
            ) { node, draft throws(Fault) in
                draft.count = try node.choice(of: TimeBasis.allCases.map { ($0.rawValue, $0) })
            },
            JobKey(
                "paused", .boolean,
                "Whether a new job is paused until it is resumed.",
                standard: .boolean(Draft().paused)
            ) { node, draft throws(Fault) in draft.paused = try node.boolean() },
            JobKey(
                "environment", .table(.text, names: ValueShape.variable),
                "Variables for its runs."
            ) { node, draft throws(Fault) in
                draft.environment.merge(try node.environment()) { $1 }
            },
            JobKey(
                "pass-environment", .array(.pattern(ValueShape.variable), min: 0),
                "Names of variables that its runs inherit from the runner's environment."
            ) { node, draft throws(Fault) in
                draft.execution.passEnvironment = try node.variableNames()
            },
            JobKey(
                "run-environment", .array(.pattern(ValueShape.ownVariable), min: 0),
                "Names of variables that `timerctl run --env` can set for one run; they begin with RUN_."
            ) { node, draft throws(Fault) in
                draft.execution.runVariables = try node.variableNames {
                    RunVariables.fault(inOwnName: $0)
                }
            },
            JobKey(
                "run-environment-any", .array(.pattern(ValueShape.variable), min: 0),
                "The same with any names: who may run the job can make its programs do what they do for these variables."
            ) { node, draft throws(Fault) in
                draft.otherRunVariables = try node.variableNames {
                    RunVariables.fault(inName: $0)
                }
            },
            JobKey(
                "working-directory", .path,
                "The directory in which it runs; the default is the home directory of its user."
            ) { node, draft throws(Fault) in
                let path = try node.string()
                guard path.hasPrefix("/") else {
                    throw Fault(node.mark, "\"\(path)\" must be an absolute path, beginning with /")
                }
                draft.workingDirectory = path
            },
            JobKey(
                "run-duration-histogram", .boolean,
                "Whether metrics have a histogram of how long its runs take.",
                standard: .boolean(Draft().hasDurationHistogram)
            ) { node, draft throws(Fault) in draft.hasDurationHistogram = try node.boolean() },
            JobKey(
                "renamed-from", .text,
                "The name it had before: the job keeps its saved state, its runs and its history.",
                default: false
            ) { node, draft throws(Fault) in
                draft.renamedFrom = (try node.jobName(), node.mark)
            },
        ] + policies + notifications + execution + fleets
}

/// A table of settings that are not of single jobs: its name, what it is for, and its keys.
struct SettingsTable: Sendable {
    let name: String
    /// What the table is for, in a sentence.
    let help: String
    let keys: [DaemonKey]

    /// All of them. A new table is one entry.
    static let all = [
        SettingsTable(name: "daemon", help: "The daemon's own settings.", keys: DaemonKey.all),
        SettingsTable(
            name: "control", help: "Who may give commands to the daemon.", keys: DaemonKey.control),
        SettingsTable(
            name: "web", help: "The status page for browsers.", keys: DaemonKey.web),
        SettingsTable(
            name: "metrics", help: "What metrics contain.", keys: DaemonKey.metrics),
        SettingsTable(
            name: "fleet", help: "The fleet of machines that share jobs, and this machine in it.",
            keys: DaemonKey.fleet),
    ]
}

/// One key of the table `[daemon]`, or of another table of settings.
struct DaemonKey: Sendable {
    let name: String
    let shape: ValueShape
    let help: String
    let standard: JSONValue?
    let read: @Sendable (TomlNode, inout DaemonSettings) throws(Fault) -> Void

    init(
        _ name: String, _ shape: ValueShape, _ help: String, standard: JSONValue? = nil,
        _ read: @escaping @Sendable (TomlNode, inout DaemonSettings) throws(Fault) -> Void
    ) {
        self.name = name
        self.shape = shape
        self.help = help
        self.standard = standard
        self.read = read
    }

    static let all: [DaemonKey] = [
        DaemonKey(
            "max-concurrent", .integer(1...DaemonSettings.concurrentMax),
            "How many runs can be active at the same time.",
            standard: .integer(Int64(DaemonSettings().maxConcurrent))
        ) { node, settings throws(Fault) in
            settings.maxConcurrent = try node.integer(in: 1...DaemonSettings.concurrentMax)
        },
        DaemonKey(
            "history", .span,
            "How long finished runs are kept in the history.", standard: .string("30d")
        ) { node, settings throws(Fault) in
            settings.history = try node.span()
        },
        DaemonKey(
            "history-max", .size,
            "How large the saved state may become before the oldest finished runs are deleted.",
            standard: .string("1GiB")
        ) { node, settings throws(Fault) in
            let size = try node.size(upTo: 1 << 50)
            guard size >= DaemonSettings.historyMaxLeast else {
                throw Fault(
                    node.mark,
                    "is too small for the saved state of many jobs; at least \(DaemonSettings.historyMaxLeast >> 20) MiB"
                )
            }
            settings.historyMax = Int64(size)
        },
        DaemonKey(
            "allowed-users", .array(.pattern("^@?[A-Za-z_][A-Za-z0-9_-]{0,30}$"), min: 1),
            "The users that jobs can run as, and groups with @ before them; the default is any user."
        ) { node, settings throws(Fault) in
            settings.allowedUsers = try node.allowedUsers()
        },
        DaemonKey(
            "jobs-max", .integer(DaemonSettings.jobsRange),
            "The maximum number of jobs.", standard: .integer(Int64(DaemonSettings().jobsMax))
        ) { node, settings throws(Fault) in
            settings.jobsMax = try node.integer(in: DaemonSettings.jobsRange)
        },
        DaemonKey(
            "auto-reload", .boolean,
            "Whether changes of the files are used without a reload by hand.",
            standard: .boolean(DaemonSettings().autoReload)
        ) { node, settings throws(Fault) in
            settings.autoReload = try node.boolean()
        },
    ]

    /// The keys of `[control]`.
    static let control: [DaemonKey] = [
        DaemonKey(
            "operators", .array(.pattern("^@?[A-Za-z_][A-Za-z0-9_-]{0,30}$"), min: 0),
            "The users, and groups with @ before them, that may change things, in addition to root and the daemon's user."
        ) { node, settings throws(Fault) in
            settings.operators = try node.accounts()
        }
    ]

    /// The keys of `[web]`.
    static let web: [DaemonKey] = [
        DaemonKey(
            "hosts", .array(.pattern("^[A-Za-z0-9]"), min: 0),
            "The names under which a reverse proxy serves the status page, with a port if it is not the usual one."
        ) { node, settings throws(Fault) in
            settings.webHosts = try node.hosts()
        }
    ]

    /// The keys of `[metrics]`.
    static let metrics: [DaemonKey] = [
        DaemonKey(
            "jobs-max", .integer(0...DaemonSettings.jobsRange.upperBound),
            "How many jobs have metrics of their own; the others are in the sums only.",
            standard: .integer(Int64(DaemonSettings().metricsJobsMax))
        ) { node, settings throws(Fault) in
            settings.metricsJobsMax = try node.integer(in: 0...DaemonSettings.jobsRange.upperBound)
        }
    ]
}
