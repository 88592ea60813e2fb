// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which jobs follow which, and the ends of runs in the event that is being handled.
struct Chains: Sendable {
    /// The end of a run whose job is followed.
    struct Ended {
        var job: Job.Name
        var chain: Firing.Cause.Chain
    }

    /// The jobs that follow a job, in the order of the configuration. Without `follows` it is empty.
    private var followers: [Job.Name: [Job.Name]] = [:]
    /// The names of jobs by those that they had before.
    private(set) var renames: [Job.Name: Job.Name] = [:]
    private var ended: [Ended] = []

    /// Uses a configuration.
    mutating func configure(_ jobSet: JobSet) {
        followers = jobSet.followers
        renames = followers.isEmpty ? [:] : jobSet.renames.mapValues { jobSet.jobs[$0].name }
    }

    /// The jobs that follow this one.
    func followers(of job: Job.Name) -> [Job.Name] { followers[job] ?? [] }

    /// Notes the end of a run, unless a user asked for the run alone.
    mutating func note(_ run: RunSummary, of job: Job.Name, _ cause: Firing.Cause) {
        guard followers[job] != nil, !cause.isAlone else { return }
        ended.append(Ended(job: job, chain: .init(run: run.id, result: run.result)))
    }

    /// The ends that were noted since the last call.
    mutating func takeEnded() -> [Ended] {
        guard !ended.isEmpty else { return [] }
        defer { ended = [] }
        return ended
    }
}

/// Jobs that run after runs of other jobs (`follows`).
extension Agenda {
    /// Handles the ends of runs of this event for the jobs that follow them. What that leads to comes
    /// directly after these ends and is written in one transaction with them, so that no kill loses a
    /// run or doubles it.
    mutating func startFollowers(at now: Now, after decided: inout [Action]) {
        // What replaces a run ends that one, which others may follow.
        while case let ended = chains.takeEnded(), !ended.isEmpty {
            var batch = Batch()
            for end in ended { noteEnd(end, at: now, into: &batch) }
            let actions = batch.actions
            guard !actions.isEmpty else { continue }
            let written = actions.prefix { $0.isWrittenWithEnd }
            decided.insert(contentsOf: written, at: decided.placeAfterEnds)
            decided += actions.dropFirst(written.count)
        }
    }

    /// Notes the ends that a start of the daemon found for the jobs that follow them. These run at the
    /// first wake-up, because the runs are not closed in the store yet.
    mutating func noteEndsBeforeStart(at now: Now) -> [Action] {
        var timers: [Action] = []
        for end in chains.takeEnded() {
            for slot in add(end, at: now) {
                if let entry = entries[slot] { timers += updateRetryTimer(slot, entry) }
            }
        }
        return timers
    }

    /// Adds an end to those that followers wait for.
    ///
    /// - Returns: the slots of the followers.
    private mutating func add(_ end: Chains.Ended, at now: Now) -> [Int] {
        chains.followers(of: end.job).compactMap { name in
            guard let slot = slot(of: name), var entry = entries[slot],
                let follows = entry.job.follows, let cause = follows.cause(of: end.job),
                cause.on.includes(end.chain.result), entry.phase != .stopped
            else { return nil }
            let end = ChainEnd(job: end.job, end.chain, at: now.wall - ahead)
            entry.chain.shrink(to: follows, at: now.wall)
            entry.chain.add(end, after: cause.delay, of: follows, at: now)
            entries[slot] = entry
            return slot
        }
    }

    private mutating func noteEnd(_ end: Chains.Ended, at now: Now, into batch: inout Batch) {
        for slot in add(end, at: now) { runDueChain(slot, at: now, into: &batch) }
    }

    /// Runs the job in this slot after ends whose delay has passed.
    mutating func runDueChain(_ slot: Int, at now: Now, into batch: inout Batch) {
        guard var entry = entries[slot], !entry.chain.isEmpty else { return }
        runChain(slot, &entry, at: now, into: &batch)
        batch.timers += updateRetryTimer(slot, entry)
        entries[slot] = entry
    }

    /// Runs the job after the ends whose time has come, unless it is paused or waits for its window.
    private mutating func runChain(
        _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) {
        guard !entry.chain.isEmpty else { return }
        let wasFinished = entry.phase == .finished
        let awaitsWindow = entry.awaitsWindow(at: now.wall)
        if !awaitsWindow { entry.joinEndsOutsideWindow(at: now) }
        while !isShutDown, !isSuspended(entry), !awaitsWindow,
            let follows = entry.job.follows, let item = entry.chain.takeDue(follows, at: now)
        {
            let delay = follows.cause(of: item.end.job)?.delay ?? .zero
            let scheduled = min(item.end.at + delay, now.wall - ahead)
            let age = now.wall - entry.start(of: scheduled)
            let firing = entry.firing(
                DueOccurrences.Point(scheduled: scheduled, age: age), missed: 0, at: now,
                cause: .chain(item.end.cause))
            if let ageMax = entry.job.policy.ageMax, age > ageMax {
                skipOverdue(firing, slot, &entry, at: now, into: &batch)
            } else {
                begin(firing, late: .zero, slot, &entry, as: .due, at: now, into: &batch)
            }
        }
        if entry.phase == .finished, !wasFinished { batch.notices.append(.log(entry.finished)) }
        batch.records.append(entry.record(at: now, ahead: ahead, instance: instance))
    }

    /// Continues after a pause: the job runs once for what ended meanwhile, unless `on-resume` says that
    /// it restarts.
    mutating func resumeChain(
        _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) {
        guard !entry.chain.isEmpty, let follows = entry.job.follows else { return }
        if entry.job.policy.onResume == .restart {
            entry.chain = ChainWait()
        } else {
            entry.chain.endPause(follows, at: now)
        }
        runChain(slot, &entry, at: now, into: &batch)
        batch.timers += updateRetryTimer(slot, entry)
    }

    /// Applies another definition of `follows`: ends that it does not name are forgotten.
    mutating func redefineChain(_ slot: Int, _ entry: inout JobEntry, at now: Now) -> [Action] {
        guard !entry.chain.isEmpty else { return [] }
        for (old, new) in chains.renames { entry.chain.rename(old, to: new) }
        entry.chain.shrink(to: entry.job.follows, at: now.wall)
        return updateRetryTimer(slot, entry)
    }
}

extension Action {
    fileprivate var isEnd: Bool { if case .close = self { true } else { false } }
    fileprivate var isNote: Bool { if case .notify = self { true } else { false } }

    /// Whether it is written in the transaction of the end that caused it.
    fileprivate var isWrittenWithEnd: Bool {
        switch self {
        case .begin, .save, .notify: true
        case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .start, .startReleased, .check,
            .withdraw, .end, .signal, .suspend, .resume, .close, .storeJobSet, .log, .answer,
            .armIncidents, .armHold, .decline:
            false
        }
    }
}

extension [Action] {
    /// Where to insert what follows from the ends of runs among them: after the last of these, with its
    /// notifications.
    fileprivate var placeAfterEnds: Int {
        guard let last = lastIndex(where: \.isEnd) else { return count }
        return self[(last + 1)...].firstIndex { !$0.isNote } ?? count
    }
}
