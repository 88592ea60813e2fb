// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

extension Simulation {
    func drawJob(_ number: Int, definition: Int) -> FleetJob {
        let name = Job.Name("job\(number)")!
        let kind =
            [.active, .wall, .calendar, .calendar, .calendar][random.below(5)]
            as FleetChecker.Kind
        let span = [3, 5, 10, 20][random.below(4)]
        let schedule: FleetJob.Schedule =
            kind == .calendar ? .wall(Self.calendar(span)) : .every(.seconds(span))
        var job = FleetJob(
            name, definition: "\(kind.rawValue)-\(span)-\(definition)", schedule: schedule)
        if kind == .wall { job.basis = .wall }
        job.policy.onMissed = [.skip, .runOnce, .runOnce, .runAll][random.below(4)]
        job.policy.concurrency = random.below(3) > 0 ? .forbid : .allow
        job.takeoverDelay = .seconds([0, 1, 2][random.below(3)])
        if random.below(4) == 0 { job.policy.startingDeadline = .seconds(8) }
        if random.below(3) == 0 { job.retriesOfLost = 1 }
        job.endsIsolated = random.below(3) == 0
        job.skipsAway = random.below(4) == 0
        if random.below(3) == 0 {
            job.policy.retry.retries = 1 + random.below(2)
            job.policy.retry.delay = .milliseconds(500)
        }
        if random.below(3) == 0 { job.prefer = [machines[random.below(machines.count)].name] }
        return job
    }

    /// One fleet of three has a job that each machine runs for itself. It is drawn by numbers of its own,
    /// so that the other fleets stay as they are.
    func drawTemplate(_ numbers: Random) {
        let saved = random
        random = numbers
        if random.below(3) == 0 {
            var job = drawJob(9, definition: 1)
            (job.prefer, job.retriesOfLost, job.endsIsolated) = ([], 0, false)
            template = job
        }
        random = saved
    }

    /// The job of a machine that has the template.
    private func instance(of machine: SimulatedMachine) -> FleetJob? {
        guard var job = template else { return nil }
        job.template = job.name
        job.name = Job.Name("\(job.name)@\(machine.name)")!
        return job
    }

    func jobs(of machine: SimulatedMachine) -> [FleetJob] {
        jobs + [instance(of: machine)].compactMap(\.self)
    }

    /// The jobs of all machines.
    var allJobs: [FleetJob] { jobs + machines.compactMap(instance) }

    private static func calendar(_ span: Int) -> WallSchedule {
        guard let spec = try? CalendarSpec("*-*-* *:*:0/\(span)") else {
            preconditionFailure("the calendar event of the model is valid")
        }
        return WallSchedule([.calendar(spec, .utc)])
    }

    func command(_ command: FleetCommand, to machine: SimulatedMachine) {
        guard machine.member != nil else {
            guard case .adopt = command else { return }
            return after(2 * Self.second) { [unowned self] in self.command(command, to: machine) }
        }
        commandCount += 1
        commands[commandCount] = OpenRequest(command: command, machine: machine)
        noteRequests()
        note("\(machine.name) is asked \(command)")
        deliver(.command(commandCount, command), to: machine, machine.epoch)
    }

    private func aMachine() -> SimulatedMachine { machines[random.below(machines.count)] }

    // MARK: - Faults

    func nextFault() {
        guard time < calm else { return recoverAll() }
        fault()
        after(random.span(Self.second / 10, 8 * Self.second)) { [unowned self] in self.nextFault() }
    }

    private func fault() {
        let machine = aMachine()
        let names = jobs.map(\.name) + [template?.name].compactMap(\.self)
        let job = names[random.below(names.count)]
        switch random.below(40) {
        case 0...3: kill(machine)
        case 4: powerCut(machine)
        case 5...8: cut(machine)
        case 9: stop(machine)
        case 10: stopRunner(machine)
        case 11: suspend(machine)
        case 12:
            counts["outages"] += 1
            checker.outage(self)
            storeDown = time + random.span(Self.second, 20 * Self.second)
            for machine in machines { machine.connectedSince = nil }
            note("the store is down until \(storeDown / Self.second)")
            // The next leader gives each lease its whole TTL again.
            for lease in store.leases.keys {
                store.leases[lease]?.expires = storeDown + Self.lease.wholeNanoseconds
            }
        case 13: revokeEarly()
        case 14...15:
            counts["compactions"] += 1
            store.compact()
        case 16: copyOrLose()
        case 17...18: command(.pause(job, PauseTerms(by: "ops")), to: machine)
        case 19...20:
            let end = machine.now(time).wall + .milliseconds(random.below(20_000))
            command(.pause(job, PauseTerms(by: "ops", until: end)), to: machine)
        case 21...25: command(.resume(job), to: machine)
        case 26: command(.hold(by: "ops"), to: machine)
        case 27...28: command(.release(by: "ops"), to: machine)
        case 29...30:
            let other = aMachine()
            let own = job == template?.name ? instance(of: other)?.name : nil
            command(.run(own ?? job, on: other.name), to: machine)
        case 31: command(.drain, to: machine)
        case 32...33: command(.undrain, to: machine)
        case 34: command(.skipNext(job, Int64(random.below(3))), to: machine)
        case 35: changeDefinition()
        case 36: setClock(machine)
        case 37...38: contradict(job)
        default: break
        }
    }

    /// Two machines are asked for the opposite, one soon after the other. The second one may not know yet
    /// what the first one did.
    private func contradict(_ job: Job.Name) {
        let (first, second) = (aMachine(), aMachine())
        let isAboutJob = random.below(3) > 0
        let commands: (FleetCommand, FleetCommand) =
            isAboutJob
            ? (.pause(job, PauseTerms(by: "ops")), .resume(job))
            : (.hold(by: "ops"), .release(by: "ops"))
        let isPause = random.below(2) == 0
        command(isPause ? commands.0 : commands.1, to: first)
        after(random.span(0, random.below(2) == 0 ? Self.second / 100 : 5 * Self.second)) {
            [unowned self] in self.command(isPause ? commands.1 : commands.0, to: second)
        }
    }

    /// Something between the claim and the start of the process.
    func faultDuringClaim(_ machine: SimulatedMachine) {
        let fault = random.below(40)
        guard fault < 3 else { return }
        after(random.span(100_000, 25_000_000)) { [unowned self] in
            switch fault {
            case 0: self.kill(machine)
            case 1: self.stop(machine)
            default: self.stopRunner(machine)
            }
        }
    }

    func kill(_ machine: SimulatedMachine) {
        guard machine.member != nil else { return }
        counts["kills"] += 1
        note("\(machine.name) is killed")
        checker.died(machine, self)
        machine.member = nil
        machine.epoch += 1
        machine.daemonStopped = 0
        let pause = random.below(3) == 0 ? 40 * Self.second : 3 * Self.second
        after(random.span(Self.second / 20, pause)) { [unowned self] in self.startDaemon(machine) }
    }

    private func powerCut(_ machine: SimulatedMachine) {
        counts["power cuts"] += 1
        note("\(machine.name) loses power")
        if machine.member != nil { checker.died(machine, self) }
        machine.member = nil
        machine.epoch += 1
        machine.startsUnderway = 0
        (machine.daemonStopped, machine.runnerStopped) = (0, 0)
        machine.registry = [:]
        machine.connectedSince = nil
        if reinstalls.below(6) == 0 {
            counts["machines installed again"] += 1
            note("\(machine.name) is installed again")
            (machine.disk, machine.rows) = (FleetMemory(), [:])
        } else if random.below(2) == 0 {
            (machine.disk, machine.rows) = (machine.diskBefore, machine.rowsBefore)
        }
        machine.bootNumber += 1
        machine.boot = SimulatedMachine.bootID(
            machines.firstIndex { $0 === machine }! + 1, machine.bootNumber)
        checker.lostPower(machine, self)
        // Nothing starts on it before that, also not what was planned before.
        machine.isOff = true
        let number = machine.bootNumber
        after(random.span(Self.second, 30 * Self.second)) { [unowned self] in
            guard machine.bootNumber == number else { return }
            machine.isOff = false
            machine.bootedAt = self.time
            machine.suspended = 0
            self.startDaemon(machine)
        }
    }

    private func cut(_ machine: SimulatedMachine) {
        counts["network cuts"] += 1
        checker.died(machine, self)
        let until = time + random.span(Self.second, 35 * Self.second)
        let way = random.below(4)
        if way != 1 { machine.cutFrom = until }
        if way != 2 { machine.cutTo = until }
        machine.connectedSince = nil
        // If accounts are opened meanwhile, what it knows of the clock ends with that.
        machine.followsClock = false
        note("\(machine.name) is cut, way \(way), until \(until / Self.second)")
    }

    private func stop(_ machine: SimulatedMachine) {
        counts["stops"] += 1
        checker.died(machine, self)
        machine.daemonStopped = time + random.span(Self.second, 60 * Self.second)
        machine.followsClock = false
        machine.connectedSince = nil
        note("\(machine.name) is stopped until \(machine.daemonStopped / Self.second)")
    }

    private func stopRunner(_ machine: SimulatedMachine) {
        counts["stops of runners"] += 1
        machine.runnerStopped = time + random.span(Self.second, 60 * Self.second)
        note("the runner of \(machine.name) is stopped")
    }

    /// The machine sleeps: its awake clock stands.
    private func suspend(_ machine: SimulatedMachine) {
        guard machine.member != nil, machine.daemonStopped <= time else { return }
        counts["suspensions"] += 1
        let span = random.span(Self.second, 40 * Self.second)
        (machine.daemonStopped, machine.runnerStopped) = (time + span, time + span)
        checker.suspended(machine, span, self)
        machine.suspended += span
        (machine.hasLoaded, machine.followsClock) = (false, false)
        machine.connectedSince = nil
        note("\(machine.name) sleeps")
        after(span) { [unowned self] in self.clockChanged(machine) }
    }

    /// As etcd 15247 describes it.
    private func revokeEarly() {
        let leases = store.leases.keys.sorted { $0.number < $1.number }
        guard !leases.isEmpty else { return }
        counts["leases revoked too early"] += 1
        if let commit = store.revoke(leases[random.below(leases.count)]) {
            checker.committed(commit, self)
            noteCommit(commit)
        }
    }

    private func copyOrLose() {
        guard checker.isFormed, time < calm - 60 * Self.second else { return }
        // Most stores are copied before the first one is lost, because few fleets lose several.
        switch random.below(copy == nil ? 4 : 2) {
        case 1...:
            copy = store
            checker.storeCopied(self)
        default:
            let isWiped = copy == nil || random.below(4) == 0
            counts[isWiped ? "stores wiped" : "stores restored"] += 1
            var cluster = "c\(random.below(1 << 30))"
            // If almost nothing is missing in it, a machine that has not read it again may take it for the
            // one that it knows.
            let isSame =
                !isWiped && tokens.below(2) == 0 && (copy?.revision ?? 0) + 50 < store.revision
            if isSame {
                counts["stores restored as the same cluster"] += 1
                cluster = store.cluster
                storeLife += 1
                storeDown = max(storeDown, time + tokens.span(Self.second, 15 * Self.second))
            }
            note(isWiped ? "the store is wiped" : "the store is restored as \(cluster)")
            checker.storeLost(self)
            store.restore(isWiped ? nil : copy, cluster: cluster)
            copy = nil
            for machine in machines { machine.connectedSince = nil }
            checker.storeReplaced(self, isWiped: isWiped, isSame: isSame)
            noteRequests()
            // What they know is the clock of the other store.
            for machine in machines { (machine.hasLoaded, machine.followsClock) = (false, false) }
            let machine = aMachine()
            after(random.span(0, 30 * Self.second)) { [unowned self] in
                self.command(.adopt, to: machine)
            }
        }
    }

    private func changeDefinition() {
        counts["reloads"] += 1
        let index = random.below(jobs.count)
        jobs[index] = drawJob(index, definition: counts["reloads"] + 1)
        checker.jobs = allJobs
        note("\(jobs[index].name) becomes \(jobs[index].definition)")
        for machine in machines {
            after(random.span(0, 6 * Self.second)) { [unowned self] in
                machine.jobs = self.jobs(of: machine)
                self.deliver(
                    .configured(machine.jobs, isReload: true), to: machine, machine.epoch)
            }
        }
    }

    /// Sets a wall clock wrong by some seconds, or right again.
    private func setClock(_ machine: SimulatedMachine) {
        counts["clocks set"] += 1
        machine.offset =
            random.below(2) == 0
            ? random.span(-3000, 3000) * 1_000_000 : random.span(-400, 400) * 1_000_000
        note("the clock of \(machine.name) is off by \(machine.offset / 1_000_000) ms")
        clockChanged(machine)
    }

    /// All faults end.
    private func recoverAll() {
        note("calm")
        storeDown = 0
        for machine in machines {
            (machine.cutFrom, machine.cutTo) = (0, 0)
            machine.offset = machine.offset % (400 * 1_000_000)
            (machine.daemonStopped, machine.runnerStopped) = (
                min(machine.daemonStopped, time), min(machine.runnerStopped, time)
            )
            clockChanged(machine)
            after(45 * Self.second) { [unowned self] in
                self.command(.undrain, to: machine)
            }
        }
        for span in [46, 55, 60] {
            after(Int64(span) * Self.second) { [unowned self] in
                self.command(.release(by: "ops"), to: self.machines[0])
                if let template = self.template {
                    self.command(.resume(template.name), to: self.machines[0])
                }
                for job in self.jobs {
                    self.command(.define(job.name), to: self.machines[0])
                    self.command(.resume(job.name), to: self.machines[0])
                }
            }
        }
        // Twice, because a machine that was killed may start only after the first time.
        for span in [20, 42] {
            after(Int64(span) * Self.second) { [unowned self] in
                for machine in self.machines where machine.member?.finding != nil {
                    self.command(.adopt, to: machine)
                }
            }
        }
        after(Self.second) { [unowned self] in
            // The one that was asked may have been killed before it did it.
            if !self.checker.isFormed || self.checker.lostAt != nil {
                self.command(.adopt, to: self.machines[0])
            }
        }
    }
}
