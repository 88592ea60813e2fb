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

    /// Takes back the end of an attempt that another attempt follows.
    mutating func takeBack(_ run: Run.ID) { ended.removeAll { $0.chain.run == run } }

    /// The ends that were noted since the last call.
    mutating func takeEnded() -> [Ended] {
        guard !ended.isEmpty else { return [] }
        defer { ended = [] }
        return ended
    }
}

/// The ends that a job follows and has not run after.
struct ChainWait: Hashable, Sendable {
    struct Item: Hashable, Sendable {
        var end: ChainEnd
        /// When its delay has passed.
        var due: AwakeInstant
    }

    /// Oldest first.
    private(set) var items: [Item] = []

    var isEmpty: Bool { items.isEmpty }
    var ends: [ChainEnd] { items.map(\.end) }

    /// Adds an end. One of each run is kept, and if the job follows several, one of each job.
    mutating func add(_ end: ChainEnd, after delay: Duration, of follows: Follows, at now: Now) {
        let isOne = follows.causes.count == 1
        items.removeAll { isOne ? $0.end.cause.run == end.cause.run : $0.end.job == end.job }
        items.append(Item(end: end, due: now.awake + delay))
        items.removeFirst(max(0, items.count - ChainEnd.keptMax))
    }

    /// Removes and returns the end after which the job runs now: the first whose delay has passed; for
    /// a job that follows several, the last of one end of each. Nil if there is none.
    mutating func takeDue(_ follows: Follows, at now: Now) -> Item? {
        guard let due = due(follows, at: now.wall), due <= now.awake else { return nil }
        if follows.causes.count == 1 {
            guard let index = items.firstIndex(where: { $0.due <= now.awake }) else { return nil }
            return items.remove(at: index)
        }
        defer { items = [] }
        return items.max { $0.due < $1.due }
    }

    /// When the job runs; nil if it waits for further ends.
    func due(_ follows: Follows, at instant: WallInstant) -> AwakeInstant? {
        if follows.causes.count == 1 { return items.lazy.map(\.due).min() }
        guard awaited(follows, at: instant).isEmpty else { return nil }
        return items.lazy.map(\.due).max()
    }

    /// The jobs of which no end is there, or none that is young enough. Once there is one of each, these
    /// stay until the job runs.
    func awaited(_ follows: Follows, at instant: WallInstant) -> [Job.Name] {
        guard !isComplete(follows) else { return [] }
        return follows.causes.filter { cause in
            !items.contains { $0.end.job == cause.job && instant - $0.end.at <= cause.within }
        }.map(\.job)
    }

    private func isComplete(_ follows: Follows) -> Bool {
        follows.causes.allSatisfy { cause in items.contains { $0.end.job == cause.job } }
    }

    /// Keeps only what is of the jobs that are followed, and not too old to be of use.
    mutating func shrink(to follows: Follows?, at instant: WallInstant) {
        guard !items.isEmpty else { return }
        guard let follows else { return items = [] }
        items.removeAll { item in
            follows.cause(of: item.end.job)?.on.includes(item.end.cause.result) != true
        }
        guard !isComplete(follows) else { return }
        items.removeAll { item in
            follows.cause(of: item.end.job).map { instant - item.end.at > $0.within } ?? true
        }
    }

    /// Ends a pause: of what became due meanwhile, the last end is left, and counts as of now.
    mutating func endPause(_ follows: Follows, at now: Now) {
        if follows.causes.count == 1, let last = items.last(where: { $0.due <= now.awake }) {
            items.removeAll { $0.due <= now.awake && $0 != last }
        }
        for index in items.indices where items[index].due <= now.awake {
            let delay = follows.cause(of: items[index].end.job)?.delay ?? .zero
            items[index].end.at = now.wall - delay
        }
    }

    mutating func rename(_ job: Job.Name, to name: Job.Name) {
        for index in items.indices where items[index].end.job == job {
            items[index].end.job = name
        }
    }
}
