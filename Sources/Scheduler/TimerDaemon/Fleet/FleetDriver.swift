// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import HostQueues
package import Logging
package import TimerCore
package import TimerFleet
import TimerFleetLink
package import TimerRecording
import TimerStore

/// Takes part in a fleet, on a queue of its own: it performs the actions of a `FleetMember`. No
/// decision about a job of this machine alone waits for it, and it waits for nothing.
///
/// It exists only with a table `[fleet]` in the configuration.
package actor FleetDriver: QueueActor {
    /// How long to wait before the store of this machine is read again after an error.
    static let retryDelay: Duration = .seconds(1)
    /// How long changes are collected before they are shown.
    static let showDelay: Duration = .milliseconds(50)

    package nonisolated let executor = QueueExecutor(
        label: "timerd.fleet", qos: SchedulingPriority.qos)
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// What it needs from the rest of the daemon.
    package struct Dependencies: Sendable {
        var configuration: FleetMember.Configuration
        /// The name of the fleet, for the log.
        package var fleet: String
        /// The number of this start of the daemon.
        var instance: DaemonInstance.ID
        var now: @Sendable () -> Now
        var recorder: Recorder
        var transport: any FleetTransport
        var log: Logger
        /// Gives a run that the fleet decided to the agenda.
        var start: @Sendable (ClaimedRun) -> Void
        /// Ends an active run of this machine, as the fleet decided.
        var end: @Sendable (Run.ID) -> Void
        /// Shows the jobs as the fleet knows them.
        var show: @Sendable ([Job.Name: FleetJobView]) -> Void

        package init(
            configuration: FleetMember.Configuration, fleet: String, instance: DaemonInstance.ID,
            now: @escaping @Sendable () -> Now, recorder: Recorder, transport: any FleetTransport,
            log: Logger, start: @escaping @Sendable (ClaimedRun) -> Void,
            end: @escaping @Sendable (Run.ID) -> Void,
            show: @escaping @Sendable ([Job.Name: FleetJobView]) -> Void
        ) {
            self.configuration = configuration
            self.fleet = fleet
            self.instance = instance
            self.now = now
            self.recorder = recorder
            self.transport = transport
            self.log = log
            self.start = start
            self.end = end
            self.show = show
        }
    }

    package nonisolated let dependencies: Dependencies
    /// Nil until the store has been read for what it remembers.
    var member: FleetMember?
    /// What happened before the member existed, which then receives it first.
    private var early: [FleetEvent] = []
    /// The definitions that the member gets when it is made.
    private var definitions: [FleetJob]
    /// The runs of this machine whose end is not in the store yet, as the member has them.
    var rows: [Run.ID: LocalRun] = [:]
    /// Those of them that an earlier instance started.
    var inherited: Set<Run.ID> = []
    /// The commands that are not answered yet, by their numbers.
    var commands: [FleetMember.CommandID: PendingCommand] = [:]
    var lastCommand: FleetMember.CommandID = 0
    /// Who requested the last run of a job by hand on this machine.
    var requesters: [Job.Name: String] = [:]
    var status = FleetLinkStatus(isRunning: false)
    private var isShowPlanned = false
    private(set) var isStopped = false
    /// Whether a user holds this machine.
    private(set) var isHeldHere = false
    private var timer: (any DispatchSourceTimer)?

    package init(_ jobs: [Job], dependencies: Dependencies) {
        definitions = jobs.compactMap { FleetJob($0) }
        self.dependencies = dependencies
    }

    /// Reads what this machine remembers and joins the fleet. Call it once the records of this
    /// instance are stored.
    nonisolated func begin() { later { $0.load() } }

    /// These are the jobs of the fleet now.
    ///
    /// - Parameter isReload: whether a user changed them, so that the fleet uses them.
    nonisolated func configure(_ jobs: [Job], isReload: Bool) {
        let jobs = jobs.compactMap { FleetJob($0) }
        later { driver in
            driver.definitions = jobs
            guard driver.member != nil else { return }
            driver.receive(.configured(jobs, isReload: isReload))
        }
    }

    /// Whether a user holds this machine: then it starts no runs of the fleet either.
    nonisolated func noteHold(_ isHeld: Bool) {
        later { driver in
            driver.isHeldHere = isHeld
            if driver.member != nil { driver.receive(.heldHere(isHeld)) }
        }
    }

    /// The clocks jumped, so that the member must look at them now.
    package nonisolated func clocksChanged() { later { $0.receive(.tick) } }

    /// The process of a run started. Runs of other jobs are ignored.
    package nonisolated func began(_ run: Run.ID, at instant: WallInstant) {
        later { driver in
            guard driver.concerns(run) else { return }
            driver.receive(.began(run, at: instant))
        }
    }

    /// A run ended, or will not start. Runs of other jobs are ignored.
    nonisolated func ended(_ run: Run.ID, _ outcome: RunOutcome, at instant: WallInstant) {
        later { driver in
            guard driver.concerns(run) else { return }
            // Of an earlier instance it was not known whether the run had begun.
            if outcome == .lost(.unstarted), !driver.inherited.contains(run) {
                driver.receive(.unstarted(run))
            } else {
                driver.receive(.ended(run, outcome, at: instant))
            }
        }
    }

    /// The agenda does not start this run: its job is not configured any more.
    nonisolated func declined(_ run: Run.ID) { later { $0.receive(.unstarted(run)) } }

    /// Leaves the fleet, and returns when that is done. The other machines take over at once, unless
    /// runs are active here: these are not over, so the lease ends by itself.
    package nonisolated func stop() {
        let isIdle = executor.queue.sync { assumeIsolated { $0.halt() } }
        dependencies.transport.stop(endingLeases: isIdle)
    }

    /// Does nothing from now on.
    ///
    /// - Returns: whether no run is active here.
    func halt() -> Bool {
        isStopped = true
        timer?.cancel()
        failCommands("the daemon is stopping")
        return rows.values.allSatisfy(\.value.state.isFinal)
    }

    /// Before the member exists, it is not known which runs concern it.
    private func concerns(_ run: Run.ID) -> Bool { member == nil || rows[run] != nil }

    // MARK: - The member

    private func load() {
        dependencies.recorder.read { (store: Store) throws(StoreError) in
            (known: try store.knownFleet(), runs: try store.claimedRuns())
        } _: { result in
            self.later { driver in
                switch result {
                case .success(let found): driver.join(found.known, found.runs)
                case .failure: driver.later(after: Self.retryDelay) { $0.load() }
                }
            }
        }
    }

    private func join(_ known: Store.KnownFleet?, _ runs: [Store.ClaimedRecord]) {
        let now = dependencies.now()
        let memory = FleetMemory(known, runs)
        for row in memory.runs { rows[row.run] = row }
        inherited = Set(rows.keys)
        member = FleetMember(
            dependencies.configuration,
            incarnation: Incarnation(boot: now.bootID, number: dependencies.instance),
            memory: memory, seed: .random(in: .min ... .max))
        do {
            try dependencies.transport.start { report in
                self.later { $0.receive(report) }
            }
        } catch {
            dependencies.log.error(
                "Cannot take part in the fleet \(dependencies.fleet): \(error); its jobs do not run here"
            )
            status.problem = "\(error)"
        }
        receive(.configured(definitions, isReload: false))
        if isHeldHere { receive(.heldHere(true)) }
        let missed = early
        early = []
        for event in missed where rows.keys.contains(where: { event.isAbout($0) }) {
            receive(event)
        }
    }

    private func receive(_ report: FleetLink.Report) {
        switch report {
        case .event(let event): receive(event)
        case .status(let new):
            note(new, after: status)
            status = new
        }
    }

    func receive(_ event: FleetEvent) {
        guard !isStopped else { return }
        let now = dependencies.now()
        guard let actions = member?.handle(event, at: now) else { return early.append(event) }
        for action in actions { perform(action, at: now) }
        setTimer(at: now)
        if event.changesViews { planToShow() }
        expireCommands(at: now)
    }

    private func setTimer(at now: Now) {
        guard let wake = member?.nextWake(at: now) else { return }
        var wait = Duration.nanoseconds(wake.boot.nanoseconds - now.boot.nanoseconds)
        if let wall = wake.wall { wait = min(wait, wall - now.wall) }
        let timer = self.timer ?? makeTimer { $0.receive(.tick) }
        self.timer = timer
        // A clock that is read a little earlier than the timer's would otherwise keep it busy.
        let nanoseconds = Int(clamping: max(.microseconds(200), wait).wholeNanoseconds)
        timer.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(200))
    }

    private func perform(_ action: FleetAction, at now: Now) {
        if dependencies.transport.perform(action) { return }
        switch action {
        case .openLease, .keepAlive, .load, .send: break
        case .record(let row): record(row)
        case .forget(let run):
            rows[run] = nil
            inherited.remove(run)
            dependencies.recorder.write([.fleet(.forget(run))])
        case .remember(let known):
            dependencies.recorder.write([.fleet(.remember(Store.KnownFleet(known)))])
        case .rememberMore(let seen):
            dependencies.recorder.write([.fleet(.values(seen.values, revision: seen.revision))])
        case .drain(let isDrained, let id):
            dependencies.recorder.write([.fleet(.drain(isDrained))], durable: true) { _ in
                self.later { $0.answer(id, .done) }
            }
        case .start(let run, let fence, let before): start(run, fence, before, now)
        case .end(let run): dependencies.end(run)
        case .done(let id, let result): answer(id, result)
        case .tell(let notice): tell(notice)
        }
    }

    private func record(_ row: LocalRun) {
        rows[row.run] = row
        let change = Store.Change.fleet(.record(row.run, value: row.value.text))
        guard row.value.state == .claimed else { return dependencies.recorder.write([change]) }
        // It starts only once this machine remembers that it claimed it.
        dependencies.recorder.write([change]) { _ in
            self.later { $0.receive(.recorded(row.run)) }
        }
    }

    private func start(_ run: Run.ID, _ fence: Int64, _ before: BootInstant, _ now: Now) {
        guard let value = rows[run]?.value else { return }
        let active = member?.jobView(of: run.firing.job, at: now)?.active ?? .zero
        let claim = Firing.Cause.Claim(
            cause: cause(of: run, value, now), fence: fence, before: before)
        dependencies.start(
            ClaimedRun(
                id: run, missed: Int(clamping: value.missed), active: active, claim: claim))
    }

    private func cause(of run: Run.ID, _ value: RunValue, _ now: Now) -> Firing.Cause {
        if value.after == nil, run.attempt == 1 {
            return .requested(by: .user(requesters[run.firing.job] ?? "another machine"))
        }
        let isLate = now.wall - run.firing.scheduled > Lateness.lateMax
        return value.missed > 0 || isLate && run.attempt == 1 ? .catchUp : .schedule
    }

    private func planToShow() {
        guard !isShowPlanned else { return }
        isShowPlanned = true
        later(after: Self.showDelay) { driver in
            driver.isShowPlanned = false
            driver.show()
        }
    }

    private func show() {
        guard let views = member?.jobViews(at: dependencies.now()) else { return }
        dependencies.show(views)
    }
}

extension FleetEvent {
    /// Whether it can change what is shown of jobs. The fleet clock changes each two seconds.
    fileprivate var changesViews: Bool {
        switch self {
        case .tick, .leased, .kept, .dated, .leaseLost: false
        case .changed(_, _, let reads): reads.keys.contains { $0 != .clock }
        case .loaded, .watchLost, .answered, .unknown, .recorded, .began, .unstarted, .ended,
            .command, .configured, .heldHere:
            true
        }
    }

    /// Whether it reports the start or the end of this run.
    fileprivate func isAbout(_ run: Run.ID) -> Bool {
        switch self {
        case .began(let other, _), .ended(let other, _, _), .unstarted(let other): other == run
        default: false
        }
    }
}
