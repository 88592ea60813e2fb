// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Checks laws about what is wrong with a job because of the time, or because firings are skipped:
/// `late-after`, `long-after`, `stale-after`, `paused-after`, `skipped` and `repeat`. They are written
/// from the manual, and use no code of the agenda:
///
/// - an incident is open exactly as long as its condition is true, from the instant at which it
///   becomes true;
/// - each begin of an incident is told once, and nothing else is told except repeats;
/// - its end is told if the problem is solved, and only then;
/// - an open incident is told again when the interval has passed, and not before.
struct WatchChecker {
    typealias Key = WatchEpisode.Key

    /// After how long an open incident is told again.
    static let repeatSpan = 600 * Unit.second
    /// How late a timer may expire.
    static let timerSpan = Unit.second / 1000
    /// How far a firing may be decided ahead of the clocks.
    static let aheadSpan = Unit.second / 100
    static let kinds = ["late", "long", "stale", "skipped", "paused-long"]

    /// When a run was due and when it started, by the clock that counts from the boot.
    struct Times {
        var due: Int64
        var began: Int64?
        /// The numbers of the events that showed it first.
        var dueSeen: Int
        var beganSeen: Int?
    }

    struct LastTold {
        var earliest: Int64
        var latest: Int64

        init(_ instant: Int64) { (earliest, latest) = (instant, instant) }
    }

    var now = WatchEpisode()
    var before = WatchEpisode()
    var number = 0
    var times: [Int: [String: Times]] = [:]
    /// When each open incident was told last, by the wall clock. That is not exactly known if the
    /// clock was set back, and the job was paused again by the event that ended its pause.
    var lastTold: [Key: LastTold] = [:]
    /// The runs that were told of.
    var toldRuns: [Key: Set<String>] = [:]
    /// For how long each job was armed without a success; nil: that is not known.
    var staleTimes: [Int: Int64?] = [:]
    /// By how much more that may be than the daemon knows. What is saved of an early decision is of the
    /// clocks: a job whose last firing it was counts as not armed a moment earlier, after a start.
    var staleSlack: [Int: Int64] = [:]
    /// When a run of each job succeeded last, by the wall clock.
    var successes: [Int: Int64] = [:]
    var isShutDown = false
    /// By how much the wall clock was set back since the last success of each job, less what it was
    /// set forward again: that much longer is the time without a success than the clock says.
    private var setBack: [Int: Int64] = [:]
    /// Whether the clock was ever set. With the next start it is not known then which of two
    /// successes was the last one.
    private var wasSet = false
    var faults: [String] = []

    /// The first violation of a law; nil if there is none.
    static func fault(in episodes: [WatchEpisode]) -> String? {
        var checker = WatchChecker()
        for (index, episode) in episodes.enumerated() {
            checker.number = index
            checker.follow(episode)
            if let fault = checker.faults.first {
                return "event \(index), \(episode.event): \(fault); happened "
                    + "\(episode.happened), sent \(episode.sent)"
            }
        }
        return nil
    }

    private mutating func follow(_ episode: WatchEpisode) {
        (before, now) = (now, episode)
        // Also while no job is watched: the success of another may be that of one that gets its name.
        wasSet = wasSet || now.isSet
        switch now.event {
        case .load:
            times = [:]
            toldRuns = [:]
            isShutDown = false
        case .shutdown: isShutDown = true
        default: break
        }
        let earlier = times
        for case .renamed(let from, let to) in now.happened { rename(from, to) }
        // A run keeps its identity, and what is known about it while its job is watched.
        for case .renamed(let from, let to) in now.happened {
            times[to] = now.jobs[to] == nil ? nil : earlier[from]
        }
        for job in Set(before.jobs.keys).subtracting(now.jobs.keys) { forget(job) }
        for (job, facts) in now.jobs {
            noteTimes(job, facts)
            noteStaleTime(job, facts)
        }
        for key in now.open.keys where now.jobs[key.job] == nil || !Self.kinds.contains(key.kind) {
            faults.append("an incident of a job that is not watched: \(key)")
        }
        for (job, facts) in now.jobs where !isRenamed(job) {
            for kind in Self.kinds { check(Key(job: job, kind: kind), facts) }
        }
        for one in now.sent where isRenamed(one.job) {
            lastTold[Key(job: one.job, kind: one.kind)] = LastTold(now.wall)
        }
        for key in now.open.keys where lastTold[key] == nil { lastTold[key] = LastTold(now.wall) }
        lastTold = lastTold.filter { now.open[$0.key] != nil }
    }

    private func isRenamed(_ job: Int) -> Bool {
        now.count {
            if case .renamed(let from, let to) = $0 { [from, to].contains(job) } else { false }
        }
            > 0
    }

    private mutating func rename(_ from: Int, _ to: Int) {
        for kind in Self.kinds {
            var told = lastTold.removeValue(forKey: Key(job: from, kind: kind))
            // If the clock was set back by now, the interval may have begun again.
            if let earliest = told?.earliest { told?.earliest = min(earliest, now.wall) }
            lastTold[Key(job: to, kind: kind)] = told
            before.open[Key(job: to, kind: kind)] = before.open.removeValue(
                forKey: Key(job: from, kind: kind))
        }
        times[from] = nil
        staleTimes[to] = .some(nil)
        (setBack[to], staleSlack[to]) = (nil, nil)
    }

    private mutating func forget(_ job: Int) {
        times[job] = nil
        staleTimes[job] = .some(nil)
        for kind in Self.kinds {
            before.open[Key(job: job, kind: kind)] = nil
            toldRuns[Key(job: job, kind: kind)] = nil
        }
    }

    // MARK: - Facts

    private mutating func noteTimes(_ job: Int, _ facts: WatchEpisode.Job) {
        guard facts.late != nil || facts.long != nil else { return times[job] = nil }
        var known: [String: Times] = [:]
        for (name, run) in facts.runs {
            func boot(_ wall: Int64) -> Int64 { now.boot - max(0, now.wall - wall) }
            var one =
                times[job]?[name]
                ?? Times(due: boot(run.scheduled), began: nil, dueSeen: number)
            if one.began == nil, let began = run.began {
                one.began = boot(began)
                one.beganSeen = number
            }
            known[name] = one
        }
        times[job] = known
    }

    /// The time of the wall clock in which a job was armed since its last success, or since it was
    /// first loaded with the key. Until the next success it is not known if the job was away, or had
    /// another name or not the key, or if the clock was set before a start.
    private mutating func noteStaleTime(_ job: Int, _ facts: WatchEpisode.Job) {
        // A clock that was set before the job was there was not set for it.
        let undone = staleTimes[job] == nil && before.jobs[job] == nil ? 0 : undoneStep(job)
        if facts.stale == nil { staleTimes[job] = .some(nil) }
        let hasSucceeded = now.happened.contains {
            if case .ended(job, hasSucceeded: true, _, _, _) = $0 { true } else { false }
        }
        if hasSucceeded { (successes[job], setBack[job], staleSlack[job]) = (now.wall, 0, nil) }
        if case .load = now.event, before.jobs[job]?.isArmed == false {
            staleSlack[job, default: 0] += Self.aheadSpan
        }
        if hasSucceeded || staleTimes[job] == nil { return staleTimes[job] = 0 }
        guard let undone, let known = staleTimes[job], var time = known else {
            return staleTimes[job] = .some(nil)
        }
        if before.jobs[job]?.isArmed == true {
            time += now.wall - before.wall + undone
        } else if let until = before.jobs[job]?.pausedUntil, hasPauseEnded(job, facts) {
            guard setBack[job] ?? 0 == 0, !now.isSet else {
                return staleTimes[job] = .some(nil)
            }
            // It ended on time, even if no daemon ran then. A run may have succeeded since.
            time += max(0, now.wall - max(until, successes[job] ?? until))
        }
        staleTimes[job] = time
    }

    /// What must be added to the time of the wall clock since the event before: what it was set back
    /// by, but not what it was set forward by after it had been set back. Nil if it is not known.
    private mutating func undoneStep(_ job: Int) -> Int64? {
        let sum = setBack[job] ?? 0
        if case .load = now.event {
            setBack[job] = 0
            return wasSet ? nil : 0
        }
        guard now.isSet else { return 0 }
        let step = (now.wall - before.wall) - (now.boot - before.boot)
        let rest = max(0, sum - step)
        setBack[job] = rest
        // The daemon takes half a second for two readings of the clocks that are not of the same instant.
        return abs(step) > 501_000_000 ? rest - sum : nil
    }

    /// Whether a pause with an end is over. If the configuration or a user ended it, it may have been
    /// over.
    private func hasPauseEnded(_ job: Int, _ facts: WatchEpisode.Job) -> Bool {
        if facts.isArmed, case .load = now.event { return true }
        return now.count { if case .resumed(job, _) = $0 { true } else { false } } > 0
    }
}
