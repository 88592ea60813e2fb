// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

/// What happened in a case, so that a run in which nothing happened shows.
struct FleetCounts {
    var values: [String: Int] = [:]

    subscript(_ name: String) -> Int {
        get { values[name] ?? 0 }
        set { values[name] = newValue }
    }

    static func += (left: inout Self, right: Self) {
        left.values.merge(right.values) { $0 + $1 }
    }

    var text: String {
        values.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
}

/// A fleet in simulated time: machines, a store, a network, faults, and a checker that sees what
/// really happens.
final class Simulation {
    static let second: Int64 = 1_000_000_000
    /// 2027-01-15T08:00:00Z
    static let wallStart: Int64 = 1_800_000_000_000_000
    static let lease = Duration.seconds(10)

    var random: Random
    /// Numbers of their own for what was added later, so that the other faults stay as they were.
    var reinstalls: Random
    var tokens: Random
    var plan = Plan()
    var time: Int64 = 0
    var store = SimulatedStore()
    var copy: SimulatedStore?
    /// Counts the restores under the same cluster identifier: what was on its way does not arrive.
    var storeLife = 0
    /// Until when the store does not answer.
    var storeDown: Int64 = 0
    var machines: [SimulatedMachine] = []
    var jobs: [FleetJob] = []
    /// A job that each machine runs for itself, with the name of its template; nil: there is none.
    var template: FleetJob?
    var checker = FleetChecker()
    var counts = FleetCounts()
    var commandCount = 0
    var commands: [Int: OpenRequest] = [:]
    /// Faults end then, so that all that happened can be accounted for.
    let calm: Int64
    let end: Int64
    var trace: [String] = []
    var isTracing = false

    /// SplitMix64, without printing its seed for each case.
    struct Random {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }

        mutating func below(_ bound: Int) -> Int { bound <= 0 ? 0 : Int(next() % UInt64(bound)) }

        mutating func span(_ low: Int64, _ high: Int64) -> Int64 {
            low + Int64(next() % UInt64(max(1, high - low)))
        }
    }

    init(seed: UInt64, seconds: Int64) {
        random = Random(state: seed)
        reinstalls = Random(state: seed ^ 0x7265_696e)
        tokens = Random(state: seed ^ 0x746f_6b65)
        calm = seconds * Self.second
        end = calm + 90 * Self.second
        let count = 1 + random.below(5)
        for number in 1...count {
            let drift = random.span(-100, 100)
            let offset = random.span(-400, 400) * 1_000_000
            machines.append(SimulatedMachine(number, drift: drift, offset: offset))
        }
        for number in 0..<(1 + random.below(4)) { jobs.append(drawJob(number, definition: 1)) }
        drawTemplate(Random(state: seed ^ 0x6561_6368))
        checker.jobs = allJobs
        for machine in machines { machine.jobs = jobs(of: machine) }
        var versions = Random(state: seed ^ 0x666f_726d)
        for machine in machines where versions.below(3) == 0 { machine.format = .first }
    }

    func run() {
        for (index, machine) in machines.enumerated() {
            after(random.span(0, 3 * Self.second)) { [unowned self] in self.startDaemon(machine) }
            if index == 0 {
                after(4 * Self.second) { [unowned self] in self.command(.adopt, to: machine) }
            }
        }
        after(6 * Self.second) { [unowned self] in self.nextFault() }
        after(Self.second / 10) { [unowned self] in self.expireLeases() }
        while let next = plan.next(), next.time <= end, checker.fault == nil {
            time = max(time, next.time)
            next.body()
        }
        if checker.fault == nil { checker.finish(self) }
    }

    func after(_ span: Int64, _ body: @escaping () -> Void) { plan.add(at: time + span, body) }

    func note(_ text: @autoclosure () -> String) {
        if isTracing {
            trace.append("\(Double(time / 1000) / 1e6): \(text())")
        }
    }

    // MARK: - The daemon

    func startDaemon(_ machine: SimulatedMachine) {
        guard machine.member == nil, !machine.isOff else { return }
        // A start that is on its way to the runner arrives before the new connection is answered.
        guard machine.startsUnderway == 0, machine.runnerStopped <= time else {
            return after(Self.second / 5) { [unowned self] in self.startDaemon(machine) }
        }
        machine.epoch += 1
        machine.inbox = []
        machine.starts += 1
        (machine.hasLoaded, machine.followsClock) = (false, false)
        machine.connectedSince = nil
        machine.kept = nil
        var configuration = FleetMember.Configuration(machine: machine.name)
        configuration.lease = Self.lease
        // An administrator upgrades the machines, some before a start that has another reason.
        if machine.format == .first, machine.starts % 2 == 0 || storeFormat > 1 {
            machine.format = .newest
            counts["upgrades"] += 1
        }
        configuration.format = machine.format
        var memory = machine.disk
        memory.runs = machine.rows.values.sorted { $0.run.description < $1.run.description }
        memory.registry = machine.registry
        machine.member = FleetMember(
            configuration, incarnation: Incarnation(boot: machine.boot, number: machine.starts),
            memory: memory, seed: random.next())
        note("\(machine.name) starts as \(machine.starts)")
        handle(.configured(machine.jobs, isReload: false), machine)
    }

    /// Plans the next call of a daemon, at the instant for which it asks and a little later.
    func planWake(_ machine: SimulatedMachine) {
        guard let member = machine.member else { return }
        let wake = member.nextWake(at: machine.now(time))
        machine.wakes += 1
        let (number, epoch) = (machine.wakes, machine.epoch)
        let late = random.span(1000, random.below(20) == 0 ? 50_000_000 : 1_000_000)
        plan.add(
            at: max(machine.daemonStopped, time + machine.span(until: wake, from: time) + late)
        ) {
            [unowned self] in
            guard machine.wakes == number, machine.epoch == epoch, machine.member != nil else {
                return
            }
            guard machine.daemonStopped <= self.time, wake.isDue(at: machine.now(self.time)) else {
                return self.planWake(machine)
            }
            self.counts["calls by time"] += 1
            if self.handle(.tick, machine) == 0 {
                self.counts["calls by time without an effect"] += 1
            }
        }
    }

    /// The clock of the machine was set, or it was suspended until now.
    func clockChanged(_ machine: SimulatedMachine) { deliver(.tick, to: machine, machine.epoch) }

    /// Events that arrive while the daemon is stopped are handled when it continues, in their order.
    func deliver(_ event: FleetEvent, to machine: SimulatedMachine, _ epoch: Int) {
        guard machine.epoch == epoch, machine.member != nil else { return }
        machine.inbox.append(event)
        handleInbox(machine, epoch)
    }

    private func handleInbox(_ machine: SimulatedMachine, _ epoch: Int) {
        guard machine.epoch == epoch, machine.member != nil else { return }
        guard machine.daemonStopped <= time else {
            return plan.add(at: machine.daemonStopped) { [unowned self] in
                self.handleInbox(machine, epoch)
            }
        }
        while !machine.inbox.isEmpty { handle(machine.inbox.removeFirst(), machine) }
    }

    /// - Returns: the number of actions.
    @discardableResult
    func handle(_ event: FleetEvent, _ machine: SimulatedMachine) -> Int {
        if case .kept(_, let sent) = event { machine.kept = max(machine.kept ?? sent, sent) }
        if case .leased(_, let sent) = event { machine.kept = max(machine.kept ?? sent, sent) }
        if case .loaded = event {
            machine.hasLoaded = true
            machine.connectedSince = machine.connectedSince ?? time
        }
        if case .watchLost = event { machine.connectedSince = nil }
        if case .changed(_, let revision, let reads) = event, machine.hasLoaded,
            reads[.clock] != nil || reads[.hold] != nil, checker.goodClocks.contains(revision)
        {
            checker.count(self)
            machine.followsClock = true
        }
        guard var member = machine.member else { return 0 }
        machine.member = nil
        let actions = member.handle(event, at: machine.now(time))
        machine.member = member
        if actions.isEmpty, member.nextWake(at: machine.now(time)).isDue(at: machine.now(time)) {
            checker.fail("\(machine.name) does nothing, and asks to be called again at once")
        }
        for action in actions { execute(action, machine) }
        planWake(machine)
        return actions.count
    }

    private func execute(_ action: FleetAction, _ machine: SimulatedMachine) {
        let epoch = machine.epoch
        switch action {
        case .openLease: openLease(machine)
        case .keepAlive(let lease): keepAlive(lease, machine)
        case .load: load(machine)
        case .send(let id, let transaction): send(id, transaction, machine)
        case .record, .forget, .remember, .rememberMore: write(action, machine)
        case .start(let run, _, let before):
            machine.startsUnderway += 1
            let boot = machine.bootNumber
            after(random.span(100_000, 3_000_000)) { [unowned self] in
                self.startProcess(run, before, machine, boot)
            }
        case .end(let run):
            note("\(machine.name) ends \(run), because it lost the store")
            counts["runs ended without the store"] += 1
            let boot = machine.bootNumber
            after(random.span(100_000, 20_000_000)) { [unowned self] in
                self.endProcess(run, .stopped, machine, boot)
            }
        case .drain(_, let id):
            write(action, machine)
            done(id, .done, machine)
        case .done(let id, let result): done(id, result, machine)
        case .tell(let notice):
            note("\(machine.name): \(notice)")
            switch notice {
            case .fault(let fault), .unreadable(_, let fault):
                checker.fail("a value cannot be read: \(fault)")
            case .guarded(.newer):
                // It is upgraded.
                after(random.span(Self.second, 5 * Self.second)) { [unowned self] in
                    if machine.epoch == epoch { self.kill(machine) }
                }
            case .recovered(let isHeld):
                if isHeld { counts["holds without memory"] += 1 }
            case .guarded, .pauseEnded, .drained: break
            }
        }
    }

    /// The format of the store, by its number.
    var storeFormat: Int64 {
        (store.keys[.identity].flatMap { try? IdentityValue(text: $0.value) })?.format ?? 1
    }

    private func write(_ action: FleetAction, _ machine: SimulatedMachine) {
        let epoch = machine.epoch
        machine.diskBusy = max(machine.diskBusy, time) + random.span(100_000, 8_000_000)
        plan.add(at: machine.diskBusy) { [unowned self] in
            guard machine.epoch == epoch, machine.member != nil else { return }
            machine.diskBefore = machine.disk
            machine.rowsBefore = machine.rows
            switch action {
            case .record(let row):
                machine.rows[row.run] = row
                if row.value.state == .claimed {
                    self.deliver(.recorded(row.run), to: machine, epoch)
                }
            case .forget(let run):
                machine.rows[run] = nil
                // The runner keeps a result until it is stored.
                if case .ended = machine.registry[run] { machine.registry[run] = nil }
                if case .unstarted = machine.registry[run] { machine.registry[run] = nil }
            case .remember(let known): machine.disk.known = known
            case .drain(let isDrained, _): machine.disk.isDrained = isDrained
            case .rememberMore(let seen): machine.disk.known.seen.merge(seen)
            default: break
            }
        }
    }

    // MARK: - The runner

    private func startProcess(
        _ run: Run.ID, _ before: BootInstant, _ machine: SimulatedMachine, _ boot: Int
    ) {
        guard machine.bootNumber == boot else { return }
        if machine.runnerStopped > time {
            return plan.add(at: machine.runnerStopped) { [unowned self] in
                self.startProcess(run, before, machine, boot)
            }
        }
        machine.startsUnderway -= 1
        let now = machine.now(time)
        guard now.boot < before else {
            machine.registry[run] = .unstarted
            counts["starts after the deadline refused by the runner"] += 1
            return deliver(.unstarted(run), to: machine, machine.epoch)
        }
        note("\(machine.name) STARTS \(run)")
        checker.started(run, on: machine, self)
        counts["starts"] += 1
        machine.registry[run] = .began(now.wall)
        deliver(.began(run, at: now.wall), to: machine, machine.epoch)
        let long = random.below(5) == 0
        after(random.span(Self.second / 20, (long ? 40 : 3) * Self.second)) { [unowned self] in
            let outcome: RunOutcome =
                switch self.random.below(8) {
                case 0: .exited(1)
                case 1: .skipped(.condition("ac-power"))
                default: .exited(0)
                }
            self.endProcess(run, outcome, machine, boot)
        }
    }

    /// The process of a run ends, if it has not ended.
    private func endProcess(
        _ run: Run.ID, _ outcome: RunOutcome, _ machine: SimulatedMachine, _ boot: Int
    ) {
        guard machine.bootNumber == boot, case .began(let began) = machine.registry[run] else {
            return
        }
        let end = machine.now(time).wall
        machine.registry[run] = .ended(outcome, began: began, at: end)
        checker.processEnded(run, self)
        deliver(.ended(run, outcome, at: end), to: machine, machine.epoch)
    }
}
