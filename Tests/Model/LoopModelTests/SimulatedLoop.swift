// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TimerCore
import TimerStore

@testable import TimerDaemon
@testable import TimerRecording

/// The agenda and the values of the loop around it, with a store whose writes take a while, a runner
/// and a clock, in simulated time: what depends on their order in the daemon depends on the seed here.
///
/// It goes through the steps of `Loop` without its queue: receive, decide, perform, route.
final class SimulatedLoop {
    /// Something that the loop does in a later turn, or that happens outside.
    enum Step {
        /// The store has done its oldest request.
        case written
        /// The rest of a decision, whose durable write is on the disk.
        case rest(Decision)
        case stored
        case recorded([Run])
        /// A run with this identity was stored already.
        case refused(Run.ID)
        case clocksAreThere
        case setTimers
        /// The next part of a command for many jobs.
        case portion(Command)
        case transactionSaved(Command, [RequestQueue.Request], Set<Run.ID>)
        /// The process of a run has ended.
        case runEnded(Run.ID)
        /// The runner has answered a check of a condition.
        case checked(Run.ID, number: UInt64, Condition.Answer)
        /// The runner has noticed that what is mounted has changed.
        case mountsChanged
        /// Somebody gives a command.
        case command(Command)
        /// Somebody holds the machine, or releases it.
        case machine(isHeld: Bool, number: Int)
    }

    /// What follows from a write that is done.
    enum Sequel {
        case rest(Decision)
        case starts([RecordedStart])
        case checks([ConditionCheck])
        case through(UInt64)
        case closed([Run.ID])
        case transaction(Command, [RequestQueue.Request])
        case answer(Reply, Answer)
    }

    /// Which writes are done, of those whose callbacks have just been called.
    let done = DoneWrites()
    let alarms = AlarmTable()
    let world: World
    var random: SeededRandom

    private(set) var agenda: Agenda
    var early = EarlyFiring()
    var router = WriteRouter()
    private(set) var gate = Gate<Step>()
    var timers: JobTimers<SimulatedTimer>
    let progress = StoreProgress()

    /// The requests that the store has not done, and what follows from each.
    var requests: [(changes: [Store.Change], request: RequestQueue.Request)] = []
    var sequels: [Int: Sequel] = [:]
    /// The runs whose condition the runner of this daemon has found to be met.
    var agreed: Set<Run.ID> = []
    private var events: [(at: Int64, number: Int, step: Step)] = []
    var number = 0
    /// The command for many jobs of which a part is decided.
    private var deciding: Command?

    /// Starts a daemon on what the world has stored.
    init(_ world: World, jobs: [Job], random: SeededRandom) throws {
        self.world = world
        self.random = random
        timers = JobTimers { [alarms] in SimulatedTimer(job: $0, alarms) }
        var past = try world.store.recover()
        for index in past.openRuns.indices {
            past.openRuns[index].isLive = world.runs[past.openRuns[index].id] != nil
        }
        let loadedAt = world.now
        let (agenda, actions) = Agenda.load(
            JobSet(jobs, slots: World.slots), past, concurrentRunsMax: 3, at: loadedAt)
        self.agenda = agenda
        perform(
            Decision(
                actions, at: loadedAt, written: loadedAt.wall, opening: [.beginInstance(loadedAt)]))
        // The runner still has the ends that no daemon has confirmed.
        for run in world.runs.values { plan(.runEnded(run.id), at: max(run.end, world.time)) }
    }

    // MARK: - Time

    func plan(_ step: Step, at instant: Int64) {
        number += 1
        let place = events.firstIndex { $0.at > instant } ?? events.endIndex
        events.insert((instant, number, step), at: place)
    }

    /// Does this in a later turn of the queue.
    func later(_ step: Step) {
        plan(step, at: world.time + Int64(random.int(below: 60_000)))
    }

    /// Whether nothing happens before some timer fires.
    var isQuiet: Bool { events.isEmpty && requests.isEmpty }

    /// Lets the next thing happen.
    ///
    /// - Returns: false if nothing will before this instant.
    func advance(before limit: Int64) -> Bool {
        let timer = alarms.next
        guard let first = [events.first?.at, timer?.at].compactMap(\.self).min(), first < limit
        else { return false }
        // Each wake-up is a little late.
        world.time = max(world.time, first) + Int64(random.int(below: 80_000))
        if let timer, timer.at == first {
            alarms.remove(timer.id)
            wake(timer.job)
        } else {
            take(events.removeFirst().step)
        }
        return true
    }

    private func take(_ step: Step) {
        switch step {
        case .written: finishWrite()
        case .rest(let rest):
            if let job = rest.answer?.job { router.endSaving(job) }
            perform(rest)
        case .stored:
            progress.endReport()
            receive(.stored)
        case .recorded(let runs): receive(.recorded(runs))
        case .refused(let run): receive(.ended(run, .lost(.daemon), RunUsage()))
        case .clocksAreThere:
            early.noteClocks()
            runWaiting()
        case .setTimers:
            setTimers(of: timers.takePortion())
            if timers.areUnset { later(.setTimers) }
        case .portion(let command): decide(command)
        case .transactionSaved(let command, let writes, let refused):
            finish(command, writes, refused)
        case .runEnded(let run):
            receive(.ended(run, World.outcome(of: run), RunUsage(), at: world.now.wall))
        case .checked(let run, let number, let answer):
            receive(.checked(run, number: number, answer))
        case .mountsChanged: receive(.machineChanged(.mounts))
        case .command(let command):
            gate.add(
                .command(command),
                after: command.isForMany ? [.clocks, .decision, .transaction] : .clocks)
            runWaiting()
        case .machine:
            gate.add(step, after: [.clocks, .decision, .transaction])
            runWaiting()
        }
    }

    // MARK: - Receive

    func receive(_ event: Event, answer: Reply? = nil) {
        let now = early.reading(world.now)
        perform(
            Decision(
                decide(event, at: now), at: now, written: real(now), answer: answer))
    }

    private func wake(_ job: Job.Name) {
        if let alarm = agenda.alarm(of: job) { decideAhead(alarm.left(at: world.now), of: job) }
        router.beginWakeUp()
        timers.beginWakeUp()
        receive(.wake(job))
        for _ in 0..<Loop.firingsPerWake {
            guard let next = agenda.nextRing(at: world.now), decideAhead(next.after, of: next.job)
            else { break }
            receive(.wake(next.job))
        }
        handOver(router.endWakeUp())
        setTimers(of: timers.endWakeUp())
    }

    @discardableResult
    private func decideAhead(_ left: Duration, of job: Job.Name) -> Bool {
        guard agenda.mayFireAhead(job), !agenda.clocksJumped(at: world.now),
            !router.hasTransaction, deciding == nil
        else { return false }
        return early.decideAhead(left: left, at: world.now.awake, isBusy: isBusy)
    }

    var isBusy: Bool {
        early.isBusy(activeRuns: agenda.liveRuns, at: world.now.awake)
    }

    // MARK: - Decide

    private func decide(_ event: Event, at now: Now) -> [Action] {
        agenda.ahead = early.lead(of: now, at: world.now.awake)
        agenda.storedThrough = progress.written
        let actions = agenda.handle(event, at: now)
        if progress.note(isHolding: agenda.isHolding, known: agenda.storedThrough) { sendStored() }
        return actions
    }

    func real(_ now: Now) -> WallInstant {
        now.wall - early.lead(of: now, at: world.now.awake)
    }

    private var blockers: Blockers {
        var present = Blockers()
        if early.isAhead(at: world.now.awake) { present.insert(.clocks) }
        if deciding != nil { present.insert(.decision) }
        if router.hasTransaction { present.insert(.transaction) }
        return present
    }

    private func runWaiting() {
        while let next = gate.next(despite: blockers) {
            world.expect(!early.isAhead(at: world.now.awake), "a command is ahead of the clocks")
            switch next {
            case .command(let command) where command.isForMany:
                router.beginTransaction()
                deciding = command
                later(.portion(command))
            case .command(let command): execute(command, on: command.jobs[0])
            case .machine(let isHeld, let number): hold(isHeld, number)
            default: break
            }
        }
        guard gate.isWaiting(for: .clocks),
            let wait = early.waitForClocks(at: world.now.awake)
        else { return }
        plan(.clocksAreThere, at: world.time + wait.wholeNanoseconds)
    }

    // MARK: - Commands

    private func execute(_ command: Command, on job: Job.Name) {
        world.decided(command, on: job)
        let answers = world.answers
        receive(
            .command(command.command(for: job)),
            answer: Reply(about: job, isPart: command.isForMany) { _ in
                if !command.isForMany { answers.note(command.number) }
            })
    }

    private func hold(_ isHeld: Bool, _ number: Int) {
        let answers = world.answers
        receive(
            isHeld ? .hold(.init(by: .user("root"))) : .release(by: .user("root")),
            answer: Reply { _ in answers.note(number) })
        world.decided(isHeld, number)
    }

    /// Decides on two further jobs of the command.
    private func decide(_ command: Command) {
        var rest = command
        rest.rest = command.rest.dropFirst(2)
        for job in command.rest.prefix(2) {
            router.reach(job)
            execute(command, on: job)
        }
        guard rest.rest.isEmpty else { return later(.portion(rest)) }
        deciding = nil
        let writes = router.takeTransaction().map { request($0) }
        let saved = request(writes.flatMap(\.changes), then: .transaction(command, writes))
        add([saved])
    }

    private func finish(
        _ command: Command, _ writes: [RequestQueue.Request], _ refused: Set<Run.ID>
    ) {
        for late in router.endTransaction() { submit(request(late)) }
        add([request([], keepsOrder: true, then: .through(agenda.eventNumber))])
        for write in writes { complete(write, refused) }
        world.answers.note(command.number)
        runWaiting()
    }

    // MARK: - Perform

    private func perform(_ decision: Decision) {
        var decision = decision
        let now = decision.now
        var room = 4
        while let action = decision.takeAction() {
            if let job = action.jobOfTimer {
                switch timers.request(job, room: &room) {
                case .setNow: setTimers(of: CollectionOfOne(job))
                case .setWithWakeUp, .setLater(isFirst: false): break
                case .setLater(isFirst: true): later(.setTimers)
                }
                continue
            }
            if case .log = action {
                _ = decision.takeAccount()
                continue
            }
            let notes = decision.takeNotes(after: action)
            if let changes = decision.takeDurable(action, notes, accounts: { _ in [] }) {
                _ = decision.takeOpening()
                if let job = decision.answer?.job { router.beginSaving(job) }
                return submit(request(changes, durable: true, then: .rest(decision)))
            }
            perform(action, notes, of: &decision, at: now)
        }
        let history = decision.takeHistory()
        if !history.isEmpty { submit(request(history.map(\.change))) }
    }

    private func perform(
        _ action: Action, _ notes: [JobNote], of decision: inout Decision, at now: Now
    ) {
        switch action {
        case .begin(let runs, let start, let records):
            let batch = CommitBatch(
                runs: runs, start: start, records: records, history: decision.takeHistory(),
                notes: notes)
            record(batch, with: decision.takeEnded(), at: now)
        case .start(let runs):
            early.note(starts: runs.count, at: now.awake)
            submit(
                RecordedStart(
                    runs: runs, decided: now.awake, event: router.countedEvent(agenda.eventNumber)),
                after: [.setReleased(runs.map(\.id), true)])
        case .startReleased(let runs):
            early.note(starts: runs.count, at: now.awake)
            begin([RecordedStart(runs: runs, decided: now.awake, event: 0)], except: [])
            let event = router.countedEvent(agenda.eventNumber)
            submit(
                request([], keepsOrder: true, then: .through(event)),
                of: runs.map(\.id.firing.job))
        case .withdraw(let runs): submit(request([.setReleased(runs, false)], durable: true))
        case .end(let run, _): plan(.runEnded(run), at: world.endSoon(run))
        case .close(let run):
            let change = Store.Change.close(
                run.id, run.outcome, run.usage, failed: run.failed, began: run.began,
                at: run.ended ?? now.wall)
            let changes = [change] + notes.map(\.change)
            guard !decision.keep(run.id, changes) else { return }
            submit(request(changes, then: .closed([run.id])))
        case .notify:
            submit(request(decision.takeHistory().map(\.change) + notes.map(\.change)))
        case .save(let records, let durable): save(records, notes, durable, &decision)
        case .storeJobSet(let change, let durable):
            submit(request(change.changes, durable: durable))
        case .answer(let word): answer(word, decision.answer)
        case .check(let checks):
            submit(request([], then: .checks(checks)), of: checks.map(\.run.id.firing.job))
        case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .log, .signal, .suspend, .resume,
            .armIncidents, .armHold, .decline:
            break
        }
    }

    private func answer(_ word: Answer, _ reply: Reply?) {
        guard let reply, let job = reply.job, router.isSaving(job) else {
            reply?(word)
            return
        }
        submit(request([], durable: true, then: .answer(reply, word)), of: [job])
    }
}
