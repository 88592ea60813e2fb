// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What a member knows of the store.
struct FleetView {
    var cluster: String
    /// The revision of the snapshot after which the watch reports all changes.
    let snapshot: Int64
    /// The revision up to which the watch reported all changes.
    private(set) var reported: Int64
    /// The highest revision that was seen of any key. Of other keys, changes before it may be
    /// missing: transactions read single keys.
    var revision: Int64
    /// How far the log of the store was then.
    let log: FleetLog?
    var identity: Versioned<IdentityValue>
    /// The identity as it was read, which each transaction compares.
    private(set) var identityText: String
    var hold: Versioned<HoldValue>
    var clock: Versioned<ClockValue>?
    var members: [MachineName: Versioned<MemberValue>] = [:]
    /// Counts the changes of what decides which machine starts a job.
    private(set) var membersChanged = 0
    var jobs: [Job.Name: Versioned<JobValue>] = [:]
    var runs: [Job.Name: [Run.ID: Versioned<RunValue>]] = [:]
    /// What cannot be read. Nothing is decided about a job with such a key; a machine with one counts as
    /// connected, and as one that starts nothing.
    private(set) var faults: [FleetKey: FleetFault] = [:]
    /// The same by the jobs that they are of, with the revisions of the keys.
    private var jobFaults: [Job.Name: [FleetKey: Int64]] = [:]

    /// - Throws: `FleetFault` if a value cannot be read that is not only about one job or one machine. A
    ///   fleet that was not formed yet is nil.
    init?(_ snapshot: FleetSnapshot) throws(FleetFault) {
        let values = snapshot.values
        let identity: Versioned<IdentityValue>? = try FleetAnswer.value(.identity, in: values)
        let hold: Versioned<HoldValue>? = try FleetAnswer.value(.hold, in: values)
        guard let identity, let hold, let text = values[.identity] ?? nil else { return nil }
        identityText = text.value
        cluster = snapshot.cluster
        self.snapshot = snapshot.revision
        revision = snapshot.revision
        reported = snapshot.revision
        log = snapshot.log
        self.identity = identity
        self.hold = hold
        for (key, value) in values { try see(key, value, at: snapshot.revision) }
    }

    /// Takes what a key has at a revision; what is known to be newer stays.
    ///
    /// - Throws: `FleetFault` if the value cannot be read and is not only about one job or one machine.
    mutating func see(
        _ key: FleetKey, _ found: Versioned<String>?, at revision: Int64
    ) throws(FleetFault) {
        do throws(FleetFault) {
            try take(key, found, at: revision)
            forgetFault(of: key, found, at: revision)
        } catch {
            try keep(error, of: key, found?.modified ?? revision)
        }
    }

    private mutating func take(
        _ key: FleetKey, _ found: Versioned<String>?, at revision: Int64
    ) throws(FleetFault) {
        switch key {
        case .identity:
            let wasRecovering = isRecovering
            identity = try newer(identity, found, revision) ?? identity
            if let found, found.modified == identity.modified { identityText = found.value }
            if wasRecovering, !isRecovering { forgetRecovery() }
        case .hold:
            hold = try newer(hold, found, revision) ?? hold
            if !isRecovering { hold.value.recovered = nil }
        case .clock: clock = try newer(clock, found, revision)
        case .member(let machine):
            let known = members[machine]
            members[machine] = try newer(known, found, revision)
            if !MemberValue.ranksAlike(known?.value, members[machine]?.value) {
                membersChanged += 1
            }
        case .job(let job):
            jobs[job] = try newer(jobs[job], found, revision)
            if !isRecovering { jobs[job]?.value.recovered = nil }
        case .run(let run):
            let job = run.firing.job
            runs[job, default: [:]][run] = try newer(runs[job]?[run], found, revision)
        }
    }

    // MARK: - What cannot be read

    /// Whether there is a value of a job that cannot be read.
    func isUnreadable(_ job: Job.Name) -> Bool { jobFaults[job]?.isEmpty == false }

    /// Why a value of a job cannot be read; nil if all can.
    func fault(of job: Job.Name) -> FleetFault? {
        jobFaults[job]?.keys.min { $0.name < $1.name }.flatMap { faults[$0] }
    }

    /// The jobs with a value that cannot be read.
    var unreadableJobs: [Job.Name] { jobFaults.filter { !$0.value.isEmpty }.map(\.key) }

    private mutating func keep(
        _ fault: FleetFault, of key: FleetKey, _ modified: Int64
    ) throws(FleetFault) {
        var fault = fault
        fault.key = key.name
        switch key {
        case .identity, .hold, .clock: throw fault
        case .member(let machine):
            let unknown = Versioned(MemberValue.unreadable, created: 0, modified: modified)
            if members.updateValue(unknown, forKey: machine)?.value != unknown.value {
                membersChanged += 1
            }
        case .job(let job): jobFaults[job, default: [:]][key] = modified
        case .run(let run): jobFaults[run.firing.job, default: [:]][key] = modified
        }
        faults[key] = fault
    }

    /// A later value of the key can be read, or there is none.
    private mutating func forgetFault(
        of key: FleetKey, _ found: Versioned<String>?, at revision: Int64
    ) {
        guard faults[key] != nil else { return }
        let job: Job.Name? =
            switch key {
            case .job(let job): job
            case .run(let run): run.firing.job
            case .identity, .hold, .clock, .member: nil
            }
        if let job {
            guard found?.modified ?? revision > jobFaults[job]?[key] ?? 0 else { return }
            jobFaults[job]?[key] = nil
        }
        faults[key] = nil
    }

    // MARK: - Recovery

    /// Whether the store was adopted, and the machines bring back what they remember.
    var isRecovering: Bool { identity.value.recovery != nil }

    /// The point of a value in a store that recovers: that from which it was brought back, or that which
    /// it had before the adoption.
    ///
    /// - Parameter recovered: what the value says; it counts if it was written after the adoption.
    func point(modified: Int64, recovered: FleetPoint?) -> FleetPoint {
        if modified > identity.modified, let recovered { return recovered }
        return FleetPoint(epoch: identity.value.recovery ?? 0, revision: modified) ?? .first
    }

    /// From what points values were brought back is of no use any more.
    private mutating func forgetRecovery() {
        hold.value.recovered = nil
        for name in jobs.keys { jobs[name]?.value.recovered = nil }
    }

    /// What is remembered of it.
    var seen: SeenValues {
        SeenValues(revision: revision, jobs: jobs, hold: hold, clock: clock?.value)
    }

    /// The watch reported all changes up to this revision.
    mutating func report(upTo revision: Int64) { reported = max(reported, revision) }

    private func newer<Value: FleetValue>(
        _ known: Versioned<Value>?, _ found: Versioned<String>?, _ revision: Int64
    ) throws(FleetFault) -> Versioned<Value>? {
        guard let found else {
            return (known?.modified ?? 0) > revision ? known : nil
        }
        if let known, known.modified >= found.modified { return known }
        return Versioned(
            try Value(text: found.value), created: found.created, modified: found.modified)
    }

    /// The revisions of a key; nil: it does not exist.
    func revisions(of key: FleetKey) -> (created: Int64, modified: Int64)? {
        func revisions<Value>(_ found: Versioned<Value>?) -> (created: Int64, modified: Int64)? {
            found.map { ($0.created, $0.modified) }
        }
        return switch key {
        case .identity: revisions(identity)
        case .hold: revisions(hold)
        case .clock: revisions(clock)
        case .member(let machine): revisions(members[machine])
        case .job(let job): revisions(jobs[job])
        case .run(let run): revisions(runs[run.firing.job]?[run])
        }
    }

    /// The format of a store, by its number; nil if no fleet was formed in it.
    static func format(of snapshot: FleetSnapshot) -> Int64? {
        guard let text = (snapshot.values[.identity] ?? nil)?.value else { return nil }
        return (try? IdentityValue(text: text))?.format
    }

    /// The cursors of all jobs.
    var cursors: [Job.Name: WallInstant] { jobs.mapValues(\.value.cursor) }
}

extension FleetMember {
    /// Takes a snapshot: it is the known store, or nothing is started until it is adopted.
    mutating func loaded(_ snapshot: FleetSnapshot, _ now: Now) {
        loadAsked = nil
        if let known = FleetView.format(of: snapshot), known > configuration.format.rawValue {
            return refuse(.newer, nil, now)
        }
        if let view, view.cluster == snapshot.cluster, view.revision > snapshot.revision {
            // The answer to an earlier request, or to a second one. The watch of a second one took
            // the place of the first one's, which may not have reported all changes up to it.
            if view.snapshot < snapshot.revision { loseView() }
            return
        }
        let loaded: FleetView?
        do throws(FleetFault) {
            loaded = try FleetView(snapshot)
        } catch {
            // It is read again after a while, and not as fast as the store answers.
            loadAsked = now.boot
            return actions.append(.tell(.fault(error)))
        }
        var cursors = loaded?.cursors ?? [:]
        for job in loaded?.unreadableJobs ?? [] {
            cursors[job] = memory.known.seen.jobs[job]?.value.cursor
        }
        let found = memory.known.check(
            cluster: snapshot.cluster, identity: loaded?.identity,
            revision: snapshot.revision, log: snapshot.log, cursors: cursors)
        if let found { return refuse(found, (snapshot, loaded), now) }
        guard let loaded else { return }
        finding = nil
        unusable = nil
        use(loaded, now)
    }

    /// Uses nothing of the store.
    ///
    /// - Parameter found: what it has, for its adoption.
    private mutating func refuse(
        _ new: IdentityGuard.Finding, _ found: (snapshot: FleetSnapshot, view: FleetView?)?,
        _ now: Now
    ) {
        if view != nil { loseView() }
        if finding != new { actions.append(.tell(.guarded(new))) }
        finding = new
        unusable = found
        // Further writes, of anyone, would make its revision as high as the known one, and what is missing
        // in it would not come back.
        if new == .older, memory.known.distrust() { actions.append(.remember(memory.known)) }
        // It is read again after a while, and not as fast as the store answers.
        loadAsked = now.boot
    }

    private mutating func use(_ loaded: FleetView, _ now: Now) {
        tellFaults(of: loaded, after: former?.faults ?? [:])
        followRecovery(loaded, now)
        if memory.known.identity?.epoch != loaded.identity.value.epoch { clock = nil }
        view = loaded
        former = nil
        contacted(now)
        var clock = self.clock ?? FleetClock(hold: loaded.hold, at: now.awake)
        clock.receive(loaded.hold, at: now.awake)
        if let value = loaded.clock {
            // Accounts were opened while this machine was away, and what it knew does not count any
            // more. The value that it takes instead may be old.
            if value.value.openings > clock.openings { clockCompared = false }
            clock.receive(value, at: now.awake)
        }
        clock.loaded(at: now.awake)
        if self.clock == nil { clockCompared = false }
        // During a hold the clock stands, and its reading is exactly known.
        if loaded.hold.value.isHeld { clockCompared = true }
        comparison.began = now.awake
        self.clock = clock
        missing = missing.filter { loaded.members[$0.key] == nil }
        changeAll()
        remember()
    }

    private mutating func tellFaults(of view: FleetView?, after known: [FleetKey: FleetFault]) {
        guard let view, view.faults != known else { return }
        for (key, fault) in view.faults.sorted(by: { $0.key.name < $1.key.name })
        where known[key] != fault { actions.append(.tell(.unreadable(key, fault))) }
    }

    private mutating func see(
        _ key: FleetKey, _ value: Versioned<String>?, _ revision: Int64, _ now: Now
    ) throws(FleetFault) {
        let faults = view?.faults ?? [:]
        try view?.see(key, value, at: revision)
        tellFaults(of: view, after: faults)
        switch key {
        case .job(let name):
            queue.change(name)
            if let own = templates[name] { queue.change(own) }
        case .run(let run): queue.change(run.firing.job)
        case .member(let machine) where view?.members[machine] == nil:
            missing[machine] = missing[machine] ?? now.boot
        case .member(let machine): missing[machine] = nil
        case .identity, .clock, .hold: break
        }
    }

    /// Until the store has recovered, what it had before stays remembered.
    private mutating func remember() {
        guard let view, !view.isRecovering else { return }
        memory.known.see(cluster: view.cluster, identity: view.identity.value, view.seen)
        actions.append(.remember(memory.known))
    }

    /// Takes changes, of the watch or read by a transaction that was refused.
    ///
    /// - Parameters:
    ///   - isWatched: whether it is the watch. What it brings is new; what a transaction reads may be
    ///     as old as a write of the clock.
    ///   - isOwn: whether this machine wrote it just now.
    mutating func see(
        _ cluster: String, _ revision: Int64, _ reads: FleetAnswer.Reads, _ now: Now,
        isWatched: Bool = false, isOwn: Bool = false
    ) {
        guard let epoch = view?.identity.value.epoch else { return }
        guard cluster == view?.cluster else {
            loseView()
            return
        }
        do throws(FleetFault) {
            for (key, value) in reads { try see(key, value, revision, now) }
        } catch {
            // What is known of this store cannot be trusted any more.
            loseView()
            return actions.append(.tell(.fault(error)))
        }
        guard var view, var clock else { return }
        view.revision = max(view.revision, revision)
        self.view = view
        let openings = clock.openings
        if clock.receive(view.hold, at: now.awake) {
            clockCompared = view.hold.value.isHeld
            comparison.began = now.awake
        }
        if let value = view.clock {
            clock.receive(value, at: now.awake, isOwn: isOwn && reads[.clock] != nil)
        }
        if isWatched, reads[.hold]??.modified == view.hold.modified {
            clockCompared = true
        } else if isWatched, reads[.clock]??.modified == clock.modified {
            clockChanged(clock.modified, by: view.clock?.value.by, now)
        } else if clock.openings > openings, !isOwn, clockCompared {
            // The watch brings the same value soon.
            clockCompared = false
            comparison.changes = 1
            comparison.began = now.awake
        }
        self.clock = clock
        guard view.identity.value.epoch == epoch,
            view.identity.value.format <= configuration.format.rawValue
        else {
            loseView()
            return
        }
        noteRecovery(reads, now)
        // Its format was raised, or it has recovered.
        if view.identity.value != memory.known.identity { remember() }
        rememberMore(reads, now)
    }

    /// A change of the clock is new, but its value may be old: its write can have been delayed by the
    /// store. The next one was calculated after this one was written, because it compares that.
    ///
    /// So a second change is a comparison if it is of another machine, whose own clock is compared.
    /// Without that, the other machines get the time for a write that was lost before. So does a machine
    /// that seems to be alone: after an outage of the store, others may not have a lease again yet.
    mutating func clockChanged(_ revision: Int64, by machine: MachineName?, _ now: Now) {
        guard let view, comparison.see(revision, at: now.awake) else { return }
        let isOfOther =
            machine.map {
                $0 != configuration.machine && view.members[$0]?.value.isFit == true
            } ?? false
        let grace = FleetClock.period + clockDelay(view) + FleetSession.requestTimeout
        let isLong = comparison.began.map { now.awake >= $0 + grace } ?? false
        if isLong || isOfOther && comparison.changes >= 2 { clockCompared = true }
    }

    /// How often the fleet clock is remembered at least while it is written.
    static let clockInterval = Duration.seconds(30)

    /// Remembers the jobs and the hold that were read, and from time to time the fleet clock.
    private mutating func rememberMore(_ reads: FleetAnswer.Reads, _ now: Now) {
        guard let view, !view.isRecovering else { return }
        var more = SeenValues(revision: view.revision)
        for case .job(let name) in reads.keys { more.jobs[name] = view.jobs[name] }
        if reads[.hold] != nil { more.hold = view.hold }
        let isClockOld = clockRemembered.map { now.awake >= $0 + Self.clockInterval } ?? true
        guard !more.jobs.isEmpty || more.hold != nil || isClockOld && reads[.clock] != nil else {
            return
        }
        clockRemembered = now.awake
        more.clock = view.clock?.value
        memory.known.seen.take(more)
        actions.append(.rememberMore(more))
    }
}
