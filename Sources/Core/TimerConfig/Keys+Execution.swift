// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension JobKey {
    /// The keys about how runs are executed.
    static let execution: [JobKey] = [
        JobKey(
            "timeout", .spanOrNone,
            "How long a run may take before it gets SIGTERM.", standard: .string("none")
        ) { node, draft throws(Fault) in
            draft.execution.timeout = try node.spanOrNone()
        },
        JobKey(
            "kill-timeout", .span,
            "How long after SIGTERM it gets SIGKILL.", standard: .string("10s")
        ) { node, draft throws(Fault) in
            draft.execution.killTimeout = try node.span()
        },
        JobKey(
            "kill-leftovers", .boolean,
            "Whether processes that a run leaves behind are ended.",
            standard: .boolean(Execution().killsLeftovers)
        ) { node, draft throws(Fault) in
            draft.execution.killsLeftovers = try node.boolean()
        },
        JobKey(
            "user", .account,
            "The user it runs as, if the runner is root."
        ) { node, draft throws(Fault) in draft.execution.user = try node.account() },
        JobKey(
            "group", .account,
            "The group it runs as, if the runner is root."
        ) { node, draft throws(Fault) in draft.execution.group = try node.account() },
        JobKey(
            "pam-service", .text,
            "The PAM service for its account and session, if the runner is root; or none.",
            standard: .string("none")
        ) { node, draft throws(Fault) in
            draft.execution.pamService = try node.pamService()
        },
        JobKey(
            "environment-file", .pattern("^-?/"),
            "A file with more variables, one NAME=value per line; with - before the path it is optional."
        ) { node, draft throws(Fault) in
            let path = try node.string()
            guard path.hasPrefix("/") || path.hasPrefix("-/") else {
                throw Fault(
                    node.mark,
                    "must be an absolute path, beginning with /, or with -/ if it need not "
                        + "be there")
            }
            draft.execution.environmentFile = path
        },
        JobKey(
            "umask", .pattern("^[0-7]{1,4}$"),
            "The file mode mask of its runs, in octal digits.", standard: .string("0022")
        ) { node, draft throws(Fault) in draft.execution.umask = try node.mode() },
        JobKey(
            "nice", .integer(-20...19),
            "The nice value of its runs.", standard: .integer(Int64(Execution().nice))
        ) { node, draft throws(Fault) in
            draft.execution.nice = try node.integer(in: -20...19)
        },
        JobKey(
            "io-class", .words(of: IOClass.self),
            "The I/O scheduling class of its runs.", standard: .string(IOClass.none.rawValue)
        ) { node, draft throws(Fault) in draft.ioClass = try node.word() },
        JobKey(
            "io-priority", .integer(0...7),
            "The level within io-class, from 0, the highest, to 7.",
            standard: .integer(Int64(Priorities.IO.levelDefault))
        ) { node, draft throws(Fault) in draft.ioPriority = try node.integer(in: 0...7) },
        JobKey(
            "cpu-policy", .words(of: CPUPolicy.self),
            "The CPU scheduling policy of its runs.", standard: .string(CPUPolicy.other.rawValue)
        ) { node, draft throws(Fault) in draft.cpuPolicy = try node.word() },
        JobKey(
            "cpu-priority", .integer(1...99),
            "With cpu-policy = \"fifo\" or \"rr\": the priority, up to 99, the highest.",
            standard: .integer(1)
        ) { node, draft throws(Fault) in draft.cpuPriority = try node.integer(in: 1...99) },
        JobKey(
            "oom-score", .integer(-1000...1000),
            "How early its runs are killed when memory runs out; the highest score first.",
            standard: .integer(0)
        ) { node, draft throws(Fault) in
            draft.execution.priorities.oomScore = try node.integer(in: -1000...1000)
        },
        JobKey(
            "stdin", .text,
            "What its runs read from their standard input.", standard: .string("")
        ) { node, draft throws(Fault) in draft.execution.stdin = try node.standardInput() },
        JobKey(
            "limits", .limits,
            "Resource limits of its runs."
        ) { node, draft throws(Fault) in
            draft.execution.limits.merge(try node.limits()) { $1 }
        },
        JobKey(
            "credentials", .table(.path, names: "^[A-Za-z0-9._@-]{1,255}$"),
            "Secrets that its runs get as files of these names in $CREDENTIALS_DIRECTORY."
        ) { node, draft throws(Fault) in
            draft.execution.credentials.merge(try node.credentials()) { $1 }
        },
        JobKey(
            "no-new-privileges", .boolean,
            "Whether programs such as sudo cannot give its runs more privileges.",
            standard: .boolean(Confinement().noNewPrivileges)
        ) { node, draft throws(Fault) in
            draft.execution.confinement.noNewPrivileges = try node.boolean()
        },
        JobKey(
            "capabilities", .array(.words(CapabilitySet.names), min: 0),
            "Exactly which capabilities its runs have, if the runner is root."
        ) { node, draft throws(Fault) in
            draft.execution.confinement.capabilities = try node.capabilities()
        },
        JobKey(
            "apparmor-profile", .text,
            "The AppArmor profile of its runs; with - before it, it is optional."
        ) { node, draft throws(Fault) in
            draft.execution.confinement.appArmorProfile = try node.appArmorProfile()
        },
        JobKey(
            "selinux-context", .text,
            "The SELinux context of its runs; with - before it, it is optional."
        ) { node, draft throws(Fault) in
            draft.execution.confinement.seLinuxContext = try node.seLinuxContext()
        },
        JobKey(
            "success-exit-codes", .oneOrMore(.integer(0...255)),
            "The exit codes that mean success.", standard: .array([.integer(0)])
        ) { node, draft throws(Fault) in
            draft.execution.successExitCodes = try node.exitCodes()
        },
        JobKey(
            "log", .words(of: Execution.LogLevel.self),
            "What is logged about its runs.", standard: .string(Execution().log.rawValue)
        ) { node, draft throws(Fault) in draft.execution.log = try node.word() },
        JobKey(
            "log-rate-limit-interval", .spanOrNone,
            "The interval of log-rate-limit-burst; none is no limit.", standard: .string("30s")
        ) { node, draft throws(Fault) in
            // Zero means no limit, as in systemd.exec(5).
            let span = try node.spanOrNone()
            if let span, span > .zero, span < .seconds(1) {
                throw Fault(
                    node.mark,
                    "is shorter than 1 s, so that the log might say more of what is dropped than it has of the rest; "
                        + "at least 1 s, or \"none\"")
            }
            draft.execution.logRateLimitInterval = span == .zero ? nil : span
        },
        JobKey(
            "log-rate-limit-burst", .integer(1...1_000_000_000),
            "How many lines all its runs together can write within the interval.",
            standard: .integer(Int64(Execution().logRateLimitBurst))
        ) { node, draft throws(Fault) in
            draft.execution.logRateLimitBurst = try node.integer(in: 1...1_000_000_000)
        },
        JobKey(
            "output-tail", .size,
            "How much of its output is kept for each run.", standard: .string("8KiB")
        ) { node, draft throws(Fault) in
            draft.execution.outputTail = Int(try node.size(upTo: 1 << 20))
        },
    ]
}
