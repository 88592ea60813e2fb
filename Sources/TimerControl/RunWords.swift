// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// Runs in plain words, for people.
public enum RunWords {
    /// How a run ended, as the API tells it: `exit status 1` for `exited(1)`. What no version writes stays as it is.
    public static func end(_ outcome: String) -> String {
        guard let known = RunOutcome(outcome) else { return outcome }
        return switch known {
        case .exited(let code): "exit status \(code)"
        case .signalled(let name): "killed by \(name)"
        case .timedOut: "stopped because it ran longer than its timeout"
        case .replaced: "replaced by a newer run"
        case .stopped: "stopped on request"
        case .spawnFailed(let errno, let what): "failed to start: \(error(errno)) (\(what))"
        case .lost(.reboot): "lost: the machine went down while it ran"
        case .lost(.daemon): "lost: timerd went down while it ran"
        case .lost(.runner): "lost: the runner went down while it ran"
        case .lost(.deadline): "never started: later than starting-deadline allows"
        }
    }

    /// Why a run was made, with the attempt if it is not the first.
    public static func cause(of run: RunStatus) -> String {
        let missed = run.missed ?? 0
        let others = missed > 0 ? ", for \(missed + 1) due runs" : ""
        let cause =
            switch run.cause {
            case "catch-up": "to catch up a missed run"
            case "resume": "due during the pause that ended"
            case "requested": "requested by \(run.requestedBy ?? "an unknown user")"
            default: "by its schedule"
            }
        let attempt = attempt(of: run.id)
        return cause + others + (attempt > 1 ? ", attempt \(attempt)" : "")
    }

    /// What a run waits for, as the API names it; nil for one that does not wait.
    public static func wait(_ run: RunStatus, instant: (String) -> String) -> String? {
        switch run.waits {
        case "capacity": "waits for max-concurrent"
        case "previous-run": "waits for the previous run to end"
        case "retry-delay":
            "waits for its delay" + (run.startsAt.map { ", until \(instant($0))" } ?? "")
        case let other?: "waits (\(other))"
        case nil: nil
        }
    }

    /// Which attempt a run is.
    public static func attempt(of run: String) -> Int { Run.ID(run)?.attempt ?? 1 }

    private static let signals: [String: Int32] = [
        "SIGHUP": SIGHUP, "SIGINT": SIGINT, "SIGQUIT": SIGQUIT, "SIGILL": SIGILL,
        "SIGTRAP": SIGTRAP, "SIGABRT": SIGABRT, "SIGBUS": SIGBUS, "SIGFPE": SIGFPE,
        "SIGKILL": SIGKILL, "SIGUSR1": SIGUSR1, "SIGSEGV": SIGSEGV, "SIGUSR2": SIGUSR2,
        "SIGPIPE": SIGPIPE, "SIGALRM": SIGALRM, "SIGTERM": SIGTERM, "SIGSTKFLT": SIGSTKFLT,
        "SIGXCPU": SIGXCPU, "SIGXFSZ": SIGXFSZ, "SIGVTALRM": SIGVTALRM, "SIGPROF": SIGPROF,
        "SIGPOLL": SIGPOLL, "SIGIO": SIGIO, "SIGPWR": SIGPWR, "SIGSYS": SIGSYS,
    ]

    /// The number on this machine of a signal that ends processes, by its name; nil for another.
    public static func number(ofSignal name: String) -> Int32? { signals[name] }

    /// The errors that keep a process from starting, most often.
    private static let errors: [String: Int32] = [
        "EPERM": EPERM, "ENOENT": ENOENT, "EIO": EIO, "E2BIG": E2BIG, "ENOEXEC": ENOEXEC,
        "EAGAIN": EAGAIN, "ENOMEM": ENOMEM, "EACCES": EACCES, "EBUSY": EBUSY, "ENOTDIR": ENOTDIR,
        "EISDIR": EISDIR, "EINVAL": EINVAL, "ENFILE": ENFILE, "EMFILE": EMFILE, "ETXTBSY": ETXTBSY,
        "EFBIG": EFBIG, "ENOSPC": ENOSPC, "EROFS": EROFS, "ENAMETOOLONG": ENAMETOOLONG,
        "ELOOP": ELOOP, "ETIMEDOUT": ETIMEDOUT, "EDQUOT": EDQUOT, "ESRCH": ESRCH,
    ]

    /// `no such file or directory` for `ENOENT`; the name of an error that is not known here stays.
    private static func error(_ name: String) -> String {
        guard let number = errors[name] else { return name }
        let text = String(cString: strerror(number))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
