// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which ends of a process count as success, as `SuccessExitStatus=` of systemd.service(5) says it.
public struct SuccessExitStatus: Hashable, Sendable {
    /// The exit codes, 0 to 255.
    public var exitCodes: Set<Int32>
    /// The signals, by their names in `signals`.
    public var signals: Set<String>

    /// By default only exit code 0.
    public init(exitCodes: Set<Int32> = [0], signals: Set<String> = []) {
        self.exitCodes = exitCodes
        self.signals = signals
    }

    /// Whether a run that ended so succeeded: its process ended by itself, or by a signal that timerd
    /// did not send.
    public func contains(_ outcome: RunOutcome) -> Bool {
        switch outcome {
        case .exited(let code): exitCodes.contains(code)
        case .signalled(let name): signals.contains(name)
        case .timedOut, .replaced, .stopped, .windowEnded, .spawnFailed, .lost, .skipped: false
        }
    }
}

extension SuccessExitStatus {
    /// The signals that end a process which does not handle them, by the names that outcomes have:
    /// signal(7). Those without a name of their own, the realtime signals, are not among them.
    public static let signals = [
        "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE",
        "SIGKILL",
        "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGXCPU",
        "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGPOLL", "SIGPWR", "SIGSYS",
    ]

    /// The signal of this name, as systemd reads it: with or without `SIG`, and `IO` for `SIGPOLL`.
    /// Nil if there is none in `signals`.
    public static func signal(named name: String) -> String? {
        let whole = name.hasPrefix("SIG") ? name : "SIG\(name)"
        let known = whole == "SIGIO" ? "SIGPOLL" : whole
        return signals.contains(known) ? known : nil
    }
}
