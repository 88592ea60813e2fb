// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Goes through a timeline and compares every observed run with those that the definitions require.
///
/// It is written from the definitions (which time counts for a job, when a grid point or an
/// occurrence is due, what each policy does with it). It follows the timeline independently, and
/// uses no code of the agenda. If the definitions leave room (how much a killed daemon may lose;
/// which of two jobs that are due at one instant comes first), it accepts the observation after it
/// has checked that it is in the possible range.
final class Checker {
    var states: [State]
    /// The runs whose start was observed and whose end was not.
    var living: [RunName] = []
    /// The order of the jobs in the configuration.
    var jobSet: [Int] = []
    let runsMax: Int
    var slots: SlotChecker
    let seed: UInt64
    var wall: Int64
    var awake: Int64
    var boot: Int64
    var bootNumber = 1
    var isUp = false
    var isShutDown = false
    var lives = 0
    /// Until when nothing could fire, by the clock that advances during sleep.
    var downtimeEnd: Int64 = 0
    /// Since the last event that was passed to the daemon: how long the machine slept, and by how
    /// much its wall clock was set.
    var slept: Int64 = 0
    var stepped: Int64 = 0
    var skippedWallRange: (after: Int64, through: Int64)?
    var numbers = 0
    /// The runs that wait for capacity, and how many runs use it.
    var waiting: [Int] = []
    var lastOrder = 0
    /// How many checks of conditions were asked for.
    var checkCount: Int64 = 0
    var places = 0
    /// Runs of jobs that are not in the configuration.
    var orphans: [Attempt] = []
    var death = Death.stopped
    var doRunsLiveOn = false
    /// While no daemon runs: by how much the wall clock was set in total, and whether the machine
    /// was off.
    var setWhileDown: Int64 = 0
    var wasOff = false
    /// The boot in which the last instance started.
    var bootOfLife = 0
    /// When the daemon last saved something, or ended: the boot, and the range of the wall clock.
    /// If the wall clock was set at the same moment, it is not known which of two readings is the
    /// last.
    var lastHeartbeat = (boot: 0, awake: Int64(0), walls: Int64(0)...0)

    /// What must be observed for the current event.
    var rows: [Seen] = []
    var starts: [Seen] = []
    var checks: [Seen] = []
    var acts: [Seen] = []
    var tokens: [Seen] = []
    var answer: Int64 = 0
    var erased: [Int] = []
    var accounts: [Seen] = []
    /// Jobs whose account may differ from the expected one, by up to this much less and more.
    var vague: [(job: Int, less: Int64, more: Int64, isOfPause: Bool)] = []

    var fault: Fault?
    /// The number of firings that were checked: started and skipped.
    var firings = 0
    var skips = 0

    init(_ timeline: Timeline, names: Int) {
        states = Array(repeating: State(), count: names)
        runsMax = timeline.runsMax
        slots = SlotChecker(timeline.slots)
        seed = timeline.seed
        wall = timeline.wall
        awake = timeline.awake
        boot = timeline.awake
    }

    /// The first fault in a timeline.
    /// - Parameter checksWatches: whether the laws of `WatchChecker` are checked too.
    static func judge(_ timeline: Timeline, names: Int, checksWatches: Bool = false) -> (
        fault: Fault?, firings: Int, skips: Int, waits: Int
    ) {
        let checker = Checker(timeline, names: names)
        for index in timeline.lines.indices {
            switch timeline.lines[index] {
            case .passed(let how, let span): checker.pass(span, how)
            case .told(let told, let range): checker.follow(told, timeline.seen[range])
            case .died(let death, let runsLiveOn): checker.die(death, runsLiveOn: runsLiveOn)
            case .booted:
                checker.awake = 0
                checker.boot = 0
                checker.bootNumber += 1
            }
            if checker.fault != nil {
                checker.fault?.line = index
                break
            }
        }
        if checksWatches, checker.fault == nil, let text = WatchChecker.fault(in: timeline.watches)
        {
            checker.fault = Fault(kind: .incident, text: text)
            checker.fault?.line = timeline.lines.count - 1
        }
        if checker.fault == nil, let text = IncidentChecker.fault(in: timeline.episodes) {
            checker.fault = Fault(kind: .incident, text: text)
            checker.fault?.line = timeline.lines.count - 1
        }
        return (checker.fault, checker.firings, checker.skips, checker.slots.waits)
    }

    func fail(_ kind: Fault.Kind, _ text: String) {
        if fault == nil { fault = Fault(kind: kind, text: text) }
    }

    // MARK: - Time passes

    private func counts(_ basis: PlainJob.Basis, _ how: Passing) -> Bool {
        switch how {
        case .awake, .blocked: basis != .active || (isUp && !isShutDown)
        case .asleep: basis == .boottime || basis == .wall
        case .off: basis == .wall
        case .step: false
        }
    }

    func pass(_ span: Int64, _ how: Passing) {
        if how == .awake, isUp, !isShutDown { findLate(within: span) }
        let before = wall
        wall += span
        switch how {
        case .awake, .blocked:
            awake += span
            boot += span
        case .asleep:
            boot += span
            slept += span
        case .off: break
        case .step:
            stepped += span
            for job in states.indices { states[job].setSinceWritten += span }
        }
        if !isUp {
            if how == .step { setWhileDown += abs(span) }
            if how == .off { wasOff = true }
        }
        for job in states.indices where states[job].isKnown && states[job].removed == nil {
            pass(span, how, of: job, from: before)
        }
    }

    private func pass(_ span: Int64, _ how: Passing, of job: Int, from before: Int64) {
        let isCounting = counts(states[job].spec.basis, how)
        switch states[job].phase {
        case .armed:
            guard isCounting else { break }
            states[job].accrued += span
            states[job].active += span
            if !isUp { states[job].sinceDeath += span }
        case .paused:
            if how != .step {
                let over = states[job].pausedUntil.map { min(span, max(0, wall - $0)) } ?? 0
                states[job].pausedFor += span - over
            }
            guard let until = states[job].pausedUntil else { return }
            if how != .awake { states[job].isAfterPauseVague = true }
            if how == .step, span < 0 { states[job].setBackInPause -= span }
            if wall < until {
                states[job].afterPauseMost = max(
                    states[job].afterPauseMost, states[job].afterPause)
                states[job].afterPause = 0
                return
            }
            if isCounting { states[job].afterPause += min(span, wall - until) }
        case .stopped, .finished: return
        }
        if !isUp { widen(how, of: job) }
    }

    /// Reports a job that should have started within this time and has not.
    private func findLate(within span: Int64) {
        for job in jobSet {
            let left = leftToDeadline(job)
            if let left, left < span {
                let late = span - left
                fail(.late, "job \(job): nothing happened \(late) ns ago, when it had to fire")
            }
            for run in states[job].runs {
                if case .condition(let at) = run.wait, at - awake < span, mayBeChecked(run, job) {
                    fail(.late, "job \(job): it was to be checked \(awake - at) ns ago")
                }
            }
            guard states[job].phase != .paused else { continue }
            for run in states[job].runs {
                switch run.wait {
                case .retry(let at), .catchUp(let at):
                    guard at - awake < span else { continue }
                    fail(.late, "job \(job): its delay was over \(awake - at) ns ago")
                case .none, .place, .slot, .turn, .check, .condition: break
                }
            }
        }
    }

    /// How long until the timer of the job must expire at the latest.
    private func leftToDeadline(_ job: Int) -> Int64? {
        let state = states[job]
        switch state.phase {
        case .armed: return leftToDue(job).map { $0 + state.spec.accuracy }
        case .paused: return state.pausedUntil.map { $0 - wall }
        case .stopped, .finished: return nil
        }
    }

    /// How long until the next grid point or occurrence of the job is due.
    func leftToDue(_ job: Int) -> Int64? {
        switch states[job].spec.kind {
        case .onBoot where !states[job].isDueThisBoot: nil
        // While a run has not ended, nothing is due.
        case .every where states[job].spec.isFromEnd && !states[job].runs.isEmpty: nil
        case .every, .after, .onBoot:
            target(job) + delay(job, ordinal: states[job].firings) - states[job].accrued
        case .slots, .at: dueSlot(job).map { $0 - wall }
        }
    }

    // MARK: - Events for the daemon

    func follow(_ told: Told, _ seen: ArraySlice<Seen>) {
        rows.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        checks.removeAll(keepingCapacity: true)
        acts.removeAll(keepingCapacity: true)
        tokens.removeAll(keepingCapacity: true)
        erased.removeAll(keepingCapacity: true)
        vague.removeAll(keepingCapacity: true)
        answer = 0
        if case .load(let jobs) = told {
            load(jobs, seen)
        } else {
            noteClocks()
            switch told {
            case .load: break
            case .reload(let jobs): if !isShutDown { reload(jobs, seen) }
            case .wake, .clockChanged: if !isShutDown { wake(seen) }
            case .wakeAhead: if !isShutDown { wake(seen, isAhead: true) }
            case .command(let verb, let job, let until, let withRun, let count):
                obey(verb, job, until: until, withRun: withRun, count: count, seen)
            case .ended(let job, let label, let attempt, let outcome):
                end(job, label, attempt, outcome)
            case .checked(let number, let answer): if !isShutDown { take(answer, number) }
            case .mountsChanged: if !isShutDown { noteMounts() }
            case .checkpoint, .began, .incidentsDue: break
            case .shutdown: isShutDown = true
            }
        }
        fillPlaces()
        fillSlots()
        settleIntervals(seen)
        if fault == nil { compare(seen) }
        for job in jobSet where states[job].runs.isEmpty { states[job].mayOverlap = false }
        slept = 0
        stepped = 0
    }

    /// Half a second is the minimum for a sleep or a step, and three hours for a correction.
    private func noteClocks() {
        if slept >= Unit.second / 2 { downtimeEnd = boot }
        guard abs(stepped) >= Unit.second / 2 else { return }
        if abs(stepped) >= 3 * Unit.hour {
            skippedWallRange = nil
            for job in jobSet {
                states[job].lastLabel = nil
                let past = states[job].phase == .armed ? passedBySetting(job) : nil
                if stepped < 0 {
                    states[job].corrections += 1
                    states[job].seen = wall
                    if !states[job].spec.isCounted { leaveFinished(job) }
                }
                states[job].seen = wall
                finishWithoutSlots(job)
                if let past, states[job].phase == .finished {
                    skip(job, past.first, past.count, Seen.Reason.clockSet)
                }
            }
        } else if stepped > 0 {
            skippedWallRange = (after: wall - stepped, through: wall)
        }
    }
}
