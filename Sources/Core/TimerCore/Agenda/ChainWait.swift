// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
        guard let due = due(follows), due <= now.awake else { return nil }
        if follows.causes.count == 1 {
            guard let index = items.firstIndex(where: { $0.due <= now.awake }) else { return nil }
            return items.remove(at: index)
        }
        defer { items = [] }
        return items.max { $0.due < $1.due }
    }

    /// When the job runs; nil if it waits for further ends.
    func due(_ follows: Follows) -> AwakeInstant? {
        if follows.causes.count == 1 { return items.lazy.map(\.due).min() }
        guard isComplete(follows) else { return nil }
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

    /// Of the ends whose time came outside the window, leaves the last: what waits for the window starts
    /// as one run.
    mutating func join(_ follows: Follows, where isOutside: (WallInstant) -> Bool) {
        guard follows.causes.count == 1, items.count > 1, let cause = follows.causes.first else {
            return
        }
        let outside = items.filter { isOutside($0.end.at + cause.delay) }
        guard let last = outside.last else { return }
        items.removeAll { $0 != last && outside.contains($0) }
    }

    mutating func rename(_ job: Job.Name, to name: Job.Name) {
        for index in items.indices where items[index].end.job == job {
            items[index].end.job = name
        }
    }
}

/// What a job that follows others waits for.
public struct ChainView: Hashable, Sendable {
    public var follows: Follows
    /// The ends after which it has not run.
    public var ends: [ChainEnd]
    /// The jobs of which no end is there.
    public var awaited: [Job.Name]
    /// When it runs, if all ends are there and no pause holds it.
    public var due: WallInstant?
}

extension JobEntry {
    /// What it waits for if it follows other jobs; nil if it follows none.
    func chainView(at now: Now) -> ChainView? {
        guard let follows = job.follows else { return nil }
        return ChainView(
            follows: follows, ends: chain.ends, awaited: chain.awaited(follows, at: now.wall),
            due: chainDue.map { start(of: now.wall + max(.zero, $0 - now.awake)) })
    }

    /// Joins the ends that have waited for the window, which is open.
    mutating func joinEndsOutsideWindow(at now: Now) {
        guard job.window?.outside == .wait, let follows = job.follows else { return }
        let entry = self
        chain.join(follows) { $0 <= now.wall && entry.awaitsWindow(at: $0) }
    }

    /// When it runs after ends that are there; nil if it waits for others.
    var chainDue: AwakeInstant? {
        guard !chain.isEmpty, phase != .stopped, let follows = job.follows else { return nil }
        return chain.due(follows)
    }

    /// Restores the ends of a record. The time since then is part of the delays.
    mutating func restoreChain(_ record: JobRecord, renames: [Job.Name: Job.Name], at now: Now) {
        guard record.removed == nil, let follows = job.follows else { return }
        var wait = ChainWait()
        for var end in record.chain {
            if let name = renames[end.job] { end.job = name }
            guard let cause = follows.cause(of: end.job) else { continue }
            let passed = max(.zero, now.wall - end.at)
            wait.add(end, after: max(.zero, cause.delay - passed), of: follows, at: now)
        }
        wait.shrink(to: follows, at: now.wall)
        chain = wait
    }
}
