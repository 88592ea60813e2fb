// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What a member knows of the store.
struct FleetView {
    let cluster: String
    /// The revision of the snapshot after which the watch reports all changes.
    let snapshot: Int64
    /// The revision up to which the watch reported all changes.
    private(set) var reported: Int64
    /// The highest revision that was seen of any key. Of other keys, changes before it may be
    /// missing: transactions read single keys.
    private(set) var revision: Int64
    /// How far the log of the store was then.
    let log: FleetLog?
    private(set) var identity: Versioned<IdentityValue>
    /// The identity as it was read, which each transaction compares.
    private(set) var identityText: String
    private(set) var hold: Versioned<HoldValue>
    private(set) var clock: Versioned<ClockValue>?
    private(set) var members: [MachineName: Versioned<MemberValue>] = [:]
    /// Counts the changes of what decides which machine starts a job.
    private(set) var membersChanged = 0
    private(set) var jobs: [Job.Name: Versioned<JobValue>] = [:]
    private(set) var runs: [Job.Name: [Run.ID: Versioned<RunValue>]] = [:]
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
            try apply(key, found, at: revision)
            forgetFault(of: key, found, at: revision)
        } catch {
            try keep(error, of: key, found?.modified ?? revision)
        }
    }

    private mutating func apply(
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
        // What was brought back before a second adoption keeps its point. That of an earlier recovery, which
        // is over, is of an earlier adoption.
        if let recovered,
            modified > identity.modified || recovered.epoch == identity.value.recovery
        {
            return recovered
        }
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

    /// A key was seen at this revision.
    mutating func reach(_ revision: Int64) { self.revision = max(self.revision, revision) }

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
