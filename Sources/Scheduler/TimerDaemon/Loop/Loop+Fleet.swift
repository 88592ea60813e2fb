// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import TimerControl
package import TimerCore
import TimerFleet
import TimerLog

/// Jobs that a fleet shares: their commands go to the fleet, and what is shown of them comes from it.
extension Loop {
    /// The fleet that shares some of the jobs, and the name of this machine in it; nil without one.
    package var fleet: (driver: FleetDriver, machine: MachineName)? { shared.fleet }

    /// Connects the loop with the fleet. Nothing is different without this call.
    package func join(_ fleet: FleetDriver, as machine: MachineName) {
        shared.join(fleet, as: machine)
        if agenda.machineHold != nil { fleet.noteHold(true) }
        shared.noteTemplates(of: agenda.jobs)
        after(.firstRecords) { _ in fleet.begin() }
    }

    /// The jobs as the fleet knows them now.
    ///
    /// - Complexity: O(*n*) in the jobs of the fleet.
    package func show(_ views: [Job.Name: FleetJobView]) {
        if let paused = shared.note(views) { receive(.runsPaused(paused)) }
    }

    /// Ends a run because this machine lost the fleet.
    package func endIsolated(_ run: Run.ID) {
        handle(JobCommand(.kill, run.firing.job, by: .isolation, run: run)) { _, _ in }
    }

    /// What the agenda knows of a job, with what the fleet knows of it.
    func shown(_ snapshot: JobSnapshot) -> JobSnapshot {
        guard snapshot.job.fleet != nil else { return snapshot }
        var snapshot = snapshot
        snapshot.show(shared.view(of: snapshot.job.name))
        return snapshot
    }

    /// Tells the fleet which jobs there are for it, once the agenda has them.
    ///
    /// - Complexity: O(*n*) in the number of jobs.
    package func configureFleet(isReload: Bool) {
        guard let fleet else { return }
        shared.noteTemplates(of: agenda.jobs)
        fleet.driver.configure(agenda.jobs.filter { $0.fleet != nil }, isReload: isReload)
    }

    /// Why a command that only a fleet can execute cannot be executed here; nil if it can.
    private func reasonToRefuse(_ command: JobCommand) -> String? {
        if command.machine != nil, !agenda.isShared(command.job), contains(command.job) {
            return "it belongs to no fleet, so it runs on this machine only"
        }
        guard command.verb == .kill, let machine = fleet?.machine,
            let live = shared.view(of: command.job)?.live.first(where: {
                $0.machine != machine && (command.run == nil || command.run == $0.run)
            }), agenda.snapshot(of: command.job, at: steadyNow())?.live.isEmpty != false
        else { return nil }
        return "run \(live.run) is on \(live.machine); use `timerctl kill` there"
    }

    private func contains(_ job: Job.Name) -> Bool {
        agenda.snapshot(of: job, at: steadyNow()) != nil
    }

    /// What a command is for, if it names the template of jobs that each machine runs for itself: the
    /// jobs of all machines, or that of one.
    ///
    /// - Returns: the command; the job of this machine whose state is the answer; why it is refused.
    private func resolved(_ command: JobCommand) -> (JobCommand, shown: Job.Name, refusal: String?)
    {
        guard let instance = shared.instance(of: command.job), !contains(command.job),
            let machine = fleet?.machine
        else { return (command, command.job, nil) }
        var command = command
        switch command.verb {
        case .pause, .resume, .skipNext: return (command, instance, nil)
        case .run:
            let name = command.machine.flatMap { command.job.instance(on: $0) }
            command.machine = command.machine ?? machine
            command.job = name ?? instance
            return (command, instance, nil)
        case .start, .stop, .retry, .kill:
            return (
                command, instance,
                "each machine runs it for itself: use the name that it has on one, such as \(instance)"
            )
        }
    }

    /// Executes a command for a job of the fleet, if it is one that only the fleet can execute, or
    /// refuses it.
    ///
    /// - Returns: whether it is; the answer follows.
    func handleInFleet(
        _ command: JobCommand, reply: @escaping @Sendable (Answer, JobSnapshot?) -> Void
    ) -> Bool {
        let (command, shown, refusal) = resolved(command)
        if let reason = refusal ?? reasonToRefuse(command) {
            reply(
                .refused(reason),
                agenda.snapshot(of: shown, at: steadyNow()).map { self.shown($0) })
            return true
        }
        guard let fleet, agenda.isShared(shown),
            let fleetCommand = FleetCommand(command, on: fleet.machine, at: steadyNow())
        else { return false }
        let answer: @Sendable (Answer) -> Void = { answer in
            self.later { loop in
                let snapshot = loop.agenda.snapshot(of: shown, at: loop.steadyNow())
                reply(answer, snapshot.map { loop.shown($0) })
            }
        }
        if let reason = command.reasonToRefuseInFleet(shared.view(of: shown), at: steadyNow()) {
            answer(.refused(reason))
            return true
        }
        let notice = DaemonNotice.fleetCommanded(command.verb, command.job, by: command.by)
        fleet.driver.execute(fleetCommand, by: command.by.description) { result in
            if result.refusal == nil { self.later { $0.log(notice) } }
            // What the fleet knows is shown a moment later.
            self.later(after: FleetDriver.showDelay * 2) { _ in answer(Answer(result)) }
        }
        return true
    }
}

extension Answer {
    fileprivate init(_ result: FleetCommandResult) {
        switch result {
        case .done: self = .done
        case .requested(let run): self = .requested(run)
        case .refused(let why): self = .refused(why)
        }
    }
}

extension FleetCommand {
    /// What a command for a job requests of the fleet; nil for one that the agenda answers.
    fileprivate init?(_ command: JobCommand, on machine: MachineName, at now: Now) {
        switch command.verb {
        case .pause:
            self = .pause(
                command.job,
                PauseTerms(
                    by: command.by.description, note: command.note,
                    until: command.pauseEnd(at: now),
                    withRun: command.withRun))
        case .resume: self = .resume(command.job)
        case .skipNext: self = .skipNext(command.job, Int64(command.count))
        case .run: self = .run(command.job, on: command.machine ?? machine)
        case .start, .stop, .retry, .kill: return nil
        }
    }
}

extension JobCommand {
    /// What the fleet cannot do of this command.
    fileprivate func reasonToRefuseInFleet(_ known: FleetJobView?, at now: Now) -> String? {
        if let fault = pauseFault(at: now) { return fault }
        if verb == .resume, let pause = known?.pause, !means(pause) { return pause.changedFault }
        if !variables.values.isEmpty { return "a run in a fleet has no variables of its own" }
        if !arguments.isEmpty { return "a run in a fleet has no arguments of its own" }
        return nil
    }
}
