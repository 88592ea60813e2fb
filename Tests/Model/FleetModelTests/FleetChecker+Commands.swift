// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

/// A command that a machine has not answered yet.
struct OpenRequest {
    let command: FleetCommand
    let machine: SimulatedMachine
    /// Whether the store had what it requests at some instant since it arrived.
    var wasSo = false
}

/// The law of acknowledgements: what a command requests was so in the store at some instant between
/// its arrival and its answer. So the commands of all machines have an order, in which each of them
/// comes after all those that were answered before it arrived.
extension Simulation {
    /// A command arrived, or the store changed.
    func noteRequests() {
        for (id, request) in commands where !request.wasSo {
            commands[id]?.wasSo = request.isSo(in: store)
        }
    }

    /// The store has changed by a transaction, or because a lease ended.
    func noteCommit(_ commit: SimulatedStore.Commit) {
        let concerns = commit.changes.keys.contains { key in
            switch key {
            case .job, .hold, .identity: true
            case .member, .clock, .run: false
            }
        }
        if concerns { noteRequests() }
    }

    /// A machine answered a command.
    func done(
        _ id: FleetMember.CommandID, _ result: FleetCommandResult, _ machine: SimulatedMachine
    ) {
        guard let request = commands.removeValue(forKey: id) else { return }
        note("\(machine.name) answers \(result) to \(request.command)")
        guard result.refusal == nil else { return counts["commands refused"] += 1 }
        counts["commands"] += 1
        checkLaw(request, result)
        checker.done(request.command, self)
    }

    private func checkLaw(_ request: OpenRequest, _ result: FleetCommandResult) {
        if case .requested(let run) = result {
            guard checker.runs[run] == nil else { return }
        } else if request.wasSo || request.isSo(in: store) {
            return
        }
        checker.fail(
            "\(request.machine.name) acknowledged \(request.command), which was never so")
    }
}

extension OpenRequest {
    /// Whether the store has what the command requests.
    func isSo(in store: SimulatedStore) -> Bool {
        switch command {
        case .pause(let name, let terms):
            let jobs = store.jobs(of: name)
            return !jobs.isEmpty
                && jobs.allSatisfy { job in
                    // One that was paused by its own name keeps the terms of that.
                    job.pause.map { pause in
                        job.template == name || terms.until == nil || pause.until == terms.until
                    } ?? false
                }
        case .resume(let name): return store.job(name).map { $0.pause == nil } ?? false
        case .skipNext(let name, let count):
            let jobs = store.jobs(of: name).filter { !$0.isTemplate }
            return jobs.allSatisfy { $0.skips == count }
        case .hold: return store.hold?.isHeld == true
        case .release: return store.hold?.isHeld == false
        case .define(let name):
            guard let job = machine.jobs.first(where: { $0.name == name }) else { return false }
            return store.job(name)?.definition == job.definition
        case .forget(let name): return store.job(name)?.isForgotten == true
        case .adopt: return store.identity?.cluster == store.cluster
        // What these request is on the disk of the machine, and what `run` requests has a name.
        case .drain, .undrain: return true
        case .run: return false
        }
    }
}

extension SimulatedStore {
    fileprivate func job(_ name: Job.Name) -> JobValue? { value(.job(name)) }

    fileprivate var hold: HoldValue? { value(.hold) }

    fileprivate var identity: IdentityValue? { value(.identity) }

    private func value<Value: FleetValue>(_ key: FleetKey) -> Value? {
        keys[key].flatMap { try? Value(text: $0.value) }
    }

    /// A job, and if it is a template those of all machines.
    fileprivate func jobs(of name: Job.Name) -> [JobValue] {
        guard let job = job(name) else { return [] }
        guard job.isTemplate else { return [job] }
        return [job]
            + keys.keys.compactMap { key in
                guard case .job(let other) = key, let value = self.job(other),
                    value.template == name
                else { return nil }
                return value
            }
    }
}
