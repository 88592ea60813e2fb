// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Why a run of a job is about to be made.
enum Candidate {
    /// A firing came due.
    case due
    /// One of several firings that are caught up with, one after the other. Of the runs of the job only the one named
    /// here, which is older than all of these firings, can be in the way of it.
    case caughtUp(after: Run.ID?)
    /// Somebody asked for it, apart from the schedule.
    case requested
    /// It is on record and the first of those that wait for the previous run.
    case firstInLine
    /// It is a further attempt, on record, and its delay has passed.
    case retry
}

/// What becomes of such a run.
enum Admission {
    /// It starts, if `max-concurrent` leaves room.
    case start
    /// It waits for the previous run.
    case wait
    /// The further attempts that wait for their delay are cancelled, and it starts.
    case replaceRetries
    /// The runs that wait are cancelled and those that run are ended. It starts once there are none.
    case replaceAll
    /// It is not made.
    case skip(Obstacle)
}

/// Why a run is not made: other runs of the job.
enum Obstacle {
    /// This one has not ended.
    case stillRunning(ActiveRun)
    /// This one waits for the previous run already.
    case queueFull(ActiveRun)
    /// So many are running, and no more may.
    case concurrencyMax(Int)

    var skipReason: Notice.SkipReason {
        switch self {
        case .stillRunning(let run): .stillRunning(run.id)
        case .queueFull(let run): .queueFull(run.id)
        case .concurrencyMax(let most): .concurrencyMax(most)
        }
    }
}

extension Policy {
    /// What becomes of a run of the job because of those of its runs that have not ended. Everything that
    /// `concurrency` and `concurrency-max` decide, they decide here.
    ///
    /// - Parameter runs: the runs of the job that have not ended, oldest first. A run that is on record is one of them.
    /// - Complexity: O(*n*) in their number.
    func admission(of candidate: Candidate, beside runs: [ActiveRun]) -> Admission {
        switch concurrency {
        case .forbid: forbid(candidate, runs)
        case .queue: queue(candidate, runs)
        case .replace: replace(candidate, runs)
        case .allow: allow(candidate, runs)
        }
    }

    /// Whether the runs of the job depend on each other, so that what is due cannot be decided about before it is
    /// known whether the run before it could start.
    var runsDependOnEachOther: Bool {
        switch concurrency {
        case .forbid, .queue, .replace: true
        case .allow: false
        }
    }

    private func forbid(_ candidate: Candidate, _ runs: [ActiveRun]) -> Admission {
        switch candidate {
        case .due:
            // If only further attempts wait, nothing runs, and the firing has all attempts of its own before it.
            if let other = runs.last(where: { !$0.isRetry }) { return .skip(.stillRunning(other)) }
            return runs.isEmpty ? .start : .replaceRetries
        case .caughtUp(let earlier):
            if let earlier, let other = runs.first(where: { $0.id == earlier }) {
                return .skip(.stillRunning(other))
            }
            guard !runs.isEmpty else { return .start }
            return runs.allSatisfy(\.isRetry) ? .replaceRetries : .wait
        case .requested:
            if Self.isOnlyRetried(runs) { return .replaceRetries }
            return runs.last { !$0.isRetry }.map { .skip(.stillRunning($0)) } ?? .start
        case .firstInLine: return Self.followUp(runs)
        case .retry: return .start
        }
    }

    private func queue(_ candidate: Candidate, _ runs: [ActiveRun]) -> Admission {
        switch candidate {
        case .due, .requested:
            if case .requested = candidate, Self.isOnlyRetried(runs) { return .replaceRetries }
            if let other = runs.first(where: { $0.wait == .previousRun }) {
                return .skip(.queueFull(other))
            }
            return runs.isEmpty ? .start : .wait
        case .caughtUp: return runs.isEmpty ? .start : .wait
        case .firstInLine: return Self.followUp(runs)
        case .retry: return .start
        }
    }

    private func replace(_ candidate: Candidate, _ runs: [ActiveRun]) -> Admission {
        switch candidate {
        case .due: return runs.isEmpty ? .start : .replaceAll
        case .requested:
            if Self.isOnlyRetried(runs) { return .replaceRetries }
            return runs.isEmpty ? .start : .replaceAll
        case .caughtUp: return runs.isEmpty ? .start : .wait
        case .firstInLine: return Self.followUp(runs)
        case .retry: return .start
        }
    }

    private func allow(_ candidate: Candidate, _ runs: [ActiveRun]) -> Admission {
        guard let most = concurrencyMax else { return .start }
        switch candidate {
        case .due:
            // Those that wait for `max-concurrent` or for the previous run count too, or they would grow in number.
            return runs.count { !$0.isRetry } >= most ? .skip(.concurrencyMax(most)) : .start
        case .requested:
            return runs.count(where: \.isStarted) >= most ? .skip(.concurrencyMax(most)) : .start
        case .caughtUp, .firstInLine, .retry:
            return runs.count(where: \.isStarted) >= most ? .wait : .start
        }
    }

    /// Whether a further attempt waits, and none of the runs was told to start or waits for `max-concurrent`.
    private static func isOnlyRetried(_ runs: [ActiveRun]) -> Bool {
        runs.contains(where: \.isRetry) && !runs.contains(where: \.isStarted)
    }

    /// The first in line starts when all that are left wait in line as well.
    private static func followUp(_ runs: [ActiveRun]) -> Admission {
        runs.allSatisfy { $0.wait == .previousRun } ? .start : .wait
    }
}
