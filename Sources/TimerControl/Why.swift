// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Why a job has not run, and what is needed to say so.
public struct WhyReply: Codable, Hashable, Sendable {
    /// One of the reasons, or something to know beside them.
    public struct Reason: Codable, Hashable, Sendable {
        /// What it is about; the sentences may change, these words do not.
        public enum Code: String, CaseIterable, Sendable {
            case configurationError = "configuration-error"
            case paused, stopped
            case runsSuspended = "runs-suspended"
            case onResume = "on-resume"
            case noMoreRuns = "no-more-runs"
            case nextBoot = "next-boot"
            case nextRun = "next-run"
            case timeNotCounted = "time-not-counted"
            case accuracy
            case running, starting
            case waitsForCapacity = "waits-for-capacity"
            case waitsForPreviousRun = "waits-for-previous-run"
            case waitsForRetryDelay = "waits-for-retry-delay"
            case waitsForResume = "waits-for-resume"
            case lastRun = "last-run"
            case neverRan = "never-ran"
            case skipped
            case skipNext = "skip-next"
            case concurrency
            case concurrencyMax = "concurrency-max"
            case timeBasis = "time-basis"
            case startingDeadline = "starting-deadline"
            case maxConcurrent = "max-concurrent"
        }

        /// The instant it is about: when a run is due, when a pause ends.
        public var at: String?
        /// What it is about: one of `Code`.
        public var code: String
        /// The identity of the run it is about.
        public var run: String?
        /// The same as a sentence for people.
        public var text: String

        init(_ code: Code, _ text: String, at: String?, run: String?) {
            self.code = code.rawValue
            self.text = text
            self.at = at
            self.run = run
        }
    }

    /// How many runs are active, of all jobs.
    public var activeRuns: Int
    /// The job's name.
    public var job: String
    /// How many runs may be active at once.
    public var maxConcurrent: Int
    /// When this was said.
    public var now: String
    /// The reasons, the most important first.
    public var reasons: [Reason]
    /// What is wrong with it, if the configuration was not accepted.
    public var rejection: Rejection?
    /// The job; absent if it is rejected.
    public var status: JobStatus?

    /// What the reasons follow from; `explained` adds them.
    public init(
        job: String, now: String, status: JobStatus?, rejection: Rejection?, activeRuns: Int,
        maxConcurrent: Int
    ) {
        self.job = job
        self.now = now
        self.status = status
        self.rejection = rejection
        self.activeRuns = activeRuns
        self.maxConcurrent = maxConcurrent
        reasons = []
    }

    /// The same with the reasons, whose sentences have their instants as the API writes them.
    /// - Complexity: O(*n*) in the job's runs.
    public var explained: WhyReply {
        var reply = self
        reply.reasons = Explanation(self) { $0 }.reasons
        return reply
    }
}
