// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The reason why a run of a job would be made now.
public enum Candidate: Sendable {
    /// A firing came due.
    case due
    /// A missed firing came due, together with all others that were missed.
    case missed
    /// One of several missed firings that are caught up one after the other. All of these firings
    /// are newer than the named run, and this is the only other run of the job that can prevent
    /// them.
    case caughtUp(after: Run.ID?)
    /// The same in a fleet. Whatever `concurrency` says, it waits for each run of the job that has
    /// not ended, and no such run prevents it: that run may have ended long ago on a machine that
    /// cannot report it yet. And a fleet has no `concurrency-max` that would limit how many missed
    /// firings start at once.
    case caughtUpByFleet
    /// A user requested the run, independently of the schedule.
    case requested
    /// It is recorded and is the first of the runs that wait for the previous run.
    case firstInLine
    /// It is a recorded retry whose delay has passed.
    case retry

    /// Whether it is not recorded yet, and can be skipped.
    var isNew: Bool {
        switch self {
        case .due, .missed, .caughtUp, .caughtUpByFleet, .requested: true
        case .firstInLine, .retry: false
        }
    }
}

/// What the rule about overlap must know of another run of the job that has not ended.
public protocol OtherRun {
    /// The run.
    var id: Run.ID { get }
    /// Whether it is a retry, or a missed run that is caught up, whose delay has not passed, so that
    /// nothing is running.
    var isDelayed: Bool { get }
    /// Whether it is a retry whose delay has not passed.
    var isRetry: Bool { get }
    /// Whether it was started, or waits only for slots, `max-concurrent` or its condition.
    var isStarted: Bool { get }
    /// Whether it waits for the previous run of the job.
    var isQueued: Bool { get }
}

extension ActiveRun: OtherRun {
    public var isQueued: Bool { wait == .previousRun }
}

/// The decision about a run that a `Candidate` asks for.
public enum Admission<Other: OtherRun> {
    /// It starts, if its slots and `max-concurrent` leave room.
    case start
    /// It waits for the previous run.
    case wait
    /// The runs that wait for their delay are cancelled, and the run starts.
    case replaceDelayed
    /// The waiting runs are cancelled and the active ones are ended. The run starts after the last
    /// of them has ended.
    case replaceAll
    /// The run is not made.
    case skip(Obstacle<Other>)

    /// Whether none of these runs of the job delays it.
    func startsNow(beside runs: [Other]) -> Bool {
        switch self {
        case .start, .replaceDelayed: true
        case .replaceAll: runs.allSatisfy(\.isDelayed)
        case .wait, .skip: false
        }
    }
}

/// The other runs that are the reason why a run is not made.
public enum Obstacle<Other: OtherRun> {
    /// This one has not ended.
    case stillRunning(Other)
    /// This run already waits for the previous run.
    case queueFull(Other)
    /// This many runs are active, which is the maximum.
    case concurrencyMax(Int)
    /// This slot of the job is taken, or another run waits for it.
    case slotBusy(RunSlot.Name)

    /// The reason, as the log has it.
    public var skipReason: Notice.SkipReason {
        switch self {
        case .stillRunning(let run): .stillRunning(run.id)
        case .queueFull(let run): .queueFull(run.id)
        case .concurrencyMax(let most): .concurrencyMax(most)
        case .slotBusy(let slot): .slotBusy(slot)
        }
    }
}

extension Policy {
    /// Decides what to do with a run, given the runs of its job that have not ended. All decisions
    /// about `concurrency` and `concurrency-max` are made here, for one machine and for a fleet. Beside
    /// no other run it starts.
    ///
    /// - Parameter runs: the runs of the job that have not ended, oldest first. A recorded
    ///   candidate is one of them.
    /// - Complexity: O(*n*) in their number.
    public func admission<Other: OtherRun>(
        of candidate: Candidate, beside runs: [Other]
    ) -> Admission<Other> {
        guard !runs.isEmpty else { return .start }
        // A missed run that waits for its delay keeps the delay that was drawn for it: what is missed
        // meanwhile is one with it.
        if case .missed = candidate, runsDependOnEachOther,
            let delayed = runs.first(where: { $0.isDelayed && !$0.isRetry })
        {
            return .skip(.queueFull(delayed))
        }
        return switch concurrency {
        case .forbid: forbid(candidate, runs)
        case .queue: queue(candidate, runs)
        case .replace: replace(candidate, runs)
        case .allow: allow(candidate, runs)
        }
    }

    /// Whether the decision about one run of the job depends on whether the run before it could
    /// start.
    var runsDependOnEachOther: Bool {
        switch concurrency {
        case .forbid, .queue, .replace: true
        case .allow: false
        }
    }

    private func forbid<Other: OtherRun>(
        _ candidate: Candidate, _ runs: [Other]
    ) -> Admission<Other> {
        switch candidate {
        case .due, .missed:
            // If only delayed runs wait, nothing is running. The new firing has all its own attempts,
            // and is newer than what was missed, so it replaces them.
            if let other = runs.last(where: { !$0.isDelayed }) {
                return .skip(.stillRunning(other))
            }
            return .replaceDelayed
        case .caughtUp(let earlier):
            if let earlier, let other = runs.first(where: { $0.id == earlier }) {
                return .skip(.stillRunning(other))
            }
            return Self.oneByOne(runs)
        case .caughtUpByFleet: return Self.oneByOne(runs)
        case .requested:
            if Self.isOnlyDelayed(runs) { return .replaceDelayed }
            return runs.last { !$0.isDelayed }.map { .skip(.stillRunning($0)) } ?? .start
        case .firstInLine: return Self.next(runs)
        case .retry: return .start
        }
    }

    private func queue<Other: OtherRun>(
        _ candidate: Candidate, _ runs: [Other]
    ) -> Admission<Other> {
        switch candidate {
        case .due, .missed, .requested:
            if case .requested = candidate, Self.isOnlyDelayed(runs) { return .replaceDelayed }
            if let other = runs.first(where: \.isQueued) {
                return .skip(.queueFull(other))
            }
            return .wait
        case .caughtUp, .caughtUpByFleet: return .wait
        case .firstInLine: return Self.next(runs)
        case .retry: return .start
        }
    }

    private func replace<Other: OtherRun>(
        _ candidate: Candidate, _ runs: [Other]
    ) -> Admission<Other> {
        switch candidate {
        case .due, .missed: return .replaceAll
        case .requested: return Self.isOnlyDelayed(runs) ? .replaceDelayed : .replaceAll
        case .caughtUp, .caughtUpByFleet: return .wait
        case .firstInLine: return Self.next(runs)
        case .retry: return .start
        }
    }

    private func allow<Other: OtherRun>(
        _ candidate: Candidate, _ runs: [Other]
    ) -> Admission<Other> {
        if case .caughtUpByFleet = candidate { return Self.oneByOne(runs) }
        guard let most = concurrencyMax else { return .start }
        switch candidate {
        case .due, .missed:
            // The runs that wait for `max-concurrent` or for the previous run count too. Otherwise
            // the queue could grow without a limit.
            return runs.count { !$0.isDelayed } >= most ? .skip(.concurrencyMax(most)) : .start
        case .requested:
            return runs.count(where: \.isStarted) >= most ? .skip(.concurrencyMax(most)) : .start
        case .caughtUp, .caughtUpByFleet, .firstInLine, .retry:
            return runs.count(where: \.isStarted) >= most ? .wait : .start
        }
    }

    /// Whether a run waits for its delay, and none is active or waits for `max-concurrent`.
    private static func isOnlyDelayed(_ runs: [some OtherRun]) -> Bool {
        runs.contains(where: \.isDelayed) && !runs.contains(where: \.isStarted)
    }

    /// The first run in the queue starts when all runs that are left wait in the same queue.
    private static func next<Other: OtherRun>(_ runs: [Other]) -> Admission<Other> {
        runs.allSatisfy(\.isQueued) ? .start : .wait
    }

    /// A missed firing starts when nothing of the job is left but retries, which it replaces. It comes
    /// after an earlier missed one that waits for its delay.
    private static func oneByOne<Other: OtherRun>(_ runs: [Other]) -> Admission<Other> {
        runs.allSatisfy(\.isRetry) ? .replaceDelayed : .wait
    }
}
