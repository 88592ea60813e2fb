// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What follows an attempt at a firing that has ended.
public enum NextAttempt: Hashable, Sendable {
    /// Nothing.
    case none
    /// Another attempt, this long after its end.
    case after(Duration)
    /// Another attempt, once it is certain that the lost one does not run any more.
    case onceCertain
}

extension Policy.Retry {
    /// Whether another attempt follows one that ended, and when.
    ///
    /// - Parameters:
    ///   - attempt: its number; 1 is the first.
    ///   - success: how a run ends that succeeded.
    ///   - retriesOfLost: how many attempts may follow if the machine disappeared on which the run was.
    ///     Only a fleet has that (`on-lost = "retry"`): the user said that the run may happen twice.
    ///     One machine alone never repeats a lost run, because perhaps it did its work.
    public func next(
        after outcome: RunOutcome, attempt: Int, success: SuccessExitStatus,
        retriesOfLost: Int = 0
    ) -> NextAttempt {
        if case .lost(.machine) = outcome {
            return attempt <= retriesOfLost ? .onceCertain : .none
        }
        guard attempt <= retries, outcome.isRetried(success) else { return .none }
        return .after(delay(after: attempt))
    }

    /// The delay between the end of this attempt (1 is the first) and the start of the next.
    public func delay(after attempt: Int) -> Duration {
        var factor = 1.0
        // The loop is limited, because more steps change nothing once the maximum delay is
        // reached.
        for _ in 1..<max(1, min(attempt, 64)) { factor *= backoff }
        let seconds = Double(delay.wholeMicroseconds) / 1e6 * factor
        guard seconds < Double(delayMax.wholeMicroseconds) / 1e6 else { return delayMax }
        return .microseconds(Int64(seconds * 1e6))
    }
}

extension FleetPolicy.Loss {
    /// How many attempts may follow runs whose machine disappeared.
    ///
    /// - Parameter retry: what the job says about runs that failed; without retries of these, a lost
    ///   run is repeated once.
    public func retries(_ retry: Policy.Retry) -> Int {
        switch self {
        case .leave: 0
        case .retry: max(1, retry.retries)
        }
    }
}

extension RunOutcome {
    /// Whether a failed run may be tried again. A run that was ended on purpose is not tried again,
    /// a lost run may have done its work, and a skipped one had none.
    public func isRetried(_ success: SuccessExitStatus) -> Bool {
        switch self {
        case .exited, .signalled, .timedOut, .spawnFailed: !success.contains(self)
        case .replaced, .stopped, .windowEnded, .lost, .skipped: false
        }
    }
}
