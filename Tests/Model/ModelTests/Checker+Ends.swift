// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Intervals that are counted from the end of each run.
extension Checker {
    /// The interval of a job restarts when none of its runs is left.
    func settleIntervals(_ seen: ArraySlice<Seen>) {
        for job in states.indices where states[job].isKnown && !states[job].isPresent {
            // The last run of a job that is not configured has ended.
            guard states[job].awaitsEnd, states[job].endedWhileAway == nil,
                !orphans.contains(where: { $0.job == job })
            else { continue }
            states[job].endedWhileAway = wall
        }
        for job in states.indices where states[job].isPresent {
            let ended = min(states[job].endedWhileAway ?? wall, wall)
            states[job].endedWhileAway = nil
            let restarts = states[job].spec.restartsAtEnd
            let waits = restarts && !states[job].runs.isEmpty
            defer { states[job].awaitsEnd = waits }
            guard states[job].awaitsEnd, restarts, !waits else { continue }
            states[job].firings = max(1, states[job].firings)
            states[job].active += states[job].creditedAfterPause
            states[job].creditedAfterPause = 0
            states[job].accrued = 0
            states[job].afterPause = 0
            states[job].afterPauseMost = 0
            // What `fire-if-due` needs: the part of the pause since the end.
            states[job].pausedFor = 0
            states[job].pausedSince = ended
            guard let account = seen.last(where: { $0.kind == .account && $0.job == job }) else {
                continue
            }
            adoptActive(job, account)
        }
    }

    /// The total continues from the saved value, which may be less or more than the real one, while
    /// the elapsed time is exactly known.
    private func adoptActive(_ job: Int, _ account: Seen) {
        let known = vague.filter { $0.job == job }
        guard !known.isEmpty else { return }
        let difference = account.more - states[job].active
        if difference >= -known.map(\.less).reduce(0, +),
            difference <= known.map(\.more).reduce(0, +)
        {
            states[job].active += difference
        }
        vague.removeAll { $0.job == job }
    }
}
