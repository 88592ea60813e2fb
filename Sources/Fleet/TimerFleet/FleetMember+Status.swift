// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What a machine knows of its fleet, to be shown.
public struct FleetStatus: Hashable, Sendable {
    /// A machine that is connected.
    public struct Machine: Hashable, Sendable {
        /// Its name.
        public var name: MachineName
        /// What it wrote about itself.
        public var value: MemberValue
        /// The fleet jobs of this machine of which the other one has another definition.
        public var drifted: [Job.Name]

        /// A machine as described.
        public init(name: MachineName, value: MemberValue, drifted: [Job.Name]) {
            self.name = name
            self.value = value
            self.drifted = drifted
        }
    }

    /// The machines, in the order of their names.
    public var machines: [Machine] = []
    /// The hold, if the fleet is formed.
    public var hold: HoldValue?
    /// Why the store must not be used.
    public var finding: IdentityGuard.Finding?
    /// Whether the store is watched.
    public var isConnected = false
    /// Whether this machine may start runs now.
    public var mayStart = false
    /// Whether this machine is drained.
    public var isDrained = false
    /// Why this machine starts no runs although it is connected; nil if it may, or if the fleet is held.
    public var obstacle: Obstacle?

    /// Why a machine that is connected starts no runs.
    public enum Obstacle: Hashable, Sendable {
        /// Another machine has its name, or this one had it in an earlier boot, whose lease has not ended.
        case nameTaken
        /// A user drained it.
        case drained
        /// Its wall clock is ahead of that of the store by so much, at least and at most, in milliseconds.
        case clock(ClosedRange<Int64>)
        /// It has not yet compared its clocks with those of the store and of the other machines.
        case joining
        /// The store was adopted, and the machines bring back what they remember.
        case recovering
        /// The store has not answered for so long that others may count this machine as gone.
        case unanswered
    }

    /// What an adoption of the store must bring back, or gives up; nil if it forms a new fleet.
    public var loss: Loss?

    /// What the store had when this machine last saw it, and does not have now.
    public struct Loss: Hashable, Sendable {
        /// Who brings it back.
        public enum Memory: Hashable, Sendable {
            /// This machine, and each other one that remembers more.
            case own
            /// Only other machines: this one remembers nothing.
            case others
            /// None: it is another fleet, or of a format before the third.
            case noMachine
        }

        /// Who brings it back.
        public var memory: Memory
        /// The jobs that were paused, in the order of their names; if no machine brings that back, those that
        /// the store does not have as paused.
        public var paused: [Job.Name] = []
        /// The same of the hold of the fleet.
        public var isHeld = false
    }

    /// Nothing is known.
    public init() {}
}

extension FleetMember {
    /// The store is not watched any more.
    mutating func loseView() {
        store.lose()
        // What answers its transactions proves nothing about what is read next.
        commands.proveAgain(after: outbox.last)
    }

    /// Whether commands can be executed: the store is watched, and this machine is known in it.
    public var canCommand: Bool { view != nil && isRegistered }

    /// Whether a store can be adopted: this machine has read one.
    public var canAdopt: Bool { view != nil || store.refusal?.found != nil }

    /// What is known of the fleet.
    ///
    /// - Complexity: O(*m* · *n*) in the machines and their jobs.
    public func status(at now: Now) -> FleetStatus {
        var status = FleetStatus()
        status.finding = finding
        status.isConnected = view != nil
        status.mayStart = view != nil && mayClaim(now)
        status.isDrained = memory.isDrained
        if view != nil, !status.mayStart { status.obstacle = obstacle(now) }
        status.loss = loss
        guard let view = store.last else { return status }
        status.hold = view.hold.value
        status.machines = view.members.sorted { $0.key < $1.key }.map { name, member in
            let drifted = jobs.definitions.filter { job, hash in
                member.value.definitions[job].map { $0 != hash } ?? false
            }.keys.sorted()
            return FleetStatus.Machine(name: name, value: member.value, drifted: drifted)
        }
        return status
    }

    private var loss: FleetStatus.Loss? {
        switch finding {
        case nil, .newer: return nil
        case .notFormed where memory.known.identity == nil: return nil
        case .notFormed, .foreign, .older, .restored: break
        }
        let found = store.refusal?.found?.view
        let identities = [found?.identity.value, memory.known.identity].compactMap(\.self)
        let isSameFleet = Set(identities.map(\.fleet)).count == 1
        let isNew = identities.contains { $0.format >= FleetFormat.third.rawValue }
        var loss = FleetStatus.Loss(memory: isSameFleet && isNew ? .own : .noMachine)
        if memory.known.identity == nil, isNew { loss.memory = .others }
        let isGivenUp = loss.memory == .noMachine
        let seen = memory.known.seen
        loss.isHeld =
            seen.hold?.value.isHeld == true && !(isGivenUp && found?.hold.value.isHeld == true)
        loss.paused = seen.jobs.filter {
            $0.value.value.pause != nil
                && !(isGivenUp && found?.jobs[$0.key]?.value.pause != nil)
        }.keys.sorted()
        return loss
    }

    private func obstacle(_ now: Now) -> FleetStatus.Obstacle? {
        if isNameTaken { return .nameTaken }
        if view?.isRecovering == true { return .recovering }
        switch unfitness {
        case .drained: return .drained
        case .clock: return wallClock.skew.milliseconds.map { .clock($0) } ?? .joining
        case .joining: return .joining
        case nil: break
        }
        guard isRegistered else { return .joining }
        return view?.hold.value.isHeld == true ? nil : .unanswered
    }

    /// What is known of the jobs of this machine that the fleet shares.
    ///
    /// - Complexity: O(*n*) in the jobs and their runs.
    public func jobViews(at now: Now) -> [Job.Name: FleetJobView] {
        guard let known = store.last else { return [:] }
        var views: [Job.Name: FleetJobView] = [:]
        for job in jobs.all {
            let name = job.name
            guard let value = known.jobs[name]?.value, !value.isForgotten else {
                views[name] = unreadableView(of: name)
                continue
            }
            views[name] = jobView(job, value, known.runs[name] ?? [:], now)
        }
        return views
    }

    /// The runs that the fleet has of jobs of this machine, on any machine, and of the same jobs that
    /// the others run for themselves. It keeps `runsKept` of each job that are over.
    ///
    /// - Parameter name: only those of this job, or of all jobs with this template; nil: of all.
    /// - Complexity: O(*n*) in the runs.
    public func machineRuns(of name: Job.Name? = nil) -> [FleetJobView.MachineRun] {
        guard let known = store.last else { return [] }
        let names: [Job.Name]
        if let name {
            names = [name] + instances(of: name).map(\.name)
        } else {
            let others = known.jobs.filter { name, value in
                jobs[name] == nil && value.value.template.map { jobs.isTemplate($0) } == true
            }
            names = Array(jobs.names) + others.keys
        }
        return names.flatMap { name in
            guard let job = definition(of: name) else { return [] as [FleetJobView.MachineRun] }
            return (known.runs[name] ?? [:]).map { $1.value.shown($0, job) }
        }
    }

    /// One of them; nil if the fleet does not have it.
    public func machineRun(_ run: Run.ID) -> FleetJobView.MachineRun? {
        let name = run.firing.job
        guard let job = definition(of: name) else { return nil }
        return store.last?.runs[name]?[run]?.value.shown(run, job)
    }

    /// The same of one job, with the machines that may start it; nil if it is not known.
    ///
    /// - Complexity: O(*m* log *m*) in the machines, and O(*n*) in its runs.
    public func jobView(of name: Job.Name, at now: Now) -> FleetJobView? {
        guard let known = store.last, let job = jobs[name] else { return nil }
        guard let value = known.jobs[name]?.value else { return unreadableView(of: name) }
        var shown = jobView(job, value, known.runs[name] ?? [:], now)
        shown.machines = FleetRank.order(
            of: name, definition: value.definition, labels: job.labels, prefer: job.prefer,
            among: known.members.mapValues(\.value))
        return shown
    }

    /// Of a job of which nothing else is known; nil if the store does not have it.
    private func unreadableView(of name: Job.Name) -> FleetJobView? {
        guard let fault = store.last?.fault(of: name) else { return nil }
        var shown = FleetJobView(active: .zero, accrued: .zero, firings: 0, skips: 0)
        shown.fault = fault.description
        shown.isStale = view == nil
        return shown
    }

    private func jobView(
        _ job: FleetJob, _ value: JobValue, _ runs: [Run.ID: Versioned<RunValue>], _ now: Now
    ) -> FleetJobView {
        // Without the store, the fleet clock is not known.
        let reading =
            view == nil && value.basis == .active
            ? nil : readings(now).flatMap { value.reading($0) }
        var counted = value
        if let reading { counted.count(to: reading) }
        let isCounting =
            reading != nil && value.opened != nil && store.last?.hold.value.isHeld == false
        let live = Set(value.live.map(\.run))
        let last = runs.filter { !live.contains($0.key) }.max {
            ($0.key.firing.scheduled, $0.key.attempt) < ($1.key.firing.scheduled, $1.key.attempt)
        }
        var shown = FleetJobView(
            pause: value.pause.map {
                Pause(
                    since: $0.since, by: .user($0.by), note: $0.note, until: $0.until,
                    withRun: $0.withRun)
            },
            next: next(job, counted, isCounting: isCounting, now), active: counted.active,
            accrued: counted.accrued, countedAt: isCounting ? now.awake : nil,
            firings: Int(clamping: value.firings), skips: Int(clamping: value.skips),
            live: value.live.map {
                runs[$0.run]?.value.shown($0.run, job)
                    ?? .init(run: $0.run, machine: $0.machine, state: $0.state.rawValue)
            },
            last: last.map { $0.value.value.shown($0.key, job) },
            isDrifted: value.definition != job.definition)
        shown.isStale = view == nil
        shown.fault = store.last?.fault(of: job.name)?.description
        if shown.fault != nil { shown.next = nil }
        // What two clocks may differ by is no news.
        if value.cursor > now.wall + (configuration.skewMax * 2 + .seconds(1)) {
            shown.accountedUntil = value.cursor
        }
        if let hold = store.last?.hold.value, hold.isHeld {
            shown.hold = Pause(since: hold.since ?? now.wall, by: .user(hold.by))
        }
        return shown
    }

    /// When the next firing is due.
    private func next(
        _ job: FleetJob, _ value: JobValue, isCounting: Bool, _ now: Now
    ) -> WallInstant? {
        guard value.pause == nil else { return nil }
        switch job.schedule {
        case .every(let span):
            guard isCounting else { return nil }
            let rest = span - value.accrued
            // What is due and starts on no machine now would be shown as due at an instant that is over.
            guard rest > .zero || !machines(for: job).isEmpty else { return nil }
            return now.wall + max(.zero, rest)
        case .wall(let schedule): return schedule.next(after: max(value.cursor, now.wall))
        }
    }
}

extension RunValue {
    fileprivate func shown(_ run: Run.ID, _ job: FleetJob) -> FleetJobView.MachineRun {
        var shown = FleetJobView.MachineRun(run: run, machine: machine, state: state.rawValue)
        shown.outcome = result(of: job)
        shown.hasFailed = shown.outcome?.isFailure(job.success) ?? false
        shown.began = began
        shown.ended = ended ?? (state.isFinal ? claimed : nil)
        shown.missed = Int(clamping: missed)
        if missed > 0, let after, case .wall(let schedule) = job.schedule {
            shown.first = schedule.next(after: after)
        }
        shown.skipReason = reason
        return shown
    }
}
