// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Checker {
    /// The maximum loss when a daemon is killed, and when the power fails.
    private static let lossAtKill = Unit.second
    private static let lossAtPowerCut = 30 * Unit.second
    private static let recordKept = 30 * 24 * Unit.hour

    // MARK: - An instance ends

    func die(_ death: Death, runsLiveOn: Bool) {
        self.death = death
        doRunsLiveOn = runsLiveOn
        isUp = false
        setWhileDown = 0
        wasOff = false
        if death == .stopped { lastHeartbeat = (bootNumber, awake, wall...wall) }
        for job in states.indices {
            states[job].mayLose = 0
            states[job].mayGain = 0
            states[job].sinceDeath = 0
            settleCredit(job)
            guard states[job].phase == .armed, states[job].removed == nil else { continue }
            if death == .killed, states[job].spec.basis == .active {
                states[job].mayLose = Self.lossAtKill
            }
        }
    }

    /// The time that counted since the end of a pause is recorded, and is part of the elapsed time
    /// from now on.
    func settleCredit(_ job: Int) {
        states[job].accrued += states[job].creditedAfterPause
        states[job].active += states[job].creditedAfterPause
        states[job].creditedAfterPause = 0
    }

    /// Widens the possible range of the time of a job for what happens to the machine while no
    /// daemon runs.
    func widen(_ how: Passing, of job: Int) {
        guard how == .off, states[job].phase == .armed else { return }
        let unwritten = death == .stopped ? 0 : Self.lossAtPowerCut
        switch states[job].spec.basis {
        case .active: states[job].mayLose = unwritten
        // How long the boot continued is not known.
        case .uptime, .boottime: states[job].mayLose = unwritten + states[job].sinceDeath
        case .wall: break
        }
    }

    // MARK: - An instance starts

    func load(_ jobs: [PlainJob], _ seen: ArraySlice<Seen>) {
        lives += 1
        isUp = true
        isShutDown = false
        downtimeEnd = boot
        skippedWallRange = nil
        waiting = []
        lastOrder = 0
        places = 0
        slots.restart()
        var open = takeOpenRuns()
        for job in states.indices where states[job].isKnown {
            states[job].lastLabel = states[job].writtenLabel
            // The saved state is not restored, so nothing is calculated from it, now or later.
            if jobs.contains(where: {
                $0.name == job || ($0.renamedFrom == job && !states[$0.name].isKnown)
            }) {
                noteEndOfPause(job)
            } else {
                states[job].afterPause = 0
                states[job].afterPauseMost = 0
            }
            var (less, more) = (states[job].mayLose, states[job].mayGain)
            if wasOff, states[job].phase == .armed, states[job].spec.basis != .active {
                // Across boots there is only the wall clock. The basis `wall` counts only by it,
                // and no time counts that it does not show.
                less += setWhileDown
                if states[job].spec.basis == .wall { more += setWhileDown }
            }
            if less > 0 || more > 0 { vague.append((job, less, more, false)) }
            states[job].mayLose = 0
        }
        let before = jobSet
        jobSet = []
        for job in before where !jobs.contains(where: { $0.name == job }) {
            states[job].seen = dealtWith(job, by: states[job].written)
            states[job].isPresent = false
            states[job].removed = wall
            states[job].isJustRemoved = true
        }
        for spec in jobs {
            let old = add(spec, isLoad: true)
            followBoot(spec.name, seen)
            guard let old else { continue }
            for index in open.indices where open[index].job == old {
                open[index].job = spec.name
                // A run that has not started yet starts under the new name.
                if !open[index].isBegun { open[index].name = spec.name }
            }
        }
        bootOfLife = bootNumber
        lastHeartbeat = (bootNumber, awake, wall...wall)
        for job in states.indices { states[job].isJustRemoved = false }
        for job in states.indices where states[job].isKnown && !states[job].isPresent {
            guard let removed = states[job].removed, wall - removed > Self.recordKept else {
                continue
            }
            states[job] = State()
            erased.append(job)
        }
        settle(open)
    }

    /// The runs whose end was not observed, in the order of their scheduled times.
    private func takeOpenRuns() -> [Attempt] {
        var open = orphans
        orphans = []
        for job in states.indices {
            open += states[job].runs
            states[job].runs = []
        }
        open.sort { ($0.label, $0.name, $0.attempt) < ($1.label, $1.name, $1.attempt) }
        return open
    }

    /// A run that was started never starts again: it is still running, or it is lost, after a clean
    /// stop by its runner. A run that waited starts now, or waits as it did before.
    private func settle(_ found: [Attempt]) {
        let isAlive = found.map { $0.isBegun && doRunsLiveOn && $0.boot == bootNumber }
        // Runs that are still running keep their capacity before any other run starts.
        for index in found.indices where isAlive[index] { takeOver(found[index]) }
        var takenUp: [Int] = []
        for index in found.indices where !isAlive[index] {
            let run = found[index]
            let state = states[run.job]
            if !run.isBegun, state.isPresent, state.phase != .stopped {
                takeUp(run)
                takenUp.append(run.job)
            } else {
                let loss: PlainOutcome =
                    run.isBegun && death == .stopped ? .lostRunner : .lostDaemon
                acts.append(act(.close, run, run.boot == bootNumber ? loss : .lostReboot))
            }
        }
        for job in takenUp { release(job) }
    }

    private func takeOver(_ found: Attempt) {
        var run = found
        places += 1
        run.endsAs = nil
        if states[run.job].isPresent {
            run.told = states[run.job].spec
            states[run.job].runs.append(run)
            slots.take(run)
        } else {
            run.told = nil
            orphans.append(run)
        }
    }

    private func takeUp(_ found: Attempt) {
        var run = found
        let job = run.job
        let spec = states[job].spec
        run.told = spec
        run.wait = .turn
        run.answers = 0
        run.order = 0
        let waited = max(0, wall - run.recorded)
        let delay = run.isMissed && run.attempt == 1 ? catchUpDelay(job, run.label) : 0
        run.since = nil
        if run.attempt > 1 {
            let delay = spec.retryDelay(after: run.attempt - 1)
            run.wait = .retry(awake + max(0, delay - waited))
        } else if delay > waited {
            run.wait = .catchUp(awake + delay - waited)
        } else if run.mustBeChecked {
            run.since = awake - (waited - delay)
        }
        states[job].runs.append(run)
    }

    // MARK: - The configuration
}
