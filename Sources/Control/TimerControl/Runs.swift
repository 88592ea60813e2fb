// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Lines that a job wrote, and of which runs they are.
public struct LogReply: Codable, Hashable, Sendable {
    /// A line that a run wrote.
    public struct Line: Codable, Hashable, Sendable {
        /// The identity of the run that wrote it.
        public var run: String
        /// Which of its lines it is, from 1. Missing numbers are of lines that were dropped.
        public var number: Int
        /// When it came to the daemon, RFC 3339.
        public var at: String?
        /// Whether it was written to standard error, not to standard output.
        public var isError: Bool
        /// The line; bytes that are not UTF-8 are replaced.
        public var text: String

        public init(run: String, number: Int, at: String? = nil, isError: Bool, text: String) {
            self.at = at
            self.run = run
            self.number = number
            self.isError = isError
            self.text = text
        }
    }

    /// How much a run has written since the daemon started.
    public struct Written: Codable, Hashable, Sendable {
        /// The identity of the run.
        public var run: String
        /// How many lines since the daemon started, with those that were dropped.
        public var lineCount: Int

        public init(run: String, lineCount: Int) {
            self.run = run
            self.lineCount = lineCount
        }
    }

    /// A run that ended, with the last of its output, if that is what was asked for or there is
    /// nothing newer.
    public var past: RunStatus?
    /// The runs of the job that have not ended.
    public var active: [RunStatus]
    /// The identity of the run that ended last; absent if none is known.
    public var lastEnded: String?
    /// When the daemon started, RFC 3339: with another value the lines are counted from 1 again,
    /// and `after` begins at 0.
    public var since: String?
    /// How many bytes of the output of a run are kept when it has ended; absent for a job that is
    /// not configured any more.
    public var outputTailBytes: Int?
    /// Lines of active runs, and those that came since `after`.
    public var lines: [Line]
    /// Lines that active runs have not ended for 0.2 s, such as a prompt, without what a carriage
    /// return has replaced; each is among `lines` once it is ended. Absent if there is none.
    public var unfinished: [Line]?
    /// How much each run has written, as far as it is active or ended a moment ago.
    public var written: [Written]
    /// What to pass as `after` to be given what comes next.
    public var cursor: UInt64

    public init(
        past: RunStatus?, lines: [Line], unfinished: [Line]? = nil, written: [Written] = [],
        cursor: UInt64,
        active: [RunStatus] = [], lastEnded: String? = nil, since: String? = nil,
        outputTailBytes: Int? = nil
    ) {
        self.active = active
        self.lastEnded = lastEnded
        self.since = since
        self.outputTailBytes = outputTailBytes
        self.past = past
        self.lines = lines
        self.unfinished = unfinished
        self.written = written
        self.cursor = cursor
    }
}

/// What a kill sends.
public struct KillBody: Codable, Hashable, Sendable {
    /// The signals that may be sent, by their names without SIG.
    public static let signals: [(name: String, number: Int32)] = [
        ("HUP", SIGHUP), ("INT", SIGINT), ("QUIT", SIGQUIT), ("ABRT", SIGABRT), ("KILL", SIGKILL),
        ("USR1", SIGUSR1), ("USR2", SIGUSR2), ("ALRM", SIGALRM), ("TERM", SIGTERM),
        ("CONT", SIGCONT), ("STOP", SIGSTOP), ("TSTP", SIGTSTP), ("WINCH", SIGWINCH),
    ]

    /// The name of a signal; nil to end the run with SIGTERM, and with SIGKILL after its time.
    public var signal: String?

    /// By default it ends the runs.
    public init(signal: String? = nil) { self.signal = signal }

    /// The full name of an allowed signal, such as SIGHUP.
    public static func name(of name: String) -> String {
        let name = name.uppercased()
        return name.hasPrefix("SIG") ? name : "SIG\(name)"
    }

    /// The number of a signal on this machine, by its name with or without SIG; nil for another.
    public static func number(of name: String) -> Int32? {
        let short = name.uppercased()
        return signals.first { $0.name == short || "SIG\($0.name)" == short }?.number
    }
}

/// What a kill did.
public struct KillReply: Codable, Hashable, Sendable {
    /// Whether any run was affected. If not, `reason` says why.
    public var changed: Bool
    /// Why no run was affected; absent if one was.
    public var reason: String?
    /// The identities of the runs that are being ended or got a signal.
    public var signalled: [String]
    /// The identities of the waiting runs that were cancelled.
    public var cancelled: [String]

    public init(
        changed: Bool, reason: String? = nil, signalled: [String] = [], cancelled: [String] = []
    ) {
        self.changed = changed
        self.reason = reason
        self.signalled = signalled
        self.cancelled = cancelled
    }
}
