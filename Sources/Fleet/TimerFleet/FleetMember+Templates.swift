// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Jobs that each machine runs for itself (`fleet = "each"`). The job `backup` of the configuration is
/// `backup@web1` on the machine web1, a job like any other of the fleet that only this machine has.
/// The key of `backup` itself is a template: it has the pause of all of them.
///
/// A pause of the template is one transaction that writes its key and those of all machines, so that no
/// machine starts the job any more once it is applied, as with any pause. A machine that joins writes
/// the key of the template as well: either it knows the pause, or the pause is refused and decided
/// again with the new machine. After the end of the pause each machine resumes its own job.
extension FleetMember {
    /// How many machines one transaction can pause, beside the key of the template and the comparisons
    /// of the hold and of the identity.
    static let instancesMax = FleetTransaction.operationsMax - 8

    /// Why a request for the jobs of all machines cannot be executed; nil if it can.
    func reasonToRefuse(_ template: Job.Name) -> String? {
        guard jobs.isTemplate(template) else { return nil }
        if let known = view?.jobs[template]?.value, !known.isTemplate, !known.isForgotten {
            return "another machine has \(template) with fleet = \"one\"; "
                + "give it the same value of fleet on all machines, and reload there"
        }
        guard instances(of: template).count > Self.instancesMax else { return nil }
        return
            "more than \(Self.instancesMax) machines have \(template), which is too many for one "
            + "request; request it for \(template)@MACHINE, one after the other"
    }

    /// The job of one machine.
    typealias Instance = (name: Job.Name, known: Versioned<JobValue>)

    /// The jobs of all machines that have this template, in the order of their names.
    ///
    /// - Complexity: O(*n*) in the jobs of the fleet for a template, and O(1) for any other job.
    func instances(of template: Job.Name) -> [Instance] {
        guard let view = store.last, view.jobs[template]?.value.isTemplate == true else {
            return []
        }
        return view.jobs.filter { $0.value.value.template == template }
            .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The definition of a job: for the one that another machine runs for itself, that of the same job
    /// of this machine. Nil: it is not known.
    func definition(of name: Job.Name) -> FleetJob? {
        if let job = jobs[name] { return job }
        guard let template = store.last?.jobs[name]?.value.template else { return nil }
        return jobs.instance(of: template).flatMap { jobs[$0] }
    }

    // MARK: - A machine that joins

    /// Lets a job of this machine belong to its template, with the pause that this one has.
    ///
    /// - Returns: what to add to the transaction that writes the value: nothing for a job that belongs
    ///   to no other template than before. Nil: another job of the fleet has the name of the template,
    ///   and only a reload replaces it.
    func join(
        _ job: FleetJob, _ value: inout JobValue, _ now: Now
    ) -> FleetTransaction.Branch? {
        guard value.template != job.template else { return .empty }
        value.template = job.template
        guard let template = job.template else { return .empty }
        let known = view?.jobs[template]
        var shared =
            known?.value ?? JobValue(definition: JobValue.templateDefinition, cursor: now.wall)
        if !shared.isTemplate {
            guard shared.isForgotten || mustDefine(job.name) else { return nil }
            shared.definition = JobValue.templateDefinition
            shared.opened = nil
        }
        if value.pause == nil, var pause = shared.pause {
            pause.isOfTemplate = true
            value.pause = pause
        }
        return .changing(template, from: known?.modified ?? 0, to: shared)
    }

    // MARK: - The end of a pause

    /// Whether a job is paused because its template was, and that pause is over.
    func isOfEndedPause(_ known: JobValue) -> Bool {
        guard let template = known.pausedTemplate else { return false }
        return view?.jobs[template]?.value.pause == nil
    }

    /// A machine that knows an old value of the template must not end a new pause of it.
    func followingTemplate(_ known: JobValue) -> FleetTransaction.Branch {
        guard let template = known.pausedTemplate else { return .empty }
        let key = FleetKey.job(template)
        return FleetTransaction.Branch(
            compares: [.modified(key, view?.jobs[template]?.modified ?? 0)], changes: [],
            reads: [key])
    }

    // MARK: - What users request of all machines

    /// Sends the first thing that has to be done about a template: a command, or the end of its pause.
    /// It is a transaction of its own, which is sent before this machine decides about the jobs that it
    /// changes.
    ///
    /// - Complexity: O(*n*) in the jobs of the fleet if there is something to do, otherwise O(*c*) in the
    ///   commands that are not done.
    mutating func considerTemplate(_ name: Job.Name, _ now: Now) {
        guard isReady, let known = view?.jobs[name], known.value.isTemplate, knowsAll(known),
            known.value.pause?.until != nil || commands.concern(name)
        else { return }
        let instances = instances(of: name)
        guard instances.count <= Self.instancesMax, !outbox.isBusy(name),
            instances.allSatisfy({ !outbox.isBusy($0.name) })
        else { return }
        if let until = known.value.pause?.until, until <= now.wall {
            var value = known.value
            value.pause = nil
            return sendToAll(value, name, known, [])
        }
        for entry in commands.list {
            var value = known.value
            switch entry.command {
            case .pause(name, let terms):
                guard entry.seen == nil, terms.isFuture(at: now.wall) else { continue }
                value.pause = terms.pause(after: value.pause, at: now.wall)
                guard value.pause != known.value.pause || !arePaused(instances),
                    let paused = paused(instances, by: value.pause, now)
                else { continue }
                return sendToAll(value, name, known, paused)
            case .resume(name) where value.pause != nil:
                value.pause = nil
                return sendToAll(value, name, known, [])
            case .skipNext(name, let count) where !haveSkips(instances, count):
                let changed = instances.map { instance in
                    var value = instance.known.value
                    value.skips = SkipNext.accepted(count)
                    return (instance.name, instance.known, value)
                }
                return sendToAll(value, name, known, changed)
            default: continue
            }
        }
    }

    /// Whether this machine knows the jobs of all machines that had joined when the template was last
    /// written. A transaction that was refused can read the template before the watch brings them.
    func knowsAll(_ template: Versioned<JobValue>) -> Bool {
        view.map { $0.reported >= template.modified } ?? false
    }

    /// Whether the jobs of all machines are paused, each for whatever reason.
    func arePaused(_ instances: [Instance]) -> Bool {
        instances.allSatisfy { $0.known.value.pause != nil }
    }

    /// Whether the jobs of all machines will skip so many firings.
    func haveSkips(_ instances: [Instance], _ count: Int64) -> Bool {
        instances.allSatisfy { $0.known.value.skips == SkipNext.accepted(count) }
    }

    private typealias Change = (name: Job.Name, known: Versioned<JobValue>, value: JobValue)

    /// The jobs that a pause of their template pauses, or whose terms it changes. One that a user paused
    /// by its own name stays as it is. Nil: the time of one of them is not known.
    private func paused(
        _ instances: [Instance], by pause: JobValue.Pause?, _ now: Now
    ) -> [Change]? {
        guard var pause, let readings = readings(now) else { return nil }
        pause.isOfTemplate = true
        var changed: [Change] = []
        for (name, known) in instances where known.value.pause?.isOfTemplate != false {
            var value = known.value
            guard let time = value.reading(readings) else { return nil }
            value.begin(pause, at: time)
            changed.append((name, known, value))
        }
        return changed
    }

    private mutating func sendToAll(
        _ value: JobValue, _ name: Job.Name, _ known: Versioned<JobValue>, _ changed: [Change]
    ) {
        let all = [(name: name, known: known, value: value)] + changed
        let branch = FleetTransaction.Branch(
            compares: all.map { .modified(.job($0.name), $0.known.modified) },
            changes: all.map { .put(.job($0.name), $0.value.text, lease: nil) },
            reads: all.map { .job($0.name) })
        let hold = view.map { [FleetCompare.modified(.hold, $0.hold.modified)] } ?? []
        send(
            FleetTransaction(compares: hold, branches: [branch], reads: [.hold]),
            for: .jobs(all.map(\.name)))
    }
}

extension FleetTransaction.Branch {
    /// Compares, changes and reads nothing.
    static var empty: Self { Self(compares: [], changes: [], reads: []) }

    /// Changes the value of a job.
    ///
    /// - Parameter revision: that of its last change; 0: there is none yet.
    static func changing(_ job: Job.Name, from revision: Int64, to value: JobValue) -> Self {
        let key = FleetKey.job(job)
        return Self(
            compares: [.modified(key, revision)], changes: [.put(key, value.text, lease: nil)],
            reads: [key])
    }

    /// Both as one, which succeeds or fails as a whole. They must be about other keys.
    func adding(_ part: Self) -> Self {
        var branch = self
        branch.compares += part.compares
        branch.changes += part.changes
        branch.reads += part.reads
        return branch
    }
}

extension JobValue {
    /// The template whose pause pauses the job; nil: the job is not paused, or was by its own name.
    var pausedTemplate: Job.Name? { pause?.isOfTemplate == true ? template : nil }

    /// Begins a pause, or changes its terms. No time counts from this reading on.
    mutating func begin(_ pause: Pause, at time: Duration) {
        count(to: time)
        opened = nil
        self.pause = pause
    }
}
