// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Jobs that fire once in each boot, a certain time after it.
extension Checker {
    /// Records that something was saved. What is decided ahead of the clocks is saved as of the clocks,
    /// which are up to so much earlier.
    func noteSign() {
        let earliest = wall - 10 * 1000 * Unit.microsecond
        guard lastHeartbeat.boot == bootNumber, lastHeartbeat.awake == awake else {
            lastHeartbeat = (bootNumber, awake, earliest...wall)
            return
        }
        lastHeartbeat.walls =
            min(
                lastHeartbeat.walls.lowerBound, earliest)...max(
                lastHeartbeat.walls.upperBound, wall)
    }

    /// Finishes a job without further firings, unless the daemon sees the job for the first time in
    /// this boot.
    func finishUnlessNewInBoot(_ job: Int) {
        if states[job].spec.kind == .onBoot, states[job].isNewInBoot { return }
        finishWithoutSlots(job)
    }

    /// How long ago the boot started: at most as long as the daemon of the previous boot has been
    /// gone.
    private var sinceBoot: ClosedRange<Int64> {
        guard lastHeartbeat.boot != 0, lastHeartbeat.boot != bootNumber else { return boot...boot }
        func since(_ sign: Int64) -> Int64 { max(0, min(boot, wall - sign)) }
        return since(lastHeartbeat.walls.upperBound)...since(lastHeartbeat.walls.lowerBound)
    }

    /// For a job that is new in this boot, the time since the start of the boot counts, but not
    /// while the job is paused.
    func followBoot(_ job: Int, _ seen: ArraySlice<Seen>) {
        guard states[job].isNewInBoot else { return }
        states[job].isNewInBoot = false
        guard states[job].spec.kind == .onBoot, states[job].phase != .stopped else { return }
        states[job].isDueThisBoot = true
        if states[job].phase == .finished { states[job].phase = .armed }
        let due = target(job) + delay(job, ordinal: states[job].firings)
        states[job].creditedAfterPause = min(states[job].creditedAfterPause, due)
        states[job].accrued = 0
        guard let account = seen.last(where: { $0.kind == .account && $0.job == job }) else {
            return
        }
        if states[job].phase == .armed {
            let since = sinceBoot
            states[job].accrued = min(
                max(account.value, min(since.lowerBound, due)), min(since.upperBound, due))
        }
        adoptTotal(job, account)
    }

    /// The total continues from the saved value, which may be less than the real one, whatever
    /// happens to the elapsed time.
    private func adoptTotal(_ job: Int, _ account: Seen) {
        let known = vague.filter { $0.job == job && !$0.isOfPause }
        guard !known.isEmpty else { return }
        let difference = account.more - states[job].active - states[job].creditedAfterPause
        if difference >= -known.map(\.less).reduce(0, +),
            difference <= known.map(\.more).reduce(0, +)
        {
            states[job].active += difference
        }
        vague.removeAll { $0.job == job && !$0.isOfPause }
    }
}
