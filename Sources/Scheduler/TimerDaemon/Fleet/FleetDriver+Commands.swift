// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
package import TimerCore
package import TimerFleet
package import TimerFleetLink

/// A command that was sent to the fleet and is not answered yet.
package struct PendingCommand: Sendable {
    /// When it is answered at the latest, by CLOCK_MONOTONIC.
    var by: AwakeInstant
    /// Gets the answer of the fleet, or the reason why there is none.
    var done: @Sendable (FleetCommandResult) -> Void
}

/// Commands of users about the fleet, and about jobs that it shares.
extension FleetDriver {
    /// How long a command waits for the fleet: a pause waits for a lease, and any command for an
    /// election of a leader.
    private var timeLimit: Duration { dependencies.configuration.lease + .seconds(10) }

    /// Executes a command. It is refused at once if the fleet cannot be reached.
    ///
    /// - Parameter done: gets the result.
    package nonisolated func execute(
        _ command: FleetCommand, by user: String? = nil,
        _ done: @escaping @Sendable (FleetCommandResult) -> Void
    ) {
        later { $0.handle(command, user, done) }
    }

    private func handle(
        _ command: FleetCommand, _ user: String?,
        _ done: @escaping @Sendable (FleetCommandResult) -> Void
    ) {
        guard let member, !isStopped else {
            return done(.refused("the daemon is not ready yet; try again"))
        }
        if let away = reasonToRefuse(command, member) { return done(.refused(away)) }
        if case .run(let job, let machine) = command,
            machine == dependencies.configuration.machine
        {
            requesters[job] = user
        }
        lastCommand += 1
        let by = dependencies.now().awake + timeLimit
        commands[lastCommand] = PendingCommand(by: by, done: done)
        receive(.command(lastCommand, command))
        // A command that nothing answers is answered by the clock.
        later(after: timeLimit + .milliseconds(100)) { driver in
            driver.expireCommands(at: driver.dependencies.now())
        }
    }

    /// Only the adoption of a store needs no store that may be used.
    private func reasonToRefuse(_ command: FleetCommand, _ member: FleetMember) -> String? {
        if case .adopt = command {
            guard !member.canAdopt else { return nil }
            return member.finding?.sentence ?? "etcd cannot be reached: \(problem)"
        }
        if let finding = member.finding { return "\(finding.sentence)" }
        guard member.canCommand else {
            return "the fleet cannot be reached: \(problem); nothing changed"
        }
        return reasonOfDefinition(command, member)
    }

    /// A machine that does not know the definition that the fleet uses does not know when the job is due.
    private func reasonOfDefinition(_ command: FleetCommand, _ member: FleetMember) -> String? {
        if case .run(_, let machine) = command, let reason = reasonOfMachine(machine, member) {
            return reason
        }
        switch command {
        case .resume(let job), .run(let job, _):
            guard member.jobView(of: job, at: dependencies.now())?.isDrifted == true else {
                return nil
            }
            return
                "the fleet uses another definition of it than this machine has; use a machine with "
                + "that one, or `timerctl fleet define \(job)`"
        case .pause, .skipNext, .hold, .release, .define, .forget, .drain, .undrain, .adopt:
            return nil
        }
    }

    /// A machine that is not there would run the job when it comes back.
    private func reasonOfMachine(_ machine: MachineName, _ member: FleetMember) -> String? {
        let status = member.status(at: dependencies.now())
        // In its first seconds this machine is not fit yet, and starts the run a little later.
        if machine == dependencies.configuration.machine {
            if isHeldHere { return "this machine is held; `timerctl release` ends that" }
            return status.isDrained
                ? "this machine is drained; `timerctl fleet undrain` ends that" : nil
        }
        let machines = status.machines
        guard let found = machines.first(where: { $0.name == machine }) else {
            return "\(machine) is not connected to the fleet; `timerctl fleet` lists the machines"
        }
        guard !found.value.isFit else { return nil }
        return switch found.value.unfitness {
        case .drained:
            "\(machine) starts no runs now: it is drained or held; `timerctl fleet undrain` or `timerctl release` there ends that"
        case .clock:
            "\(machine) starts no runs now: its clock is wrong; `timerctl fleet` there says by how much"
        case .joining:
            "\(machine) starts no runs yet: it has just joined; try again in some seconds"
        // A machine with an older version of timerd does not say why.
        case nil:
            "\(machine) starts no runs now: it is drained, its clock is wrong, or it joined moments ago; see `timerctl fleet` on it"
        }
    }

    private var problem: String { status.problem ?? "this machine has just begun to connect" }

    func answer(_ id: FleetMember.CommandID, _ result: FleetCommandResult) {
        commands.removeValue(forKey: id)?.done(result)
    }

    func expireCommands(at now: Now) {
        guard !commands.isEmpty else { return }
        for (id, reply) in commands where reply.by <= now.awake {
            answer(
                id,
                .refused(
                    "the fleet has not confirmed it in time; it may still take effect, see `timerctl fleet`"
                ))
        }
    }

    func failCommands(_ why: String) {
        for id in commands.keys.sorted() { answer(id, .refused(why)) }
    }

    /// The runs that the fleet has of a job, or of all jobs, on any machine.
    package nonisolated func readRuns(
        of job: Job.Name?, _ done: @escaping @Sendable ([FleetJobView.MachineRun]) -> Void
    ) {
        later { done($0.member?.machineRuns(of: job) ?? []) }
    }

    /// A job as the fleet knows it, with the machines that may start it; nil if it does not know it.
    package nonisolated func readView(
        of job: Job.Name, _ done: @escaping @Sendable (FleetJobView?) -> Void
    ) {
        later { done($0.member?.jobView(of: job, at: $0.dependencies.now())) }
    }

    /// One of them; nil if the fleet does not have it.
    package nonisolated func readRun(
        _ run: Run.ID, _ done: @escaping @Sendable (FleetJobView.MachineRun?) -> Void
    ) {
        later { done($0.member?.machineRun(run)) }
    }

    /// What is known of the fleet, and of the connection to it.
    package nonisolated func readStatus(
        _ done: @escaping @Sendable (FleetStatus, FleetLinkStatus) -> Void
    ) {
        later { driver in
            let now = driver.dependencies.now()
            done(driver.member?.status(at: now) ?? FleetStatus(), driver.status)
        }
    }
}
