// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Generates small random sets of jobs and the events that happen to them. The result depends only
/// on the number of the case.
struct Generator {
    private var state: UInt64
    /// The limits of the slots of the case.
    private var slots: [Int] = []

    init(_ number: UInt64) { state = number }

    private mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    private mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    private mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    /// From `low` up to `high` seconds; most values have microseconds, some are whole seconds.
    private mutating func seconds(_ low: Int64, _ high: Int64) -> Int64 {
        let whole = low + Int64(next() % UInt64(high - low + 1))
        return whole * Unit.second
            + (oneIn(4) ? 0 : Int64(next() % 1_000_000) * Unit.microsecond)
    }

    static func script(_ number: UInt64) -> Script {
        var generator = Generator(number)
        return generator.script()
    }

    private mutating func script() -> Script {
        var script = Script()
        script.seed = next()
        script.runsMax = oneIn(3) ? 1 + below(3) : 64
        if oneIn(2) { script.slots = [1 + below(2), 1 + below(3)] }
        slots = script.slots
        script.wall = seconds(1_795_000_000, 1_795_100_000)
        let count = 1 + below(5)
        for name in 0..<count { script.jobs.append(job(name, at: script.wall)) }
        var pending = script.jobs
        let pace = pending.map(pace).min() ?? 60
        for _ in 0..<70 {
            script.steps += step(&pending, pace: pace, wall: script.wall)
        }
        return script
    }

    /// The approximate number of seconds between two firings of a job.
    private func pace(of job: PlainJob) -> Int64 {
        job.kind == .at ? 120 : max(1, job.span / Unit.second)
    }

    // MARK: - Jobs

    private mutating func job(_ name: Int, at wall: Int64) -> PlainJob {
        var job = PlainJob()
        job.name = name
        schedule(&job, at: wall)
        job.paused = oneIn(12)
        if oneIn(2) { policy(&job) }
        watch(&job)
        if !oneIn(4) { takeSlots(&job) }
        if oneIn(3) { condition(&job) }
        return job
    }

    private mutating func takeSlots(_ job: inout PlainJob) {
        for (slot, most) in slots.enumerated() where !oneIn(3) {
            job.slots.append(PlainJob.Use(slot: slot, weight: 1 + below(most)))
        }
        if oneIn(2) { job.slots.reverse() }
        job.skipsBusy = oneIn(5)
    }

    private mutating func condition(_ job: inout PlainJob) {
        job.condition =
            oneIn(5)
            ? nil
            : PlainJob.Condition(
                number: 1 + below(2), waitMax: oneIn(2) ? 0 : seconds(1, oneIn(2) ? 20 : 400))
    }

    private mutating func watch(_ job: inout PlainJob) {
        job.lateAfter = oneIn(3) ? seconds(1, 120) : nil
        job.longAfter = oneIn(3) ? seconds(1, 300) : nil
        job.staleAfter = oneIn(3) ? seconds(1, 2000) : nil
        job.pausedAfter = oneIn(3) ? seconds(1, 300) : nil
    }

    private mutating func schedule(_ job: inout PlainJob, at wall: Int64) {
        job.instants = []
        job.first = nil
        job.phase = 0
        job.pattern = 0
        switch below(11) {
        case 0...4:
            job.kind = .every
            job.span = oneIn(3) ? seconds(1, 20) : seconds(20, 900)
            if oneIn(3) { job.first = oneIn(3) ? 0 : seconds(0, 1200) }
            job.isFromEnd = oneIn(3)
        case 5:
            job.kind = .after
            job.span = seconds(1, 900)
        case 6:
            job.kind = .onBoot
            job.span = oneIn(4) ? 0 : seconds(0, oneIn(2) ? 300 : 2000)
        case 7...9:
            job.kind = .slots
            job.pattern = below(WallPattern.all.count)
            job.span = WallPattern.all[job.pattern].span
            job.phase = WallPattern.all[job.pattern].phase
        default:
            job.kind = .at
            var at = wall
            for _ in 0...below(4) {
                at += seconds(1, 900)
                job.instants.append(at)
            }
        }
        let bases: [PlainJob.Basis] = [.active, .active, .uptime, .boottime, .wall]
        job.basis = bases[below(bases.count)]
        if job.kind == .onBoot { job.basis = .boottime }
    }

    private mutating func policy(_ job: inout PlainJob) {
        if oneIn(2) { job.onMissed = oneIn(2) ? .skip : .runAll }
        if oneIn(3) { job.deadline = oneIn(3) ? seconds(0, 5) : seconds(5, 600) }
        if oneIn(2) {
            job.onResume = [.keepRemaining, .nextSlot, .fireIfDue, .fireIfDue, .restart][below(5)]
        }
        if !oneIn(3) { job.concurrency = [.forbid, .queue, .replace, .allow][below(4)] }
        if job.concurrency == .allow, oneIn(2) { job.concurrencyMax = 1 + below(3) }
        if oneIn(3) { job.accuracy = seconds(1, 90) }
        // With delays every point is a separate case, and very many of those take long.
        if oneIn(4), job.kind != .every || job.span >= 20 * Unit.second {
            job.randomDelay = seconds(1, 120)
        }
        if oneIn(4) { job.randomOffset = seconds(1, 120) }
        if oneIn(3) { job.catchUpDelay = seconds(1, 300) }
        if oneIn(2) {
            job.retries = 1 + below(3)
            job.retryDelay = Int64(below(40)) * Unit.second / 2
            job.backoffHalves = Int64(2 + below(3))
            job.retryMax = seconds(5, 60)
        }
        job.two = [.failure, .success, .skip][below(3)]
    }

    // MARK: - Steps

    private mutating func step(
        _ pending: inout [PlainJob], pace: Int64, wall: Int64
    ) -> [Step] {
        switch below(100) {
        case 0..<44: return [.pass(time(pace))]
        case 44..<68: return [command(pending)]
        case 68..<72: return [.block(oneIn(2) ? seconds(0, 3) : seconds(1, 150))]
        case 72..<77: return [.sleep(span(pace), quiet: oneIn(4))]
        case 77..<82: return [.set(clock(), quiet: oneIn(4))]
        case 82..<89: return [down(pace)]
        case 89..<92: return [.checkpoint]
        case 92..<96: return edit(&pending, wall: wall) + [.reload]
        case 96..<97: return edit(&pending, wall: wall)
        case 97..<98: return absence(pending, pace: pace)
        case 98..<99: return [.mount]
        default: return [.pass(seconds(0, 2))]
        }
    }

    /// Long enough for something to happen, and short enough to limit the number of events.
    private mutating func time(_ pace: Int64) -> Int64 {
        switch below(6) {
        case 0: seconds(0, 2)
        case 1: seconds(0, 70)
        case 2: seconds(0, 5 * pace)
        default: seconds(0, 2 * pace)
        }
    }

    private mutating func span(_ pace: Int64) -> Int64 {
        switch below(8) {
        case 0, 1: seconds(1, 3)
        case 2, 3: seconds(1, 60)
        case 4, 5: seconds(1, 3 * pace + 1)
        case 6: seconds(60, 3600)
        default: seconds(600, 20_000)
        }
    }

    private mutating func clock() -> Int64 {
        let span =
            switch below(6) {
            case 0: seconds(1, 3)
            case 1, 2: seconds(1, 600)
            case 3, 4: seconds(600, 10_000)
            default: seconds(10_800, 200_000)
            }
        return oneIn(2) ? span : -span
    }

    private mutating func command(_ jobs: [PlainJob]) -> Step {
        let job = oneIn(30) ? below(Machine.names) : jobs.isEmpty ? 0 : jobs[below(jobs.count)].name
        let verbs: [PlainVerb] = [
            .pause, .pause, .pause, .resume, .resume, .resume, .start, .start, .stop, .run, .run,
            .force, .skipNext, .kill,
        ]
        let verb = verbs[below(verbs.count)]
        var until: Int64?
        if verb == .pause, oneIn(2) { until = oneIn(8) ? -seconds(0, 60) : seconds(1, 600) }
        return .command(
            verb, job, until: until, withRun: verb == .pause && oneIn(3), count: below(4))
    }

    private mutating func down(_ pace: Int64) -> Step {
        let death: Death = [.stopped, .killed, .killed, .powerCut][below(4)]
        var gaps: [Gap] = []
        if death == .powerCut || oneIn(5) { gaps.append(reboot(pace)) }
        for _ in 0..<below(3) {
            switch below(10) {
            case 0..<7: gaps.append(.awake(oneIn(2) ? seconds(0, 3) : seconds(0, 900)))
            case 7: gaps.append(.asleep(seconds(1, 900)))
            case 8:
                let span = oneIn(2) ? seconds(1, 3000) : seconds(3000, 200_000)
                gaps.append(.set(oneIn(2) ? span : -span))
            default: gaps.append(reboot(pace))
            }
        }
        return .down(
            death, sinceCheckpoint: oneIn(2) ? seconds(0, 1) : seconds(0, 24), gaps,
            runsLiveOn: oneIn(2))
    }

    private mutating func reboot(_ pace: Int64) -> Gap {
        // This is long enough for a record to be erased, if the number of points stays small.
        let span =
            oneIn(20) && pace >= 600 ? seconds(31 * 86_400, 40 * 86_400) : seconds(10, 1200)
        return .reboot(span, isWrongBy: oneIn(4) ? seconds(0, 120) - 60 * Unit.second : 0)
    }

    /// A job is removed from the configuration for a while, often while it is paused until a time in
    /// this while, and returns as it was.
    private mutating func absence(_ jobs: [PlainJob], pace: Int64) -> [Step] {
        guard jobs.count > 1 else { return [] }
        let job = jobs[below(jobs.count)]
        var steps: [Step] = []
        if oneIn(2) {
            steps.append(
                .command(
                    .pause, job.name, until: seconds(1, 300), withRun: oneIn(3), count: 0))
        }
        steps += [.remove(job.name), .reload]
        steps.append(oneIn(3) ? down(pace) : .pass(seconds(0, 600)))
        return steps + [.edit(job), .reload]
    }

    private mutating func edit(_ jobs: inout [PlainJob], wall: Int64) -> [Step] {
        let free = (0..<Machine.names).filter { name in !jobs.contains { $0.name == name } }
        switch below(8) {
        case 0 where !free.isEmpty:
            let new = job(free[below(free.count)], at: wall)
            jobs.append(new)
            return [.edit(new)]
        case 1 where jobs.count > 1:
            let old = jobs.remove(at: below(jobs.count))
            return [.remove(old.name)]
        case 2 where !jobs.isEmpty && !free.isEmpty:
            let index = below(jobs.count)
            var new = jobs[index]
            new.renamedFrom = new.name
            new.name = free[below(free.count)]
            let old = jobs.remove(at: index)
            jobs.append(new)
            return [.remove(old.name), .edit(new)]
        case 3: return []
        default:
            guard !jobs.isEmpty else { return [] }
            let index = below(jobs.count)
            var new = jobs.remove(at: index)
            switch below(6) {
            case 0: schedule(&new, at: wall)
            case 4: condition(&new)
            case 1: policy(&new)
            case 2: new.paused.toggle()
            case 3: watch(&new)
            default: if new.isCounted { new.span = seconds(1, 900) }
            }
            jobs.append(new)
            return [.edit(new)]
        }
    }
}
