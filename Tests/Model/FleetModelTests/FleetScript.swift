// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

/// One member and a store. The test says when something is answered, and by what.
struct FleetScript {
    static let web1 = MachineName("web1")!
    static let web2 = MachineName("web2")!
    static let job = Job.Name("report")!

    var store: SimulatedStore
    var member: FleetMember
    var now: Now
    /// The transactions that are not applied yet.
    var sent: [(id: FleetMember.TransactionID, transaction: FleetTransaction)] = []
    /// How often the store was read, and how often the member was called because of the time.
    var loads = 0
    var calls = 0
    /// The runs that were handed to the runner.
    var started: [Run.ID] = []
    /// The runs that were ended because the store was lost.
    var endedHere: [Run.ID] = []
    /// The commands that are done, and why they were refused.
    var done: [FleetMember.CommandID: String?] = [:]
    var notices: [FleetNotice] = []
    /// The runs as they are recorded, and what was forgotten.
    var rows: [Run.ID: LocalRun] = [:]
    /// All runs that were ever recorded.
    var recorded: Set<Run.ID> = []
    /// What it remembers of the store.
    var memory: FleetMemory
    /// Whether runs are recorded at once.
    var records = true
    private var isWatching = false
    private var reported: Int64 = 0
    private var waiting: [FleetEvent] = []

    /// A machine that starts, in its boot `boot`.
    init(
        _ jobs: [FleetJob], store: SimulatedStore = SimulatedStore(),
        memory: FleetMemory = FleetMemory(), at time: WallInstant? = nil, boot: Int = 1,
        start: Int64 = 1
    ) {
        self.store = store
        self.memory = memory
        let bootID = SimulatedMachine.bootID(1, boot)
        now = Now(
            wall: time ?? WallInstant(microsecondsSinceEpoch: Simulation.wallStart),
            awake: AwakeInstant(nanoseconds: 0), boot: BootInstant(nanoseconds: 0), bootID: bootID)
        member = FleetMember(
            FleetMember.Configuration(machine: Self.web1),
            incarnation: Incarnation(boot: bootID, number: start), memory: memory,
            seed: UInt64(start))
        handle(.configured(jobs, isReload: false))
    }

    /// A job that fires each 10 s of the wall clock, with the definition `d1`.
    static func calendarJob(_ name: Job.Name = job) throws -> FleetJob {
        let spec = try CalendarSpec("*-*-* *:*:0/10")
        return FleetJob(
            name, definition: "d1", schedule: .wall(WallSchedule([.calendar(spec, .utc)])))
    }

    mutating func handle(_ event: FleetEvent) {
        for action in member.handle(event, at: now) { execute(action) }
    }

    private mutating func execute(_ action: FleetAction) {
        switch action {
        case .openLease:
            waiting.append(.leased(store.grant(until: .max), sent: now.boot))
        case .keepAlive(let lease):
            let date = now.wall.microsecondsSinceEpoch / 1_000_000
            waiting.append(
                store.leases[lease] == nil ? .leaseLost(lease) : .kept(lease, sent: now.boot))
            waiting.append(.dated(endpoint: "etcd", date: date, sent: now.wall))
        case .load:
            let values = store.keys.mapValues { Versioned<String>?.some($0) }
            (isWatching, reported) = (true, store.revision)
            loads += 1
            waiting.append(
                .loaded(
                    FleetSnapshot(
                        cluster: store.cluster, revision: store.revision, values: values,
                        log: FleetLog(entries: store.entries, revision: store.revision))))
        case .send(let id, let transaction): sent.append((id, transaction))
        case .record(let row):
            rows[row.run] = row
            recorded.insert(row.run)
            if row.value.state == .claimed, records { waiting.append(.recorded(row.run)) }
        case .forget(let run): rows[run] = nil
        case .remember(let known): memory.known = known
        case .rememberMore(let seen): memory.known.seen.merge(seen)
        case .drain(let isDrained, let id):
            memory.isDrained = isDrained
            done[id] = .some(nil)
        case .start(let run, _, _): started.append(run)
        case .end(let run): endedHere.append(run)
        case .done(let id, let result): done[id] = result.refusal
        case .tell(let notice): notices.append(notice)
        }
    }

    /// Applies what was sent first, and answers it.
    mutating func applyFirst() {
        let (id, transaction) = sent.removeFirst()
        guard let (answer, _) = store.apply(transaction) else { return handle(.unknown(id)) }
        handle(.answered(id, answer))
    }

    /// Brings the changes of the store to the member, in their order.
    mutating func watch() {
        guard isWatching else { return }
        for commit in store.history where commit.revision > reported {
            reported = commit.revision
            handle(
                .changed(
                    cluster: store.cluster, revision: commit.revision, commit.changes))
        }
    }

    /// Answers all that is asked, until nothing is.
    mutating func settle() {
        for _ in 0..<5000 {
            if !waiting.isEmpty {
                handle(waiting.removeFirst())
            } else if !sent.isEmpty {
                applyFirst()
            } else {
                let before = reported
                watch()
                if reported == before, waiting.isEmpty, sent.isEmpty { return }
            }
        }
        preconditionFailure("the member does not come to rest")
    }

    /// Lets time pass without an event.
    mutating func pass(_ span: Duration) {
        now.wall = now.wall + span
        now.awake = AwakeInstant(nanoseconds: now.awake.nanoseconds + span.wholeNanoseconds)
        now.boot = BootInstant(nanoseconds: now.boot.nanoseconds + span.wholeNanoseconds)
    }

    /// The machine sleeps.
    mutating func sleep(_ span: Duration) {
        now.wall = now.wall + span
        now.boot = BootInstant(nanoseconds: now.boot.nanoseconds + span.wholeNanoseconds)
    }

    /// Lets time pass, with all answers. The member is called when it asked for it, and at no other
    /// time.
    mutating func run(_ span: Duration) {
        var rest = span
        var idle = 0
        while true {
            let wake = member.nextWake(at: now)
            var step = min(rest, max(.zero, wake.boot - now.boot))
            if let wall = wake.wall { step = min(step, max(.zero, wall - now.wall)) }
            pass(step)
            rest -= step
            guard wake.isDue(at: now) else { return }
            calls += 1
            handle(.tick)
            settle()
            idle = step > .zero ? 0 : idle + 1
            precondition(idle < 10, "the member asks to be called again at once")
        }
    }

    /// Lets time pass, with a store that is half a round trip away: what is sent arrives there after half
    /// of it, and so does what comes back.
    mutating func run(_ span: Duration, roundTrip: Duration) {
        let end = boot(after: span)
        var toStore: [(at: BootInstant, id: FleetMember.TransactionID, FleetTransaction)] = []
        var toMember: [(at: BootInstant, event: FleetEvent)] = []
        while true {
            for event in waiting { toMember.append((boot(after: roundTrip), event)) }
            for (id, transaction) in sent {
                toStore.append((boot(after: roundTrip / 2), id, transaction))
            }
            (waiting, sent) = ([], [])
            // Those that arrive together arrive in the order in which they were sent.
            let next = toMember.indices.min { toMember[$0].at < toMember[$1].at }
            let arrival = next.map { toMember[$0].at }
            let wake = member.nextWake(at: now)
            let wall = wake.wall.map { boot(after: max(.zero, $0 - now.wall)) }
            let instants = [wake.boot, wall, toStore.first?.at, arrival].compactMap(\.self)
            guard let first = instants.min(), first <= end else { break }
            pass(max(.zero, first - now.boot))
            if let (at, id, transaction) = toStore.first, at <= now.boot {
                toStore.removeFirst()
                let answer = store.apply(transaction).map { FleetEvent.answered(id, $0.0) }
                toMember.append((boot(after: roundTrip / 2), answer ?? .unknown(id)))
                for commit in store.history where isWatching && commit.revision > reported {
                    reported = commit.revision
                    let change = FleetEvent.changed(
                        cluster: store.cluster, revision: commit.revision, commit.changes)
                    toMember.append((boot(after: roundTrip / 2), change))
                }
            } else if let next, let arrival, arrival <= now.boot {
                handle(toMember.remove(at: next).event)
            } else {
                calls += 1
                handle(.tick)
            }
        }
        pass(max(.zero, end - now.boot))
        for (_, id, transaction) in toStore { sent.append((id, transaction)) }
        waiting = toMember.map(\.event)
    }

    private func boot(after span: Duration) -> BootInstant {
        BootInstant(nanoseconds: now.boot.nanoseconds + span.wholeNanoseconds)
    }

    /// The machine is started again: with its record, and with what its runner knows.
    func restarted(
        _ jobs: [FleetJob], boot: Int, start: Int64,
        registry: [Run.ID: FleetMemory.RunnerState] = [:]
    ) -> Self {
        var (memory, store) = (memory, store)
        memory.runs = rows.values.sorted { $0.run.description < $1.run.description }
        memory.registry = registry
        for lease in store.leases.keys { _ = store.revoke(lease) }
        return Self(
            jobs, store: store, memory: memory, at: now.wall, boot: boot, start: start)
    }

    /// The process of a run that was started ends.
    mutating func end(_ run: Run.ID, _ outcome: RunOutcome) {
        handle(.began(run, at: now.wall))
        handle(.ended(run, outcome, at: now.wall))
        settle()
    }

    /// Lets the fleet be formed, and the member join it.
    mutating func form() {
        settle()
        handle(.command(0, .adopt))
        settle()
        run(.seconds(8))
    }

    /// Writes as another machine.
    mutating func write(_ changes: [FleetKey: String]) {
        _ = store.apply(
            FleetTransaction(
                compares: [], changes: changes.map { .put($0.key, $0.value, lease: nil) },
                reads: []))
    }

    func jobValue(_ name: Job.Name = job) throws -> JobValue? {
        try store.keys[.job(name)].map { try JobValue(text: $0.value) }
    }

    /// The runs of a job in the store, in the order of their instants and attempts.
    func runs(_ name: Job.Name = job) throws -> [(id: Run.ID, value: RunValue)] {
        try store.keys.compactMap { key, found in
            guard case .run(let run) = key, run.firing.job == name else { return nil }
            return (run, try RunValue(text: found.value))
        }.sorted {
            ($0.id.firing.scheduled, $0.id.attempt) < ($1.id.firing.scheduled, $1.id.attempt)
        }
    }
}

extension FleetTransaction {
    /// Whether it would write this run.
    func puts(_ run: Run.ID) -> Bool {
        branches.contains { branch in
            branch.changes.contains {
                if case .put(.run(run), _, _) = $0 { true } else { false }
            }
        }
    }
}
