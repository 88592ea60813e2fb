// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import TimerCore

/// Which of the runs that ended are asked for.
public struct HistoryQuery: Hashable, Sendable {
    /// The most runs of one answer.
    public static let limitMax = 1000

    /// Of this job; nil: of any.
    public var job: Job.Name?
    /// Only those that failed, as was judged when they ended.
    public var failed: Bool
    /// Only those that ended since then.
    public var since: WallInstant?
    /// How many at most, from 1 to `limitMax`.
    public var limit: Int

    /// A query as described.
    public init(
        job: Job.Name? = nil, failed: Bool = false, since: WallInstant? = nil, limit: Int = 20
    ) {
        self.job = job
        self.failed = failed
        self.since = since
        self.limit = limit
    }

    var text: String {
        QueryText.write([
            ("job", job?.description), ("failed", failed ? "1" : nil),
            ("since", since?.rfc3339Micros),
            ("limit", "\(limit)"),
        ])
    }
}

/// The runs that were asked for, the latest first.
public struct HistoryReply: Codable, Hashable, Sendable {
    /// The runs.
    public var runs: [RunStatus]

    /// An answer as described.
    public init(runs: [RunStatus]) { self.runs = runs }
}

/// What a job wrote.
public struct LogReply: Codable, Hashable, Sendable {
    /// A line as it came.
    public struct Line: Codable, Hashable, Sendable {
        /// The run that wrote it.
        public var run: String
        /// Which of its lines it is, from 1. Numbers that are missing are of lines that were dropped.
        public var number: Int
        /// When it came to the daemon.
        public var at: String?
        /// Whether to its standard error.
        public var isError: Bool
        /// The line; bytes that are no UTF-8 are replaced.
        public var text: String

        /// A line as described.
        public init(run: String, number: Int, at: String? = nil, isError: Bool, text: String) {
            self.at = at
            self.run = run
            self.number = number
            self.isError = isError
            self.text = text
        }
    }

    /// How much a run has written.
    public struct Written: Codable, Hashable, Sendable {
        /// Which run.
        public var run: String
        /// How many lines since the daemon started, with those that were dropped.
        public var lineCount: Int

        /// So many lines of a run.
        public init(run: String, lineCount: Int) {
            self.run = run
            self.lineCount = lineCount
        }
    }

    /// The run that is over, where that is what was asked for or nothing newer is known.
    public var past: RunStatus?
    /// The runs of the job that have not ended.
    public var active: [RunStatus]
    /// The run of the job that ended last.
    public var lastEnded: String?
    /// When the daemon started: lines and their numbers go back to that.
    public var since: String?
    /// How many bytes of the output of a run are kept when it has ended (`output-tail`); absent for a job that is not
    /// configured any more.
    public var outputTailBytes: Int?
    /// The lines of runs that live, and those that came since the last answer.
    public var lines: [Line]
    /// How much the runs have written that are asked for, as far as they are active or ended a moment ago.
    public var written: [Written]
    /// What to ask on from, as `after`.
    public var cursor: UInt64

    /// An answer as described.
    public init(
        past: RunStatus?, lines: [Line], written: [Written] = [], cursor: UInt64,
        active: [RunStatus] = [], lastEnded: String? = nil, since: String? = nil,
        outputTailBytes: Int? = nil
    ) {
        self.active = active
        self.lastEnded = lastEnded
        self.since = since
        self.outputTailBytes = outputTailBytes
        self.past = past
        self.lines = lines
        self.written = written
        self.cursor = cursor
    }
}

/// What a kill may carry.
public struct KillBody: Codable, Hashable, Sendable {
    /// The signals that may be sent, by their names without SIG.
    public static let signals: [(name: String, number: Int32)] = [
        ("HUP", SIGHUP), ("INT", SIGINT), ("QUIT", SIGQUIT), ("ABRT", SIGABRT), ("KILL", SIGKILL),
        ("USR1", SIGUSR1), ("USR2", SIGUSR2), ("ALRM", SIGALRM), ("TERM", SIGTERM),
        ("CONT", SIGCONT), ("STOP", SIGSTOP), ("TSTP", SIGTSTP), ("WINCH", SIGWINCH),
    ]

    /// The name of a signal; nil: end the run, by SIGTERM and after its time by SIGKILL.
    public var signal: String?

    /// A kill's body.
    public init(signal: String? = nil) { self.signal = signal }

    /// The full name of a signal that may be sent, such as SIGHUP.
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

/// The runs a kill reached.
public struct KillReply: Codable, Hashable, Sendable {
    /// Whether there were any.
    public var changed: Bool
    /// Why there were none.
    public var reason: String?
    /// The identities of those that are being ended or were sent a signal.
    public var signalled: [String]
    /// The identities of those that waited and are cancelled.
    public var cancelled: [String]

    /// An answer as described.
    public init(
        changed: Bool, reason: String? = nil, signalled: [String] = [], cancelled: [String] = []
    ) {
        self.changed = changed
        self.reason = reason
        self.signalled = signalled
        self.cancelled = cancelled
    }
}
