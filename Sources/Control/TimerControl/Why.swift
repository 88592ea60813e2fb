// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The data for the explanation why a job has not run.
public struct WhyReply: Codable, Hashable, Sendable {
    /// Why a job has not run, or something to know about it.
    public struct Reason: Codable, Hashable, Sendable {
        /// The kind of reason. The sentences may change, these words do not.
        public enum Code: String, CaseIterable, Sendable {
            case configurationError = "configuration-error"
            case paused, stopped
            case runsSuspended = "runs-suspended"
            case onResume = "on-resume"
            case noMoreRuns = "no-more-runs"
            case nextBoot = "next-boot"
            case nextRun = "next-run"
            case window
            case outsideWindow = "outside-window"
            case excluded
            case onDemand = "on-demand"
            case follows
            case followedEnd = "followed-end"
            case followedAwaited = "followed-awaited"
            case timeNotCounted = "time-not-counted"
            case accuracy
            case running, starting
            case waitsForCapacity = "waits-for-capacity"
            case waitsForSlot = "waits-for-slot"
            case slotTaken = "slot-taken"
            case waitsForCondition = "waits-for-condition"
            case waitsForWindow = "waits-for-window"
            case waitsForPreviousRun = "waits-for-previous-run"
            case waitsForRetryDelay = "waits-for-retry-delay"
            case waitsForCatchUpDelay = "waits-for-catch-up-delay"
            case waitsForResume = "waits-for-resume"
            case lastRun = "last-run"
            case neverRan = "never-ran"
            case skipped, incident
            case skipNext = "skip-next"
            case concurrency
            case concurrencyMax = "concurrency-max"
            case timeBasis = "time-basis"
            case startingDeadline = "starting-deadline"
            case maxConcurrent = "max-concurrent"
            case fleetAway = "fleet-away"
            case fleetUnreadable = "fleet-unreadable"
            case fleetClockAhead = "fleet-clock-ahead"
            case fleetHeld = "fleet-held"
            case fleetDrifted = "fleet-drifted"
            case fleetMachines = "fleet-machines"
        }

        /// The instant it is about, RFC 3339.
        public var at: String?
        /// What it is about.
        public var code: String
        /// The identity of the run that the reason concerns.
        public var run: String?
        /// The reason as a sentence, for people.
        public var text: String

        init(_ code: Code, _ text: String, at: String?, run: String?) {
            self.code = code.rawValue
            self.text = text
            self.at = at
            self.run = run
        }
    }

    /// How many runs of all jobs are active.
    public var activeRuns: Int
    /// The job's name.
    public var job: String
    /// How many runs may be active at once.
    public var maxConcurrent: Int
    /// When this was said, RFC 3339.
    public var now: String
    /// The reasons, the most important first.
    public var reasons: [Reason]
    /// What is wrong with it, if its configuration has errors.
    public var rejection: Rejection?
    /// The slots that it takes, or that its runs wait for.
    public var slots: [SlotStatus]?
    /// The job; absent if it is not loaded because of an error.
    public var status: JobStatus?

    /// The data from which `explained` computes the reasons.
    public init(
        job: String, now: String, status: JobStatus?, rejection: Rejection?, activeRuns: Int,
        maxConcurrent: Int, slots: [SlotStatus]? = nil
    ) {
        self.slots = slots
        self.job = job
        self.now = now
        self.status = status
        self.rejection = rejection
        self.activeRuns = activeRuns
        self.maxConcurrent = maxConcurrent
        reasons = []
    }

    /// The same with the reasons. The instants in their sentences have the format of the API, and how long it is until
    /// them is left to `at`.
    /// - Complexity: O(*n*) in the job's runs.
    public var explained: WhyReply {
        var reply = self
        reply.reasons = Explanation(self, saysDistance: false) { $0 }.reasons
        return reply
    }
}
