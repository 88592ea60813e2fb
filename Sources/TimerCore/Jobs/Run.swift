// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One scheduled instant of one job.
public struct Firing: Hashable, Sendable {
    /// The firing's identity: of two firings of one job, no two have the same scheduled instant.
    public struct ID: Hashable, Sendable {
        /// Whose firing it is.
        public var job: Job.Name
        /// The instant it was due, on the calendar clock.
        public var scheduled: WallInstant

        /// The firing of `job` that was due at `scheduled`.
        public init(job: Job.Name, scheduled: WallInstant) {
            self.job = job
            self.scheduled = scheduled
        }
    }

    /// Which firing it is.
    public var id: ID
    /// How many further firings came due before this one could be made and are folded into it.
    public var missed: Int
    /// The job's active time in all when it fired.
    public var active: Duration

    /// A firing as described.
    public init(id: ID, missed: Int, active: Duration) {
        self.id = id
        self.missed = missed
        self.active = active
    }
}

/// One attempt at a firing.
public struct Run: Hashable, Sendable {
    /// A run's identity. Its text, `backup:20261121T043852.000000Z:1`, is safe in a file name and in a
    /// URL, and sorts by time within a job.
    public struct ID: Hashable, Sendable, LosslessStringConvertible {
        /// The firing it is an attempt at.
        public var firing: Firing.ID
        /// 1 for the first attempt.
        public var attempt: Int

        /// The attempt of this number at `firing`.
        public init(firing: Firing.ID, attempt: Int = 1) {
            self.firing = firing
            self.attempt = attempt
        }

        /// Reads what `description` writes; nil for anything else.
        public init?(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 3, let job = Job.Name(String(parts[0])),
                let scheduled = WallInstant(basicISO8601: parts[1]),
                let attempt = Int(parts[2]), attempt >= 1, String(attempt) == parts[2]
            else { return nil }
            self.init(firing: Firing.ID(job: job, scheduled: scheduled), attempt: attempt)
        }

        public var description: String {
            var text = firing.job.description
            text += ":"
            text += firing.scheduled.basicISO8601
            text += ":"
            text += String(attempt)
            return text
        }
    }

    /// Which attempt it is.
    public var id: ID
    /// The firing it is an attempt at.
    public var firing: Firing
    /// What it executes, and how: the job as it was when it fired, whatever a reload does meanwhile.
    @Boxed public var job: Job

    /// The attempt of this number at `firing`.
    public init(firing: Firing, attempt: Int = 1, job: Job) {
        self.init(firing: firing, attempt: attempt, job: Boxed(wrappedValue: job))
    }

    var boxedJob: Boxed<Job> { _job }

    init(firing: Firing, attempt: Int = 1, job: Boxed<Job>) {
        self.init(id: ID(firing: firing.id, attempt: attempt), firing: firing, job: job)
    }

    init(id: ID, firing: Firing, job: Boxed<Job>) {
        self.id = id
        self.firing = firing
        _job = job
    }
}

/// What a run used, as the kernel accounts it: the process and the children it waited for (getrusage(2)).
public struct RunUsage: Hashable, Sendable {
    /// From the start of the process to its end.
    public var elapsed: Duration
    /// CPU time in user mode.
    public var user: Duration
    /// CPU time in the kernel.
    public var system: Duration
    /// The largest resident set, in bytes; 0 where it is not known. The kernel begins its count at that of
    /// the runner, so only what is larger can be told.
    public var peakResidentBytes: Int64

    /// What a run used; by default nothing, as of a run whose process never was.
    public init(
        elapsed: Duration = .zero, user: Duration = .zero, system: Duration = .zero,
        peakResidentBytes: Int64 = 0
    ) {
        self.elapsed = elapsed
        self.user = user
        self.system = system
        self.peakResidentBytes = peakResidentBytes
    }
}

/// What is kept in memory of a job's latest run that ended.
public struct RunSummary: Hashable, Sendable {
    /// Which run.
    public var id: Run.ID
    /// When its process started, on the calendar clock; nil if it never did.
    public var began: WallInstant?
    /// How it ended.
    public var outcome: RunOutcome
    /// What it used.
    public var usage: RunUsage
    /// Whether it failed, judged when it ended by the exit codes that were a success then.
    public var failed: Bool

    /// A run as described.
    public init(
        id: Run.ID, began: WallInstant? = nil, outcome: RunOutcome, usage: RunUsage = RunUsage(),
        failed: Bool = false
    ) {
        self.failed = failed
        self.id = id
        self.began = began
        self.outcome = outcome
        self.usage = usage
    }
}

/// How a run ended. A run that failed is data, not a thrown error. The text is the same in the journal,
/// the store and JSON: `exited(0)`, `signalled(SIGKILL)`, `spawn-failed(ENOENT, exec /bin/x)`,
/// `lost(reboot)`.
public enum RunOutcome: Hashable, Sendable, LosslessStringConvertible {
    /// The process ended with this exit code, 0 to 255.
    case exited(Int32)
    /// A signal of this name (`SIGKILL`) ended the process.
    case signalled(String)
    /// The run outlived its time limit and was ended for it.
    case timedOut
    /// A newer firing took its place.
    case replaced
    /// Somebody, or the daemon's own stop, ended it.
    case stopped
    /// There never was a process: the name of the errno, and the step that failed with what it concerned.
    case spawnFailed(errno: String, what: String)
    /// How it ended is not known.
    case lost(Loss)

    /// Why the end of a run is not known.
    public enum Loss: String, CaseIterable, Hashable, Sendable {
        /// The machine went down while it ran.
        case reboot
        /// The daemon that owned its process died while it ran.
        case daemon
        /// The runner that owned its process died while it ran.
        case runner
        /// It was never begun: its starting deadline had passed.
        case deadline
    }

    /// Whether the run did what it was for.
    public func isSuccess(_ codes: Set<Int32> = [0]) -> Bool {
        if case .exited(let code) = self { codes.contains(code) } else { false }
    }

    /// Whether it is something to worry about: not what it was for, and nobody's intention.
    public func isFailure(_ codes: Set<Int32> = [0]) -> Bool {
        switch self {
        case .exited, .signalled, .timedOut, .spawnFailed, .lost: !isSuccess(codes)
        case .replaced, .stopped: false
        }
    }

    /// Whether a further attempt may be made after it, having failed. What was ended on purpose is not made
    /// up for, and what is lost may have done its work.
    public func isRetried(_ codes: Set<Int32>) -> Bool {
        switch self {
        case .exited, .signalled, .timedOut, .spawnFailed: !isSuccess(codes)
        case .replaced, .stopped, .lost: false
        }
    }

    /// Whether somebody, or a newer run, wanted it to end.
    public var isIntended: Bool {
        switch self {
        case .replaced, .stopped: true
        case .exited, .signalled, .timedOut, .spawnFailed, .lost: false
        }
    }

    /// How the process ended by itself, in the words of systemd: the kind of end, then its number or the name of the
    /// signal; nil where there was no process, it is not known, or timerd ended it.
    public var exit: (code: String, status: String)? {
        switch self {
        case .exited(let code): ("exited", "\(code)")
        case .signalled(let name): ("killed", "\(name.dropFirst(name.hasPrefix("SIG") ? 3 : 0))")
        case .timedOut, .replaced, .stopped, .spawnFailed, .lost: nil
        }
    }

    public var description: String {
        switch self {
        case .exited(let code): "exited(\(code))"
        case .signalled(let name): "signalled(\(name))"
        case .timedOut: "timed-out"
        case .replaced: "replaced"
        case .stopped: "stopped"
        case .spawnFailed(let errno, let what): "spawn-failed(\(errno), \(what))"
        case .lost(let loss): "lost(\(loss.rawValue))"
        }
    }

    /// Reads what `description` writes; nil for anything else.
    public init?(_ text: String) {
        func inside(_ kind: String) -> Substring? {
            text.hasPrefix(kind + "(") && text.hasSuffix(")")
                ? text.dropFirst(kind.count + 1).dropLast() : nil
        }
        switch text {
        case "timed-out": self = .timedOut
        case "replaced": self = .replaced
        case "stopped": self = .stopped
        default:
            if let code = inside("exited").flatMap({ Int32(decimal: $0) }) {
                self = .exited(code)
            } else if let name = inside("signalled"), !name.isEmpty {
                self = .signalled(String(name))
            } else if let loss = inside("lost").flatMap({ Loss(rawValue: String($0)) }) {
                self = .lost(loss)
            } else if let parts = inside("spawn-failed")?.split(separator: ",", maxSplits: 1),
                parts.count == 2
            {
                self = .spawnFailed(
                    errno: String(parts[0]), what: String(parts[1].drop { $0 == " " }))
            } else {
                return nil
            }
        }
    }
}
