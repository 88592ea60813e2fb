// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How a run ended, for people: the same words in lists, the history, the log, the journal, messages and
/// on the page. Programs read `description`, which does not change.
extension RunOutcome {
    /// Such as `exit 1`, `timed out after 2 h` and `could not start: no such program /bin/x`.
    ///
    /// - Parameters:
    ///   - failed: whether the run failed, as it was judged when it ended.
    ///   - elapsed: how long its process ran; nil if it had none, or if that is not known.
    public func words(failed: Bool, after elapsed: Duration? = nil) -> String {
        switch self {
        case .exited(let code) where failed: return "exit \(code)"
        case .exited(0): return "succeeded"
        case .exited(let code): return "succeeded (exit \(code))"
        case .signalled(let name): return failed ? "killed by \(name)" : "succeeded (\(name))"
        case .timedOut:
            guard let elapsed else { return "timed out" }
            // How much longer it took to end is of no interest.
            let span = elapsed < .seconds(1) ? elapsed : .seconds(elapsed.components.seconds)
            return "timed out after \(TimeSpan.roundedText(span))"
        case .replaced: return "replaced by a newer run"
        case .stopped: return "stopped on request"
        case .windowEnded: return "stopped because its window closed"
        case .spawnFailed(let errno, let what): return Self.startFailure(errno, what)
        case .lost(.reboot): return "lost: the machine went down while it ran"
        case .lost(.daemon): return "lost: timerd went down while it ran"
        case .lost(.runner): return "lost: the runner went down while it ran"
        case .lost(.deadline): return "never started: later than starting-deadline allows"
        case .lost(.unstarted): return "never started: too late after the claim for the fleet"
        case .lost(.machine): return "lost: its machine disappeared from the fleet"
        case .skipped(.exit(let code)): return "skipped: exit \(code)"
        case .skipped(.condition(let what)): return "skipped: condition not met: \(what)"
        }
    }

    /// Whether a process ended so, which took a time.
    public var hasProcess: Bool {
        switch self {
        case .exited, .signalled, .timedOut, .replaced, .stopped, .windowEnded, .skipped(.exit):
            true
        case .spawnFailed, .lost, .skipped(.condition): false
        }
    }

    /// How a sentence about the run continues with its words.
    public enum Sentence: Hashable, Sendable {
        /// It ended, and the words say how: `exit 1`, `timed out`.
        case ended
        /// Another program or a rule did something to it: it is, or was, `skipped: …`, `lost: …`.
        case passive
        /// The words have a verb: `never started: …`, `could not start: …`.
        case complete
    }

    public var sentence: Sentence {
        switch self {
        case .exited, .signalled, .timedOut: .ended
        case .spawnFailed, .lost(.deadline), .lost(.unstarted): .complete
        case .replaced, .stopped, .windowEnded, .lost, .skipped: .passive
        }
    }

    /// - Parameters:
    ///   - errno: the name of the error.
    ///   - what: the step that failed, with its object.
    private static func startFailure(_ errno: String, _ what: String) -> String {
        func object(of step: String) -> Substring? {
            what.hasPrefix(step + " ") ? what.dropFirst(step.count + 1) : nil
        }
        if let condition = object(of: "condition:") {
            return "its condition was not checked: \(condition) (\(error(errno)))"
        }
        let reason: String
        switch errno {
        case "ENOENT":
            // The kernel says the same of a script whose interpreter is missing.
            let missing = [
                ("exec", "program"), ("chdir", "directory"), ("look up the user", "user"),
                ("look up the group", "group"),
            ].lazy.compactMap { step, kind in object(of: step).map { "no such \(kind) \($0)" } }
            reason = missing.first ?? "\(error(errno)) (\(what))"
        case "EACCES":
            reason =
                object(of: "exec").map { "\($0) may not be executed (\(error(errno)))" }
                ?? "\(error(errno)) (\(what))"
        default: reason = "\(error(errno)) (\(what))"
        }
        return "could not start: \(reason)"
    }

    /// The most frequent errors when a process is started, in the words of strerror(3).
    private static let errors = [
        "EPERM": "operation not permitted", "ENOENT": "no such file or directory",
        "EIO": "input/output error", "E2BIG": "argument list too long",
        "ENOEXEC": "exec format error", "EAGAIN": "resource temporarily unavailable",
        "ENOMEM": "cannot allocate memory", "EACCES": "permission denied",
        "EBUSY": "device or resource busy", "ENOTDIR": "not a directory",
        "EISDIR": "is a directory", "EINVAL": "invalid argument",
        "ENFILE": "too many open files in system", "EMFILE": "too many open files",
        "ETXTBSY": "text file busy", "EFBIG": "file too large",
        "ENOSPC": "no space left on device", "EROFS": "read-only file system",
        "ENAMETOOLONG": "file name too long",
        "ELOOP": "too many levels of symbolic links", "ETIMEDOUT": "connection timed out",
        "EDQUOT": "disk quota exceeded", "ESRCH": "no such process",
    ]

    /// Such as `no such file or directory` for `ENOENT`. The name of an unknown error is not
    /// changed.
    private static func error(_ name: String) -> String { errors[name] ?? name }
}
