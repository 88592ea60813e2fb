// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import HostQueues
import TimerControl
package import TimerCore
package import TimerLog
package import TimerRecording
package import TimerRunnerProtocol
package import TimerStore

/// The deciding queue, on which all decisions are made. Timers, signals, ends of runs and requests
/// arrive here one after the other. Each goes through four steps, and nothing in them waits for a
/// disk or a peer:
///
/// 1. Receive: an event comes at once, or after what it waits for, such as the clocks (`Gate`).
/// 2. Decide: the agenda handles the event as of one reading of the clocks (`EarlyFiring`).
/// 3. Perform: the actions that it returns are performed in their order (`Decision`).
/// 4. Route: what they write is handed to the recorder, now or later (`WriteRouter`).
///
/// Work on many jobs goes through them in portions (`Portions`).
package actor Loop: QueueActor {
    /// If a timer fires later than this, the daemon did not run meanwhile.
    static let lateMax: Duration = .milliseconds(100)
    /// How many further firings are decided in the wake-up of one at most.
    static let firingsPerWake = 16
    /// How many jobs are handled in a portion: about a fifth of a millisecond.
    static let jobsPerPortion = 128

    package nonisolated let executor = QueueExecutor(
        label: "timerd.worker", qos: SchedulingPriority.qos)
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    let parts: LoopParts
    package private(set) var agenda: Agenda
    var early = EarlyFiring()
    var timers: JobTimers<JobTimer>
    var gate = Gate<Waiting>()
    var router = WriteRouter()
    var portions = Portions()
    var heartbeats: Heartbeats
    var serviceTimers: ServiceTimers
    var steadyReading = SteadyReading()
    package var config: ConfigState
    var runner = RunnerState.unknown(limit: nil)
    /// Why the state cannot be saved for now.
    var storeError: StoreError?
    var shared = SharedJobs()

    private init(
        _ agenda: consuming Agenda, with beginning: Beginning, _ parts: LoopParts,
        _ reference: LoopReference
    ) {
        self.agenda = agenda
        self.parts = parts
        timers = JobTimers { [queue = executor.queue] in reference.makeTimer(of: $0, on: queue) }
        heartbeats = Heartbeats(beginning.unstored, since: beginning.at.awake)
        serviceTimers = ServiceTimers(on: executor.queue)
        config = ConfigState(rejected: beginning.rejected, at: beginning.at.wall)
    }

    /// A loop that starts at once: it saves the loaded state, sets the timers, and starts the runs
    /// that were recorded and not started. Nothing else can reach the loop before that.
    ///
    /// - Parameter agenda: the agenda after loading. There must be no other copy of it, because the
    ///   first change of each of its tables would copy that then.
    package static func started(
        _ agenda: consuming Agenda, with beginning: Beginning, clocks: Clocks, recorder: Recorder,
        heartbeatWriter: HeartbeatWriter,
        eventLogger: EventLogger, supervision: Supervision, launcher: any RunLauncher
    ) -> Loop {
        let parts = LoopParts(
            clocks: clocks, recorder: recorder, heartbeatWriter: heartbeatWriter,
            eventLogger: eventLogger, supervision: supervision, launcher: launcher,
            since: beginning.at.wall)
        let reference = LoopReference()
        let loop = Loop(agenda, with: beginning, parts, reference)
        reference.loop = loop
        loop.later { $0.begin(beginning) }
        return loop
    }

    // MARK: - Receive

    /// Handles an event.
    ///
    /// - Parameters:
    ///   - end: the end of a run that it reports.
    ///   - answer: answers the command that it is.
    ///   - onDelayed: called if what must be on the disk cannot be written for now.
    ///   - done: called once everything is done that it leads to.
    package func receive(
        _ event: Event, end: (run: Run.ID, end: RunEnd)? = nil, answer: Reply? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil,
        done: (@Sendable (isolated Loop) -> Void)? = nil
    ) {
        let now = reading()
        perform(
            Decision(
                decide(event, at: now), at: now, written: real(now), end: end, answer: answer,
                onDelayed: onDelayed, done: done))
    }

    /// Handles the end of a run.
    package func receive(_ end: RunEnd, of run: Run.ID) {
        receive(
            .ended(run, end.outcome, end.usage, at: end.at, hasOutput: !end.tail.isEmpty),
            end: (run, end))
    }

    /// Handles a timer that fired. If it fired late, the daemon did not run meanwhile, and the ends
    /// of some runs may not have been reported yet. They are handled first: otherwise this run
    /// would be skipped because of a run that is over.
    func timerFired(_ job: Job.Name) {
        let late = agenda.lateness(at: clocks.now()) ?? .zero
        if agenda.liveRuns > 0, late > Self.lateMax {
            launcher.barrier { self.later { $0.wake(job) } }
        } else {
            wake(job)
        }
    }

    /// Lets a job fire, and then one after the other the jobs that are due soon after it, which saves
    /// a wake-up for each.
    private func wake(_ job: Job.Name) {
        let now = clocks.now()
        if let alarm = agenda.alarm(of: job) {
            decideAhead(alarm.left(at: now), of: job, from: now)
        }
        router.beginWakeUp()
        timers.beginWakeUp()
        receive(.wake(job))
        for _ in 0..<Self.firingsPerWake {
            let now = clocks.now()
            guard let next = agenda.nextRing(at: now),
                decideAhead(next.after, of: next.job, from: now)
            else { break }
            receive(.wake(next.job))
        }
        handOver(router.endWakeUp())
        setTimers(of: timers.endWakeUp())
    }

    /// Makes the next readings those of the instant at which the job is due, if that is soon and
    /// nothing can prevent its run until then. Not if a clock was set, and not while something
    /// happens to many jobs: it would then be dated ahead too.
    ///
    /// - Returns: whether it did.
    @discardableResult
    private func decideAhead(_ left: Duration, of job: Job.Name, from now: Now) -> Bool {
        guard agenda.mayFireAhead(job), !agenda.clocksJumped(at: now), !router.hasTransaction,
            !portions.isDeciding, !portions.contains(.checkpoint)
        else { return false }
        return early.decideAhead(left: left, at: now.awake, isBusy: isBusy)
    }

    // MARK: - Decide

    /// One reading of the clocks for the agenda. It may be ahead of them.
    func reading() -> Now { early.reading(clocks.now()) }

    /// By how much such a reading is ahead of the clocks.
    func lead(of now: Now) -> Duration { early.lead(of: now, at: clocks.awake) }

    /// Whether programs would not start on time now, because of all the others.
    var isBusy: Bool { early.isBusy(activeRuns: agenda.liveRuns, at: clocks.awake) }

    func decide(_ event: Event, at now: Now) -> [Action] {
        agenda.ahead = lead(of: now)
        agenda.storedThrough = progress.written
        let actions = agenda.handle(event, at: now)
        if progress.note(isHolding: agenda.isHolding, known: agenda.storedThrough) { sendStored() }
        return actions
    }

    // MARK: - Perform

    /// Performs the actions in their order. A durable write is awaited without blocking the queue,
    /// and the actions after it follow once it is on the disk. Each action is complete in itself,
    /// so no event in between can make the rest wrong.
    func perform(_ decision: Decision) {
        var decision = decision
        let now = decision.now
        var room = JobTimers<JobTimer>.perPortion
        while let action = decision.takeAction() {
            if let job = action.jobOfTimer {
                setTimer(of: job, room: &room)
                continue
            }
            if case .log(let notice) = action {
                log(notice, of: &decision)
                continue
            }
            let notes = decision.takeNotes(after: action)
            let changes = decision.takeDurable(action, notes) { accounts(of: $0, at: now) }
            if let changes { return perform(after: changes, decision) }
            perform(action, notes, of: &decision)
        }
        let history = decision.takeHistory()
        if !history.isEmpty { submit(history.map(\.change)) }
        followCounting(at: now)
        scheduleStatusUpdate()
        decision.done?(self)
        // The last run may have ended.
        if agenda.isShutDown { runWaiting() }
    }

    /// Performs the rest of a decision once these changes are on the disk.
    private func perform(after changes: [Store.Change], _ decision: Decision) {
        var rest = decision
        let hasOpening = rest.takeOpening()
        let onDelayed = rest.takeDelayed()
        let answer = decision.answer
        let job = answer?.job
        if let job { router.beginSaving(job) }
        submit(
            Write(changes: changes, durable: true) { [rest] _ in
                self.later { loop in
                    if let job { loop.router.endSaving(job) }
                    if hasOpening { loop.noteStored() }
                    loop.perform(rest)
                }
            } onDelayed: { error in
                answer?(.refused("done, but not on the disk yet: \(error)"))
                onDelayed?(error)
            })
        followCounting(at: decision.now)
    }

    /// - Parameter notes: what is written in the same transaction.
    private func perform(_ action: Action, _ notes: [JobNote], of decision: inout Decision) {
        let now = decision.now
        switch action {
        // The caller sets the timers, and logs the notices with the time records as they were.
        case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .log: break
        case .begin(let runs, let start, let records):
            let batch = CommitBatch(
                runs: runs, start: start, records: records, history: decision.takeHistory(),
                notes: notes)
            record(batch, with: decision.takeEnded(), at: now)
        case .start(let runs): start(runs, at: now)
        case .startReleased(let runs): startReleased(runs, at: now)
        case .check(let checks): check(checks)
        case .withdraw(let runs): submit([.setReleased(runs, false)], durable: true)
        case .end(let run, let grace): launcher.end(run, grace: grace)
        case .signal(let run, let name):
            // `KillBody` knows the signals that a user may send; any other name is ignored.
            if let number = KillBody.number(of: name) { launcher.signal(run, number) }
        case .suspend(let run): launcher.suspend(run)
        case .resume(let run): launcher.resume(run)
        case .close(let run): close(run, notes, &decision)
        case .decline(let run): fleet?.driver.declined(run)
        case .notify: submit(decision.takeHistory().map(\.change) + notes.map(\.change))
        case .armIncidents: setIncidentTimer()
        case .armHold: noteHold()
        case .save(let records, let durable): save(records, notes, durable: durable, &decision)
        case .storeJobSet(let change, let durable): submit(change.changes, durable: durable)
        case .answer(let word): answer(word, decision.answer)
        }
    }

    /// Answers a command. It may rest on an earlier one that is not saved; then it waits for that.
    private func answer(_ word: Answer, _ reply: Reply?) {
        guard let reply, let job = reply.job, router.isSaving(job) else {
            reply?(word)
            return
        }
        submit(
            Write(changes: [], durable: true) { _ in
                reply(word)
            } onDelayed: { error in
                reply(.refused("done, but not on the disk yet: \(error)"))
            }, of: [job])
    }

    // MARK: - Route

    /// A write for the recorder.
    package typealias Write = RequestQueue.Request

    /// Passes a write to the recorder, after all earlier decisions about the same jobs.
    ///
    /// - Parameter jobs: the jobs that it concerns, if the changes do not contain them.
    func submit(_ write: Write, of jobs: [Job.Name] = []) {
        if case .now(let writes) = router.route(.write(write), of: jobs) { handOver(writes) }
    }

    func submit(_ changes: [Store.Change], durable: Bool = false) {
        submit(Write(changes: changes, durable: durable))
    }

    /// Passes a write to the recorder, after which runs start.
    func submit(_ start: RecordedStart, after changes: [Store.Change]) {
        let route = router.routeStarts(.starts([start], changes))
        if case .now(let writes) = route { handOver(writes) }
    }

    private func handOver(_ writes: [RoutedWrite]) {
        if !writes.isEmpty { recorder.write(writes.map { write($0) }) }
    }
}
