// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One scheduled instant of one job.
public struct Firing: Hashable, Sendable {
    /// The identity of the firing: no two firings of one job have the same scheduled instant.
    public struct ID: Hashable, Sendable {
        public var job: Job.Name
        /// The instant at which it was due, by the wall clock.
        public var scheduled: WallInstant

        /// The firing of `job` that was due at `scheduled`.
        public init(job: Job.Name, scheduled: WallInstant) {
            self.job = job
            self.scheduled = scheduled
        }
    }

    /// Its identity, which contains the instant at which it was due.
    public var id: ID
    /// How many further firings after this one are combined with it: this one is the first of those that
    /// were missed.
    public var missed: Int
    /// The total active time of the job when it fired.
    public var active: Duration
    /// Why it was made: by the schedule, for a user or for a fleet.
    public var cause: Cause

    public init(id: ID, missed: Int, active: Duration, cause: Cause = .schedule) {
        self.id = id
        self.missed = missed
        self.active = active
        self.cause = cause
    }
}

/// One attempt at a firing.
public struct Run: Hashable, Sendable {
    /// The identity of a run. Its text, `backup:20261121T043852.000000Z:1`, can be used in file
    /// names and URLs, and sorts by time within a job.
    public struct ID: Hashable, Sendable, LosslessStringConvertible {
        /// The firing it is an attempt at.
        public var firing: Firing.ID
        /// The number of the attempt; 1 is the first.
        public var attempt: Int

        /// An attempt at `firing`; by default the first one.
        public init(firing: Firing.ID, attempt: Int = 1) {
            self.firing = firing
            self.attempt = attempt
        }

        /// Parses the text that `description` produces; nil for any other text.
        public init?(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 3, let job = Job.Name(ofRun: String(parts[0])),
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

    /// Its firing and the number of the attempt.
    public var id: ID
    /// The firing with all its facts; `id` has only its identity.
    public var firing: Firing
    /// The job as it was when it fired, which defines what is executed. A later reload does not
    /// change it.
    @Boxed public var job: Job

    /// An attempt at `firing`; by default the first one. The job is what it executes.
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

/// The resources that a run used, as the kernel reports them for the process and the children it
/// waited for (getrusage(2)).
public struct RunUsage: Hashable, Sendable {
    /// From the start of the process to its end.
    public var elapsed: Duration
    /// CPU time in user mode.
    public var user: Duration
    /// CPU time in the kernel.
    public var system: Duration
    /// The peak resident set size, in bytes; 0 if it is not known. The kernel starts the
    /// measurement with the size of the runner, so a smaller value cannot be measured.
    public var peakResidentBytes: Int64

    /// Creates a value; by default zero, as for a run without a process.
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

/// What is kept in memory about the latest run of a job that ended.
public struct RunSummary: Hashable, Sendable {
    public var id: Run.ID
    /// When its process started, by the wall clock; nil if no process started.
    public var began: WallInstant?
    /// When it ended, by the wall clock; nil if that is not known.
    public var ended: WallInstant?
    /// How it ended. Whether that is a failure is in `failed`.
    public var outcome: RunOutcome
    /// The resources that it used; zero if it had no process.
    public var usage: RunUsage
    /// Whether it failed, by the success exit codes that were configured when it ended.
    public var failed: Bool

    public init(
        id: Run.ID, began: WallInstant? = nil, ended: WallInstant? = nil, outcome: RunOutcome,
        usage: RunUsage = RunUsage(), failed: Bool = false
    ) {
        self.ended = ended
        self.failed = failed
        self.id = id
        self.began = began
        self.outcome = outcome
        self.usage = usage
    }
}
