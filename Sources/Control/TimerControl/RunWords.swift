// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// Runs in plain words, for the commands and the notifications alike.
public enum RunWords {
    /// The end of a run in words, from the word of the API: `exit status 1` for `exited(1)`. An
    /// unknown text is not changed.
    public static func end(_ outcome: String) -> String {
        guard let known = RunOutcome(outcome) else { return outcome }
        return switch known {
        case .exited(let code): "exit status \(code)"
        case .signalled(let name): "killed by \(name)"
        case .timedOut: "stopped because it ran longer than its timeout"
        case .replaced: "replaced by a newer run"
        case .stopped: "stopped on request"
        case .windowEnded: "stopped because its window closed"
        case .spawnFailed(let errno, let what) where what.hasPrefix(conditionPart):
            "its condition was not checked: \(what.dropFirst(conditionPart.count)) (\(error(errno)))"
        case .spawnFailed(let errno, let what): "failed to start: \(failure(errno, what))"
        case .lost(.reboot): "lost: the machine went down while it ran"
        case .lost(.daemon): "lost: timerd went down while it ran"
        case .lost(.runner): "lost: the runner went down while it ran"
        case .lost(.deadline): "never started: later than starting-deadline allows"
        case .lost(.unstarted): "never started: too late after the claim for the fleet"
        case .lost(.machine): "lost: its machine disappeared from the fleet"
        case .skipped(.exit(let code)): "skipped: exit status \(code)"
        case .skipped(.condition(let what)): "skipped: condition not met: \(what)"
        }
    }

    /// What begins the reason if a condition could not be checked.
    private static let conditionPart = "condition: "

    /// Why a process was not started. The error of a look-up speaks of a file, and means a name.
    private static func failure(_ errno: String, _ what: String) -> String {
        for kind in ["user", "group"] {
            let step = "look up the \(kind) "
            guard errno == "ENOENT", what.hasPrefix(step) else { continue }
            return "there is no \(kind) \(what.dropFirst(step.count)) on this machine"
        }
        return "\(error(errno)) (\(what))"
    }

    /// Why a run was made, with the attempt if it is not the first.
    public static func cause(of run: RunStatus) -> String {
        let missed = run.missed ?? 0
        let others = missed > 0 ? ", for \(missed + 1) due runs" : ""
        let cause =
            switch run.cause {
            case "catch-up": "to catch up a missed run"
            case "resume": "due during the pause that ended"
            case "chain": "after \(run.causeRun ?? "?") (\(run.causeResult ?? "?"))"
            case "requested":
                "requested by \(run.requestedBy ?? "an unknown user")"
                    + (run.arguments.map { ", with \(RunArguments.shown($0))" } ?? "")
                    + (run.alone == true ? ", alone" : "")
                    + (run.forced == true ? ", whatever its condition says" : "")
            default: "by its schedule"
            }
        let attempt = attempt(of: run.id)
        return cause + others + (attempt > 1 ? ", attempt \(attempt)" : "")
    }

    /// The reason why a run waits, from the word of the API; nil for a run that does not wait.
    public static func wait(_ run: RunStatus, instant: (String) -> String) -> String? {
        switch run.waits {
        case "capacity": "waits for max-concurrent"
        case "slot": "waits for the slot \(Printable.text(run.slot ?? "?"))"
        case "previous-run": "waits for the previous run to end"
        case "window":
            "waits for its window" + (run.startsAt.map { ", until \(instant($0))" } ?? "")
        case "check": "waits for the check of its condition"
        case "condition": "waits for its condition" + condition(run, instant)
        case "retry-delay", "catch-up-delay":
            "waits for its delay" + (run.startsAt.map { ", until \(instant($0))" } ?? "")
        case let other?: "waits (\(other))"
        case nil: nil
        }
    }

    private static func condition(_ run: RunStatus, _ instant: (String) -> String) -> String {
        (run.unmet.map { ": \(Printable.text($0))" } ?? "")
            + (run.waitsUntil.map { ", until \(instant($0))" } ?? "")
    }

    /// The number of the attempt in the identity of a run; 1 for a text that is not one.
    public static func attempt(of run: String) -> Int { Run.ID(run)?.attempt ?? 1 }

    private static let signals: [String: Int32] = [
        "SIGHUP": SIGHUP, "SIGINT": SIGINT, "SIGQUIT": SIGQUIT, "SIGILL": SIGILL,
        "SIGTRAP": SIGTRAP, "SIGABRT": SIGABRT, "SIGBUS": SIGBUS, "SIGFPE": SIGFPE,
        "SIGKILL": SIGKILL, "SIGUSR1": SIGUSR1, "SIGSEGV": SIGSEGV, "SIGUSR2": SIGUSR2,
        "SIGPIPE": SIGPIPE, "SIGALRM": SIGALRM, "SIGTERM": SIGTERM, "SIGSTKFLT": SIGSTKFLT,
        "SIGXCPU": SIGXCPU, "SIGXFSZ": SIGXFSZ, "SIGVTALRM": SIGVTALRM, "SIGPROF": SIGPROF,
        "SIGPOLL": SIGPOLL, "SIGIO": SIGIO, "SIGPWR": SIGPWR, "SIGSYS": SIGSYS,
    ]

    /// The number of a signal on this machine, if it ends processes by default; nil for another
    /// name.
    public static func number(ofSignal name: String) -> Int32? { signals[name] }

    /// The most frequent errors when a process is started.
    private static let errors: [String: Int32] = [
        "EPERM": EPERM, "ENOENT": ENOENT, "EIO": EIO, "E2BIG": E2BIG, "ENOEXEC": ENOEXEC,
        "EAGAIN": EAGAIN, "ENOMEM": ENOMEM, "EACCES": EACCES, "EBUSY": EBUSY, "ENOTDIR": ENOTDIR,
        "EISDIR": EISDIR, "EINVAL": EINVAL, "ENFILE": ENFILE, "EMFILE": EMFILE, "ETXTBSY": ETXTBSY,
        "EFBIG": EFBIG, "ENOSPC": ENOSPC, "EROFS": EROFS, "ENAMETOOLONG": ENAMETOOLONG,
        "ELOOP": ELOOP, "ETIMEDOUT": ETIMEDOUT, "EDQUOT": EDQUOT, "ESRCH": ESRCH,
    ]

    /// Such as `no such file or directory` for `ENOENT`. The name of an unknown error is not
    /// changed.
    private static func error(_ name: String) -> String {
        guard let number = errors[name] else { return name }
        let text = String(cString: strerror(number))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
