// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is wrong with what was seen.
struct Fault {
    enum Kind: String {
        case missed, extra, early, late, overlapping, whilePaused = "run of a paused or stopped job"
        case wrongCount = "wrong count", wrongLabel = "wrong label", wrongAttempt = "wrong attempt"
        case account = "wrong account", order = "wrong order", answer = "wrong answer"
        case nonsense
    }

    var kind: Kind
    /// The line of the timeline it shows at.
    var line = 0
    var text: String
}

/// Goes through a timeline and holds every run that was seen against those the definitions demand.
///
/// It is written from the definitions (what counts as a job's time, when a grid point or a slot is due, what
/// each policy does with it), follows the timeline by itself, and shares nothing with the agenda but the
/// words. Where the definitions leave room (how much a killed daemon may lose; which of two jobs due at one
/// instant comes first) it takes what it saw, after it made sure that it lies within.
struct Checker {
    enum Phase: Int { case armed, paused, stopped, finished }

    enum Wait: Equatable {
        case none, place, turn
        case retry(Int64)
    }

    /// A run on record that has not ended.
    struct Attempt {
        var number: Int
        var job: Int
        var label: Int64
        var attempt: Int
        var missed: Int64
        /// The job as it was then; nil: of a former life, and unknown now.
        var told: PlainJob?
        var wait = Wait.none
        var recorded: Int64
        var boot: Int
        var isBegun = false
        var isToBeReplaced = false
    }

    struct State {
        var spec = PlainJob()
        /// Whether the configuration names it, and whether there is a record of it.
        var isPresent = false
        var isKnown = false
        var phase = Phase.armed
        var accrued: Int64 = 0
        var active: Int64 = 0
        var firings: Int64 = 0
        /// Up to when its slots are dealt with.
        var seen: Int64 = 0
        var lastLabel: Int64?
        /// How often the calendar clock was corrected backwards since it was there.
        var corrections: Int64 = 0
        var skips = 0
        var isConfiguredPaused = false
        var pausedSince: Int64 = 0
        /// How long the pause has really lasted.
        var pausedFor: Int64 = 0
        var pausedUntil: Int64?
        var isPausedByConfiguration = false
        var isPausedWithRun = false
        /// What counted since the pause was over, before that was noticed.
        var afterPause: Int64 = 0
        /// What counted since the pause was over, before this life.
        var creditedAfterPause: Int64 = 0
        /// The same where the clock was set back to before the end of a pause that was over by then.
        var afterPauseMost: Int64 = 0
        /// By how much the clock was set back since the pause was written down: that hides as much of a step
        /// forward from whoever sees only both.
        var setBackInPause: Int64 = 0
        /// Whether nobody but this checker can know that exactly.
        var isAfterPauseVague = false
        var removed: Int64?
        /// Whether the configuration lost it just now.
        var isJustRemoved = false
        /// When its account was written last, and the label it had then.
        var written: Int64 = 0
        var writtenLabel: Int64?
        /// Whether runs of it may live on from a time when they might overlap.
        var mayOverlap = false
        /// Whether runs of it were taken up in this life.
        var isTakenUp = false
        /// Its runs that live or wait, oldest first.
        var runs: [Attempt] = []

        // While no daemon lives:
        /// How much its account may be too small, and too large, when it is taken up again.
        var mayLose: Int64 = 0
        var mayGain: Int64 = 0
        /// What counted since the last life ended.
        var sinceDeath: Int64 = 0
    }

    /// What a run is known by.
    struct RunName: Equatable {
        var job: Int
        var label: Int64
        var attempt: Int
    }

    var states: [State]
    /// The runs that were seen to start and not to end.
    var living: [RunName] = []
    /// The order of the configuration.
    var roster: [Int] = []
    let runsMax: Int
    let seed: UInt64
    var wall: Int64
    var awake: Int64
    var boot: Int64
    var bootNumber = 1
    var isUp = false
    var isShutDown = false
    var lives = 0
    /// Until when nothing could fire, by the clock that runs in sleep too.
    var darkUntil: Int64 = 0
    /// Since the daemon was told something last: how long the machine slept, and by how much its calendar
    /// clock was set.
    var slept: Int64 = 0
    var stepped: Int64 = 0
    var steppedOver: (after: Int64, through: Int64)?
    var numbers = 0
    /// The runs that wait for a place, and how many have one.
    var waiting: [Int] = []
    var places = 0
    /// Runs of jobs the configuration does not name.
    var orphans: [Attempt] = []
    var death = Death.stopped
    var doRunsLiveOn = false
    /// While no daemon lives: by how much the calendar clock was set in all, and whether the machine was off.
    var setWhileDown: Int64 = 0
    var wasOff = false

    /// What has to be seen of the event at hand.
    var rows: [Seen] = []
    var starts: [Seen] = []
    var acts: [Seen] = []
    var tokens: [Seen] = []
    var answer: Int64 = 0
    var erased: [Int] = []
    var accounts: [Seen] = []
    /// Jobs whose account may be other than it is thought, by up to so much less and more.
    var vague: [(job: Int, less: Int64, more: Int64, isOfPause: Bool)] = []

    var fault: Fault?
    /// How many firings were judged: started, and let go.
    var firings = 0
    var skips = 0

    init(_ timeline: Timeline, names: Int) {
        states = Array(repeating: State(), count: names)
        runsMax = timeline.runsMax
        seed = timeline.seed
        wall = timeline.wall
        awake = timeline.awake
        boot = timeline.awake
    }

    /// The first thing that is wrong with a timeline.
    static func judge(_ timeline: Timeline, names: Int) -> (
        fault: Fault?, firings: Int, skips: Int
    ) {
        var checker = Checker(timeline, names: names)
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
        return (checker.fault, checker.firings, checker.skips)
    }

    mutating func fail(_ kind: Fault.Kind, _ text: String) {
        if fault == nil { fault = Fault(kind: kind, text: text) }
    }

    // MARK: - Time goes by

    private func counts(_ basis: PlainJob.Basis, _ how: Passing) -> Bool {
        switch how {
        case .awake, .blocked: basis != .active || (isUp && !isShutDown)
        case .asleep: basis == .boottime || basis == .wall
        case .off: basis == .wall
        case .step: false
        }
    }

    mutating func pass(_ span: Int64, _ how: Passing) {
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
        case .step: stepped += span
        }
        if !isUp {
            if how == .step { setWhileDown += abs(span) }
            if how == .off { wasOff = true }
        }
        for job in states.indices where states[job].isKnown && states[job].removed == nil {
            pass(span, how, of: job, from: before)
        }
    }

    private mutating func pass(_ span: Int64, _ how: Passing, of job: Int, from before: Int64) {
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

    /// Whoever has to start within this time has not.
    private mutating func findLate(within span: Int64) {
        for job in roster {
            let left = leftToDeadline(job)
            if let left, left < span {
                fail(.late, "job \(job): nothing happened \(-left) ns ago, when it had to fire")
            }
            guard states[job].phase != .paused else { continue }
            for run in states[job].runs {
                if case .retry(let at) = run.wait, at - awake < span {
                    fail(.late, "job \(job): the further attempt was due \(awake - at) ns ago")
                }
            }
        }
    }

    /// How long until the job's timer has to ring at the latest.
    private func leftToDeadline(_ job: Int) -> Int64? {
        let state = states[job]
        switch state.phase {
        case .armed: return leftToDue(job).map { $0 + state.spec.accuracy }
        case .paused: return state.pausedUntil.map { $0 - wall }
        case .stopped, .finished: return nil
        }
    }

    /// How long until the job's next grid point or slot is due.
    func leftToDue(_ job: Int) -> Int64? {
        switch states[job].spec.kind {
        case .every, .after:
            target(job) + delay(job, ordinal: states[job].firings) - states[job].accrued
        case .slots, .at: dueSlot(job).map { $0 - wall }
        }
    }

    // MARK: - The daemon is told something

    mutating func follow(_ told: Told, _ seen: ArraySlice<Seen>) {
        rows.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
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
            case .order(let verb, let job, let until, let withRun, let count):
                obey(verb, job, until: until, withRun: withRun, count: count, seen)
            case .ended(let job, let label, let attempt, let outcome):
                end(job, label, attempt, outcome)
            case .checkpoint: break
            case .shutdown: isShutDown = true
            }
        }
        if fault == nil { compare(seen) }
        for job in roster where states[job].runs.isEmpty { states[job].mayOverlap = false }
        slept = 0
        stepped = 0
    }

    /// Half a second is the least that is a sleep or a step; three hours the least that is a correction.
    private mutating func noteClocks() {
        if slept >= Unit.second / 2 { darkUntil = boot }
        guard abs(stepped) >= Unit.second / 2 else { return }
        if abs(stepped) >= 3 * Unit.hour {
            steppedOver = nil
            for job in roster {
                states[job].lastLabel = nil
                if stepped < 0 { states[job].corrections += 1 }
                states[job].seen = wall
                if states[job].phase == .armed { finishWithoutSlots(job) }
            }
        } else if stepped > 0 {
            steppedOver = (after: wall - stepped, through: wall)
        }
    }

    // MARK: - What has to be seen, and what was

    private mutating func compare(_ seen: ArraySlice<Seen>) {
        var cursor = (row: 0, start: 0, act: 0, token: 0, erased: 0)
        var answered: Int64 = 0
        accounts.removeAll(keepingCapacity: true)
        for one in seen where one.kind == .start || one.kind == .close { tally(one) }
        for one in seen {
            switch one.kind {
            case .row: expect(one, rows, &cursor.row)
            case .start: expect(one, starts, &cursor.start)
            case .end, .suspend, .resume, .close: expect(one, acts, &cursor.act)
            case .fired, .skipped, .resumed: expect(one, tokens, &cursor.token)
            case .account: accounts.append(one)
            case .answer: answered = one.value
            case .erased:
                if cursor.erased < erased.count, erased[cursor.erased] == one.job {
                    cursor.erased += 1
                } else {
                    fail(.account, "the record of job \(one.job) was removed")
                }
            case .nonsense: fail(.nonsense, "job \(one.job): \(one)")
            }
            if fault != nil { return }
        }
        // Of several in one transaction, the last one stays.
        for (index, one) in accounts.enumerated()
        where !accounts[(index + 1)...].contains(where: { $0.job == one.job })
            && !erased.contains(one.job)
        {
            compareAccount(one)
        }
        if cursor.row < rows.count { fail(.missed, "not recorded: \(rows[cursor.row])") }
        if cursor.start < starts.count { fail(.missed, "not started: \(starts[cursor.start])") }
        if cursor.act < acts.count { fail(.missed, "not done: \(acts[cursor.act])") }
        if cursor.token < tokens.count { fail(.missed, "not told: \(tokens[cursor.token])") }
        if cursor.erased < erased.count { fail(.account, "kept the records of \(erased)") }
        if answered != answer { fail(.answer, "answered \(answered), expected \(answer)") }
    }

    private mutating func expect(_ one: Seen, _ wanted: [Seen], _ cursor: inout Int) {
        guard cursor < wanted.count else { return blame(one, nil) }
        guard wanted[cursor] == one else { return blame(one, wanted[cursor]) }
        cursor += 1
        if one.kind == .fired { firings += 1 }
        if one.kind == .skipped { skips += Int(one.value) }
    }

    /// Puts a name to a difference.
    private mutating func blame(_ one: Seen, _ wanted: Seen?) {
        let state = states[one.job]
        guard let wanted, wanted.kind == one.kind, wanted.job == one.job else {
            if one.kind == .row || one.kind == .start {
                if state.phase == .paused || state.phase == .stopped {
                    return fail(.whilePaused, "job \(one.job): \(one)")
                }
                if let left = leftToDue(one.job), left > 0, one.attempt == 1 {
                    return fail(.early, "job \(one.job), \(left) ns before its time: \(one)")
                }
            }
            return fail(.extra, "saw \(one), expected \(wanted.map { "\($0)" } ?? "nothing")")
        }
        let kind: Fault.Kind =
            wanted.label != one.label
            ? .wrongLabel
            : wanted.attempt != one.attempt
                ? .wrongAttempt : wanted.value != one.value ? .wrongCount : .order
        fail(kind, "saw \(one), expected \(wanted)")
    }

    /// What holds whatever else does, by what was seen alone: runs do not overlap, and no more live than may.
    private mutating func tally(_ one: Seen) {
        let id = RunName(job: one.job, label: one.label, attempt: one.attempt)
        guard one.kind == .start else {
            living.removeAll { $0 == id }
            return
        }
        living.append(id)
        if living.count > runsMax {
            fail(.overlapping, "\(living.count) runs live, \(runsMax) may: \(one)")
        }
        let state = states[one.job]
        guard state.spec.concurrency != .allow, !state.mayOverlap,
            !Leniency.openRunsComeOneByOne || !state.isTakenUp
        else { return }
        if living.count(where: { $0.job == one.job }) > 1 {
            fail(.overlapping, "job \(one.job): a second run lives: \(one)")
        }
    }

    /// Takes an account for what is not exactly known, if it lies within what is.
    mutating func adoptVague(_ one: Seen) {
        let job = one.job
        for index in vague.indices where vague[index].job == job {
            let credited = states[job].creditedAfterPause
            let isPaused = vague[index].isOfPause
            let difference = one.value - states[job].accrued - credited
            let isWithin = difference >= -vague[index].less && difference <= vague[index].more
            // The parts cannot be known, only that both accounts tell the same.
            if isWithin, one.more - states[job].active - credited == difference {
                states[job].creditedAfterPause += isPaused ? difference : 0
                states[job].accrued += isPaused ? 0 : difference
                states[job].active += isPaused ? 0 : difference
                vague[index].less = 0
                vague[index].more = 0
            }
        }
    }

    private mutating func compareAccount(_ one: Seen) {
        let job = one.job
        adoptVague(one)
        let state = states[job]
        states[job].written = wall
        states[job].writtenLabel = one.label == 0 ? nil : one.label
        let accrued = state.accrued + state.creditedAfterPause
        let active = state.active + state.creditedAfterPause
        guard accrued == one.value, active == one.more,
            state.phase.rawValue == one.attempt, state.skips == one.reason,
            state.lastLabel ?? 0 == one.label
        else {
            return fail(
                .account,
                "job \(job): accrued \(one.value), active \(one.more), phase \(one.attempt), "
                    + "\(one.reason) to be let go, last \(one.label); expected \(accrued), "
                    + "\(active), \(state.phase.rawValue), \(state.skips), "
                    + "\(state.lastLabel ?? 0); within \(vague)")
        }
    }
}
