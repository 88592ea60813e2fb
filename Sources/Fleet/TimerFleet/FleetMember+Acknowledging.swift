// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A command that is not answered yet.
struct OpenCommand {
    let id: FleetMember.CommandID
    let command: FleetCommand
    /// Since when a pause or a hold is there; nil: it is not yet.
    var seen: BootInstant?
    /// Which one that is. It may have ended, and another one begun, without this machine noticing it.
    var mark: Int64?
    /// Only a transaction with a higher number was sent after the command arrived, and from what was
    /// read of the store since then.
    var sentAfter: FleetMember.TransactionID
    /// The run that was requested for it.
    var run: Run.ID?
}

/// The commands that are not answered yet, in the order of their arrival, and what is proved for them.
struct OpenCommands {
    private(set) var list: [OpenCommand] = []
    /// The last transactions whose answers proved what the store has.
    private var proofs: [FleetKey: FleetMember.TransactionID] = [:]

    var isEmpty: Bool { list.isEmpty }

    /// The jobs that they are about.
    var jobs: [Job.Name] { list.compactMap(\.command.job) }

    func contains(_ command: FleetCommand) -> Bool { list.contains { $0.command == command } }

    /// Whether one of them is about the job.
    func concern(_ job: Job.Name) -> Bool { list.contains { $0.command.job == job } }

    mutating func add(_ command: OpenCommand) { list.append(command) }

    /// Those that are left once the others are answered. Without any, nothing must be proved.
    mutating func keep(_ left: [OpenCommand]) {
        list = left
        if left.isEmpty { proofs = [:] }
    }

    /// A run was requested for one of them.
    mutating func request(_ run: Run.ID, for index: Int) { list[index].run = run }

    /// What is read next is another view of the store: only later transactions prove something of it.
    mutating func proveAgain(after last: FleetMember.TransactionID) {
        for index in list.indices { list[index].sentAfter = last }
    }

    /// A transaction proved what the store has of this key.
    mutating func prove(_ key: FleetKey, by id: FleetMember.TransactionID) {
        proofs[key] = max(proofs[key] ?? 0, id)
    }

    /// Whether a transaction proved it that was sent after the command arrived.
    func isProved(_ key: FleetKey, for command: OpenCommand) -> Bool {
        proofs[key] ?? 0 > command.sentAfter
    }
}

/// The answers to commands.
///
/// What a member knows may be old: the watch brings each change late, and if it is broken, the member
/// notices that only after a while. So a command is answered only if the store proved that what it
/// requests is so: in the answer to a transaction that was sent after the command arrived. Such a
/// transaction wrote the keys that decide about it, compared them, or read them because it was refused.
/// If nothing is to be written, a transaction that changes nothing compares them. From its answer on,
/// the view has what the store had at that moment, or later, so it is right to decide by the view.
extension FleetMember {
    /// Answers the commands that are done, asks the store about those that seem to be done, and sends
    /// those that are about the whole fleet.
    mutating func answerCommands(_ now: Now) {
        var left: [OpenCommand] = []
        var unproven: [FleetKey] = []
        for var entry in commands.list {
            if entry.command == .drain || entry.command == .undrain, view != nil {
                memory.drain(entry.command == .drain)
                actions.append(.drain(memory.isDrained, entry.id))
                continue
            }
            // What is so now may be another thing once the store has recovered.
            if view?.isRecovering == true, entry.command != .adopt {
                left.append(entry)
                continue
            }
            if let reason = refusal(of: entry, now) {
                answer(entry, .refused(reason))
                continue
            }
            let mark = mark(of: entry.command)
            if entry.mark != mark { (entry.mark, entry.seen) = (mark, nil) }
            if isSo(entry, now) {
                let keys = unprovenKeys(entry)
                if keys.isEmpty, isOver(&entry, now) {
                    answer(entry, entry.run.map { .requested($0) } ?? .done)
                    continue
                }
                unproven += keys
            }
            left.append(entry)
        }
        commands.keep(left)
        ask(about: unproven)
        changeHold(now)
    }

    private mutating func answer(_ entry: OpenCommand, _ result: FleetCommandResult) {
        actions.append(.done(entry.id, result))
    }

    private func refusal(of entry: OpenCommand, _ now: Now) -> String? {
        guard let view else { return nil }
        if let job = entry.command.job, let reason = reasonOfFault(job) { return reason }
        switch entry.command {
        case .pause(let job, let terms):
            guard view.jobs[job]?.value.pause == nil else { return nil }
            if entry.seen != nil { return "its pause was ended again before all machines knew it" }
            if let reason = reasonToRefuse(job) { return reason }
            return terms.isFuture(at: now.wall)
                ? nil : "the pause would have ended before the fleet could be asked"
        case .skipNext(let job, _), .resume(let job): return reasonToRefuse(job)
        case .run(let job, let machine):
            if jobs[job] == nil, view.jobs[job].map(\.value.isForgotten) ?? true {
                return "\(machine) has no job \(job)"
            }
            return entry.run == nil ? reasonNotToRun(job) : nil
        case .define(let job):
            if let own = jobs.instance(of: job) {
                return "each machine has its own definition of it: use the name \(own)"
            }
            return jobs[job] == nil ? "this machine has no job \(job)" : nil
        case .forget(let job):
            guard let known = view.jobs[job]?.value else { return "the fleet has no job \(job)" }
            return reasonToKeep(job, known, now)
        case .hold, .release, .drain, .undrain, .adopt: return nil
        }
    }

    /// Why nothing can be requested of a job: this machine cannot read what the store has of it, or, for a
    /// template, of the job of one of the machines.
    private func reasonOfFault(_ job: Job.Name) -> String? {
        guard let view, !view.faults.isEmpty else { return nil }
        let isOfTemplate = jobs.isTemplate(job)
        let found = view.unreadableJobs.sorted().first {
            $0 == job || isOfTemplate && $0.description.hasPrefix("\(job)@")
        }
        return found.flatMap { view.fault(of: $0) }
            .map { "etcd has a value that cannot be read here: \($0)" }
    }

    /// Tells the pause or the hold that a command requests from those before and after it; nil: it is not
    /// there.
    private func mark(of command: FleetCommand) -> Int64? {
        switch command {
        case .pause(let job, _): view?.jobs[job]?.value.pause?.since.microsecondsSinceEpoch
        case .hold: view.flatMap { $0.hold.value.isHeld ? $0.hold.modified : nil }
        case .resume, .skipNext, .release, .run, .drain, .undrain, .define, .forget, .adopt: nil
        }
    }

    /// Whether what a command requests is so, as far as this machine knows.
    private func isSo(_ entry: OpenCommand, _ now: Now) -> Bool {
        guard let view else { return false }
        switch entry.command {
        case .pause(let job, let terms):
            guard let known = view.jobs[job], let pause = known.value.pause,
                !jobs.isTemplate(job) || knowsAll(known)
            else { return false }
            // Until its terms were seen once: then another user may have changed them.
            return entry.seen != nil
                || terms.pause(after: pause, at: now.wall) == pause && arePaused(instances(of: job))
        case .hold:
            // A transaction that was refused can read the hold before the watch brings what was
            // claimed before it.
            return view.hold.value.isHeld && view.reported >= view.hold.modified
        case .resume(let job): return view.jobs[job].map { $0.value.pause == nil } ?? false
        case .skipNext(let job, let count):
            guard !jobs.isTemplate(job) else { return haveSkips(instances(of: job), count) }
            return view.jobs[job]?.value.skips == SkipNext.accepted(count)
        case .release: return !view.hold.value.isHeld
        case .run(let job, _):
            return entry.run.map { view.runs[job]?[$0] != nil } ?? false
        case .drain, .undrain: return false
        case .define(let job): return view.jobs[job]?.value.definition == jobs[job]?.definition
        case .forget(let job): return view.jobs[job]?.value.isForgotten ?? false
        case .adopt: return true
        }
    }

    /// Whether no run can start any more that was claimed before a pause or a hold: each of them has
    /// begun or will not, or its start deadline has passed.
    private func isOver(_ entry: inout OpenCommand, _ now: Now) -> Bool {
        var jobs: [JobValue] = []
        switch entry.command {
        case .pause(let job, _):
            jobs =
                [view?.jobs[job]?.value].compactMap(\.self) + instances(of: job).map(\.known.value)
        case .hold: jobs = view?.jobs.values.map(\.value) ?? []
        case .resume, .skipNext, .release, .run, .drain, .undrain, .define, .forget, .adopt:
            return true
        }
        let since = entry.seen ?? now.boot
        entry.seen = since
        // What cannot be read may have such a run.
        let isWaiting =
            jobs.contains { $0.live.contains { $0.state == .claimed } }
            || view?.faults.isEmpty == false
        return !isWaiting || now.boot >= since + session.deadline.lease
    }

    // MARK: - Proofs

    /// The keys that decide whether a command is done, as far as it is not proved what the store has
    /// there.
    private func unprovenKeys(_ entry: OpenCommand) -> [FleetKey] {
        guard entry.seen == nil else { return [] }
        return keys(of: entry.command).filter { !commands.isProved($0, for: entry) }
    }

    private func keys(of command: FleetCommand) -> [FleetKey] {
        switch command {
        case .pause(let job, _), .skipNext(let job, _):
            [.job(job)] + instances(of: job).map { .job($0.name) }
        case .resume(let job), .define(let job), .forget(let job): [.job(job)]
        case .hold, .release: [.hold]
        case .adopt: [.identity]
        // This machine wrote the run for the command; a drain is not in the store.
        case .run, .drain, .undrain: []
        }
    }

    /// Sends a transaction that compares what is known of these keys. What does not fit waits for the
    /// answer, like what is asked meanwhile. It has branches, so etcd applies it in the one order of all
    /// changes: one without would be answered by the member that gets it, from what that one knows.
    private mutating func ask(about keys: [FleetKey]) {
        guard let view, !keys.isEmpty, !outbox.has(where: \.isQuestion) else { return }
        var asked: Set<FleetKey> = []
        // One more comparison is that of the identity.
        let branches = keys.filter { asked.insert($0).inserted }
            .prefix(FleetTransaction.operationsMax - 1)
            .map { key in
                FleetTransaction.Branch(
                    compares: [.modified(key, view.revisions(of: key)?.modified ?? 0)],
                    changes: [], reads: [key])
            }
        send(FleetTransaction(branches: branches), for: .question)
    }

    /// Notes of which keys an answer proves what the store has.
    mutating func prove(
        _ id: TransactionID, _ transaction: FleetTransaction, _ answer: FleetAnswer
    ) {
        guard !commands.isEmpty else { return }
        var keys = Array(answer.reads.keys)
        if !answer.branches.isEmpty { keys += transaction.compares.compactMap(\.provenKey) }
        for (branch, result) in zip(transaction.branches, answer.branches) {
            switch result {
            case .applied:
                keys += branch.compares.compactMap(\.provenKey) + branch.changes.map(\.key)
            case .refused(let reads): keys += reads.keys
            }
        }
        for key in keys where key.decidesAboutCommands { commands.prove(key, by: id) }
    }
}

extension FleetCompare {
    /// The key of which the store has what is known, if the comparison holds.
    fileprivate var provenKey: FleetKey? {
        switch self {
        case .modified(let key, _), .text(let key, _): key
        // It says nothing of the value.
        case .lease: nil
        }
    }
}

extension FleetKey {
    fileprivate var decidesAboutCommands: Bool {
        switch self {
        case .job, .hold, .identity: true
        case .run, .member, .clock: false
        }
    }
}
