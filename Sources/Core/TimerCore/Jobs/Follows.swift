// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// After which ends of other jobs' runs a job runs (`follows`).
public struct Follows: Hashable, Sendable {
    /// The jobs that it follows, each once; not empty. With more than one, it runs after an end of each.
    public var causes: [Cause]

    /// The most jobs that one job can follow.
    public static let causesMax = 32

    public init(_ causes: [Cause]) { self.causes = causes }

    /// One job that is followed.
    public struct Cause: Hashable, Sendable {
        public var job: Job.Name
        /// Which ends of its runs count.
        public var on: On
        /// How long after such an end the follower runs. Not negative.
        public var delay: Duration
        /// How long an end waits for those of the other jobs. Longer than zero.
        public var within: Duration

        /// How long an end waits for others, unless the configuration says so.
        public static let withinDefault = Duration.seconds(86_400)

        public init(
            _ job: Job.Name, on: On = .success, delay: Duration = .zero,
            within: Duration = withinDefault
        ) {
            self.job = job
            self.on = on
            self.delay = delay
            self.within = within
        }
    }

    /// Which ends of a run count. The end that counts is that of the last attempt.
    public enum On: String, CaseIterable, Hashable, Sendable {
        /// It succeeded.
        case success
        /// It failed, was lost, or could not be started.
        case failure
        /// It ended in any way, also on request, but was not skipped.
        case end
        /// It was skipped: it said itself that there was nothing to do, or its condition did not hold.
        case skip

        /// Whether a run that ended so counts.
        public func includes(_ result: RunResult) -> Bool {
            switch result {
            case .success: self == .success || self == .end
            case .failed, .timedOut, .lost: self == .failure || self == .end
            case .stopped, .replaced: self == .end
            case .skipped: self == .skip
            }
        }
    }

    /// What it says about a job; nil if it does not follow that one.
    public func cause(of job: Job.Name) -> Cause? { causes.first { $0.job == job } }
}

/// The end of a run after which a job runs that follows its job.
public struct ChainEnd: Hashable, Sendable, LosslessStringConvertible {
    /// The most ends that a job keeps whose time has not come. The oldest ones give way.
    public static let keptMax = 100

    /// The job of the run.
    public var job: Job.Name
    /// The run, and how it ended.
    public var cause: Firing.Cause.Chain
    /// When its end was recorded, by the wall clock.
    public var at: WallInstant

    public init(job: Job.Name, _ cause: Firing.Cause.Chain, at: WallInstant) {
        self.job = job
        self.cause = cause
        self.at = at
    }

    /// The text in the store: the microseconds since 1970, the result, the run and the job.
    public var description: String {
        "\(at.microsecondsSinceEpoch) \(cause.result.word) \(cause.run) \(job)"
    }

    /// Parses the text that `description` produces; nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4,
            let at = Int64(parts[0]).flatMap({ WallInstant(kept: $0) }),
            let result = RunResult(word: parts[1]), let run = Run.ID(parts[2]),
            let job = Job.Name(parts[3])
        else { return nil }
        self.init(job: job, Firing.Cause.Chain(run: run, result: result), at: at)
    }
}
