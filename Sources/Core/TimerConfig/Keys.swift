// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON
import TimerZones

extension Draft: KeyTarget {
    /// The keys of a job. A plain one is a line here or in one of the files beside, and a property.
    static let keys =
        base + dates + windows + policies + slots + conditions + follows + notifications + execution
        + fleets
    /// How each key is read, by its name. Of 100 000 jobs nothing else of a key is copied.
    static let readers = Dictionary(uniqueKeysWithValues: keys.map { ($0.name, $0.reader) })

    static let commandNames = ["command", "shell"]
    static let scheduleNames = ["every", "after", "on-boot", "calendar", "cron", "at", "on-demand"]

    /// The keys about what a job runs and when, and what belongs nowhere else.
    private static let base: [JobKey] = [
        JobKey(
            "instances", .array(.pattern("^[A-Za-z0-9._@-]{1,63}$"), min: 1),
            "Of a table whose name ends in @: makes a job of it for each of these names, which is written %i in its values.",
            default: false
        ) { node, _ throws(Fault) in
            throw Fault(
                node.mark,
                "can only be used in a table whose name ends in @, such as [job.\"dump@\"]")
        },
        JobKey(
            \.description, "description", .text,
            "A text about the job, for people.", default: false),
        JobKey(
            \.command, "command", .arguments,
            "A program and its arguments, without a shell.", default: false),
        JobKey(
            \.shell, "shell", .commandLine, "A command line for /bin/sh -c.", default: false),
        JobKey(
            \.every, "every", .interval("for a first run at the start, use first = \"0s\""),
            "The job runs on a fixed grid of elapsed time, with this interval.", default: false),
        JobKey(
            \.after, "after", .interval("for one run at the start, use after = \"1ms\""),
            "The job runs once, after this much elapsed time.", default: false),
        JobKey(
            \.onBoot, "on-boot", .span,
            "The job runs once in each boot of the machine, this long after it.", default: false),
        JobKey(
            \.calendar, "calendar", .calendar,
            "The job runs at these calendar events, as in systemd.time(7).", default: false),
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
            \.at, "at", .instant, "The job runs once, at this instant of RFC 3339.", default: false),
        JobKey(
            \.timezone, "timezone", .text,
            "The time zone of calendar, cron and window; the default is the machine's."),
        JobKey(
            \.gap, "dst-gap", .words,
            "What happens at times that daylight saving time skips."),
        JobKey(
            \.overlap, "dst-overlap", .words,
            "What happens at times that daylight saving time repeats."),
        JobKey(
            \.first, "first", .span,
            "With every: the time before the first run, if it is not the interval."),
        JobKey(
            \.from, "from", .words,
            "With every: whether the interval is counted from run to run, or from the end of each run."
        ),
        JobKey(\.count, "count", .words, "Which time counts as elapsed time."),
        JobKey(
            \.paused, "paused", .boolean, "Whether a new job is paused until it is resumed."),
        JobKey(merging: \.environment, "environment", .environment, "Variables for its runs.")
            .summarized {
                $0.environment.isEmpty
                    ? nil : $0.environment.keys.sorted().joined(separator: ", ")
            },
        JobKey(
            \.execution.passEnvironment, "pass-environment", .variables(),
            "Names of variables that its runs inherit from the runner's environment."),
        JobKey(
            \.execution.runVariables, "run-environment",
            .variables(ValueShape.ownVariable, fault: RunVariables.fault(inOwnName:)),
            "Names of variables that `timerctl run --env` can set for one run; they begin with RUN_."
        ),
        JobKey(
            \.otherRunVariables, "run-environment-any",
            .variables(fault: RunVariables.fault(inName:)),
            "The same with any names: who may run the job can make its programs do what they do for these variables."
        ),
        JobKey(
            \.execution.runArguments, "run-arguments", .words,
            "Words that `timerctl run JOB -- WORD` can append to the command for one run.",
            default: false),
        JobKey(
            \.workingDirectory, "working-directory", .directory,
            "The directory in which it runs; the default is the home directory of its user."),
        JobKey(
            \.hasDurationHistogram, "run-duration-histogram", .boolean,
            "Whether metrics have a histogram of how long its runs take."),
        JobKey(
            \.renamedFrom, "renamed-from", .jobName,
            "The name it had before: the job keeps its saved state, its runs and its history.",
            default: false),
    ]
}

extension Key where Target == Draft {
    /// Each job has exactly one of these.
    static var commands: [String] { Draft.commandNames }
    /// Each job has exactly one of these too.
    static var schedules: [String] { Draft.scheduleNames }
    /// The names of the keys that `[defaults]` may have.
    static var defaultNames: [String] { all.filter(\.isDefault).map(\.name) }
}

extension KeyShape where Value == Job.Command {
    fileprivate static var arguments: Self {
        Self(.array(.text, min: 1)) { (node) throws(Fault) in .arguments(try node.arguments()) }
    }

    fileprivate static var commandLine: Self {
        Self(.pattern(".")) { (node) throws(Fault) in
            let line = try node.string()
            guard !line.isEmpty else { throw Fault(node.mark, "the command line is empty") }
            return .shell(line)
        }
    }
}

extension KeyShape where Value == [String] {
    fileprivate static var words: Self {
        texts(of: .pattern(".")) { (node) throws(Fault) in try node.runArguments() }
    }
}

extension KeyShape where Value == [(spec: CalendarSpec, mark: SourceMark)] {
    fileprivate static var calendar: Self {
        Self(.oneOrMore(.text)) { (node) throws(Fault) in try node.schedules(CalendarSpec.init) }
    }
}

extension KeyShape where Value == WallInstant {
    fileprivate static var instant: Self {
        Self(.pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}T")) { (node) throws(Fault) in
            try node.instant()
        }
    }
}

extension KeyShape where Value == [String: String] {
    fileprivate static var environment: Self {
        Self(.table(.text, names: ValueShape.variable)) { (node) throws(Fault) in
            try node.environment()
        }
    }
}

extension KeyShape where Value == Set<String> {
    /// - Parameters:
    ///   - pattern: what each name matches.
    ///   - fault: what else may be wrong with a name.
    fileprivate static func variables(
        _ pattern: String = ValueShape.variable,
        fault: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Self {
        texts(of: .pattern(pattern)) { (node) throws(Fault) in try node.variableNames(fault) }
    }
}

extension KeyShape where Value == String {
    fileprivate static var directory: Self {
        Self(.path, type: "PATH", write: { .string($0) }) { (node) throws(Fault) in
            let path = try node.string()
            guard path.hasPrefix("/") else {
                throw Fault(node.mark, "\"\(path)\" must be an absolute path, beginning with /")
            }
            return path
        }
    }
}
