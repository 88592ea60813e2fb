// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension Draft {
    /// The keys about how runs are executed.
    static let execution: [JobKey] = [
        JobKey(
            \.execution.timeout, "timeout", .spanOrNone,
            "How long a run may take before it gets SIGTERM."),
        JobKey(
            \.execution.killTimeout, "kill-timeout", .span,
            "How long after SIGTERM it gets SIGKILL."),
        JobKey(
            \.execution.killsLeftovers, "kill-leftovers", .boolean,
            "Whether processes that a run leaves behind are ended."),
        JobKey(
            \.execution.user, "user", .account, "The user it runs as, if the runner is root."),
        JobKey(
            \.execution.group, "group", .account, "The group it runs as, if the runner is root."),
        JobKey(
            \.execution.pamService, "pam-service", .pamService,
            "The PAM service for its account and session, if the runner is root; or none."),
        JobKey(
            \.execution.environmentFile, "environment-file", .environmentFile,
            "A file with more variables, one NAME=value per line; with - before the path it is optional."
        ),
        JobKey(
            \.execution.umask, "umask", .mode,
            "The file mode mask of its runs, in octal digits."),
        JobKey(\.execution.nice, "nice", .integer(-20...19), "The nice value of its runs."),
        JobKey(
            \.execution.timerSlack, "timer-slack-ns", .integer(1...1_000_000_000),
            "By how many nanoseconds the kernel may delay each wait of its processes, to share a wake-up."
        ),
        JobKey(
            \.ioClass, "io-class", .words, "The I/O scheduling class of its runs.",
            none: IOClass.none),
        JobKey(
            \.ioPriority, "io-priority", .integer(0...7),
            "The level within io-class, from 0, the highest, to 7.",
            none: Priorities.IO.levelDefault),
        JobKey(
            \.cpuPolicy, "cpu-policy", .words, "The CPU scheduling policy of its runs."),
        JobKey(
            \.cpuPriority, "cpu-priority", .integer(1...99),
            "With cpu-policy = \"fifo\" or \"rr\": the priority, up to 99, the highest."),
        JobKey(
            \.execution.priorities.oomScore, "oom-score", .integer(-1000...1000),
            "How early its runs are killed when memory runs out; the highest score first.",
            none: 0),
        JobKey(
            \.execution.stdin, "stdin", .standardInput,
            "What its runs read from their standard input."
        )
        .summarized { $0.execution.stdin.map { plural($0.utf8.count, "byte") } },
        JobKey(merging: \.execution.limits, "limits", .limits, "Resource limits of its runs."),
        JobKey(
            merging: \.execution.credentials, "credentials", .credentials,
            "Secrets that its runs get as files of these names in $CREDENTIALS_DIRECTORY."),
        JobKey(
            \.execution.confinement.noNewPrivileges, "no-new-privileges", .boolean,
            "Whether programs such as sudo cannot give its runs more privileges."),
        JobKey(
            \.execution.confinement.capabilities, "capabilities", .capabilities,
            "Exactly which capabilities its runs have, if the runner is root."),
        JobKey(
            \.execution.confinement.appArmorProfile, "apparmor-profile",
            .label { (node) throws(Fault) in try node.appArmorProfile() },
            "The AppArmor profile of its runs; with - before it, it is optional."),
        JobKey(
            \.execution.confinement.seLinuxContext, "selinux-context",
            .label { (node) throws(Fault) in try node.seLinuxContext() },
            "The SELinux context of its runs; with - before it, it is optional."),
        JobKey(
            \.execution.success.exitCodes, "success-exit-codes", .exitCodes,
            "The exit codes that mean success."),
        JobKey(
            \.execution.success.signals, "success-signals", .signals,
            "The signals that mean success, if one of them ends a run."),
        JobKey(
            "skip-exit-codes", ValueShape.oneOrMore(.integer(0...255), min: 0),
            "The exit codes that mean that a run had nothing to do.",
            value: { KeyShape.exitCodes.write($0.skipExitCodes?.value ?? []) }
        ) { node, draft throws(Fault) in
            draft.skipExitCodes = Marked(try node.exitCodes(min: 0), node.mark)
        },
        JobKey(\.execution.log, "log", .words, "What is logged about its runs."),
        JobKey(
            \.execution.logRateLimitInterval, "log-rate-limit-interval",
            // Zero means no limit, as in systemd.exec(5).
            .spanOrNone.atLeast(
                .seconds(1),
                "so that the log might say more of what is dropped than it has of the rest",
                zeroIsNone: true),
            "The interval of log-rate-limit-burst; none is no limit."),
        JobKey(
            \.execution.logRateLimitBurst, "log-rate-limit-burst", .integer(1...1_000_000_000),
            "How many lines all its runs together can write within the interval."),
        JobKey(
            \.execution.outputTail, "output-tail", .size(0...(1 << 20)),
            "How much of its output is kept for each run."),
    ]
}

extension KeyShape where Value == String? {
    fileprivate static var pamService: Self {
        Self(.text, type: "NAME", write: { .string($0 ?? "none") }) { (node) throws(Fault) in
            try node.pamService()
        }
    }

    fileprivate static var standardInput: Self {
        Self(.text, write: { .string($0 ?? "") }) { (node) throws(Fault) in
            try node.standardInput()
        }
    }
}

extension KeyShape where Value == String {
    fileprivate static var environmentFile: Self {
        Self(.pattern("^-?/"), type: "PATH", write: { .string($0) }) { (node) throws(Fault) in
            let path = try node.string()
            guard path.hasPrefix("/") || path.hasPrefix("-/") else {
                throw Fault(
                    node.mark,
                    "must be an absolute path, beginning with /, or with -/ if it need not "
                        + "be there")
            }
            return path
        }
    }

    fileprivate static func label(
        _ read: @escaping @Sendable (TomlNode) throws(Fault) -> String
    ) -> Self { Self(.text, write: { .string($0) }, read: read) }
}

extension KeyShape where Value == UInt32 {
    fileprivate static var mode: Self {
        Self(
            .pattern("^[0-7]{1,4}$"), limits: "octal digits, at most 0777",
            write: { mode in
                let digits = String(mode, radix: 8)
                return .string(String(repeating: "0", count: 4 - digits.utf8.count) + digits)
            }
        ) { (node) throws(Fault) in try node.mode() }
    }
}

extension KeyShape where Value == [Execution.Limit: UInt64?] {
    fileprivate static var limits: Self {
        Self(
            .limits,
            write: { limits in
                .object(
                    sorted: [String: JSONValue](
                        uniqueKeysWithValues: limits.map { limit, value in
                            (
                                limit.rawValue,
                                value.map { .integer(Int64(clamping: $0)) } ?? .string("infinity")
                            )
                        }))
            }
        ) { (node) throws(Fault) in try node.limits() }
    }
}

extension KeyShape where Value == [String: String] {
    fileprivate static var credentials: Self {
        Self(
            .table(.path, names: "^[A-Za-z0-9._@-]{1,255}$"),
            write: { .object(sorted: $0.mapValues { .string($0) }) }
        ) { (node) throws(Fault) in
            try node.credentials()
        }
    }
}

extension KeyShape where Value == CapabilitySet {
    fileprivate static var capabilities: Self {
        Self(
            .array(.words(CapabilitySet.names), min: 0), type: "[STRING, ...]",
            write: { .array($0.members.map { .string($0) }) }
        ) { (node) throws(Fault) in
            try node.capabilities()
        }
    }
}

extension KeyShape where Value == Set<Int32> {
    fileprivate static var exitCodes: Self {
        Self(
            .oneOrMore(.integer(0...255)),
            write: { .array($0.sorted().map { .integer(Int64($0)) }) }
        ) { (node) throws(Fault) in try node.exitCodes(min: 1) }
    }
}

extension KeyShape where Value == Set<String> {
    fileprivate static var signals: Self {
        let names = SuccessExitStatus.signals + ["SIGIO"]
        let name = ValueShape.words(names + names.map { String($0.dropFirst(3)) })
        return Self(
            .oneOrMore(name, min: 0), limits: "signals that end a process",
            write: { .array($0.sorted().map { .string($0) }) }
        ) { (node) throws(Fault) in try node.signals() }
    }
}
