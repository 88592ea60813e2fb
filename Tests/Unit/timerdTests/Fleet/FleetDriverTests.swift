// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import Synchronization
import Testing
import TimerCore
import TimerFleet
import TimerRecording
import TimerStore

@testable import TimerDaemon

/// The driver of a member of a fleet, with a simulated store and a real one of its own.
@Suite struct FleetDriverTests {
    private static let report = Job.Name("report")!

    private static func job(_ name: String = "report", every span: Duration = .seconds(10)) -> Job {
        var job = Job(name: Job.Name(name)!, command: .shell("x"), schedule: .every(span))
        job.fleet = FleetPolicy()
        return job
    }

    /// A fleet that is formed and in which all machines may start runs.
    private func formed(_ count: Int, _ jobs: [Job]) throws -> [FleetMachine] {
        let store = SharedStore()
        let machines = try (1...count).map { try FleetMachine($0, in: store, jobs) }
        settle(machines)
        let adoption = machines[0].command(.adopt)
        pass(.seconds(10), machines)
        #expect(adoption.isDone)
        return machines
    }

    private func stop(_ machines: [FleetMachine]) {
        for machine in machines { machine.driver.stop() }
    }

    @Test func aFiringIsRemembered_givenToTheAgenda_andItsEndIsWritten() throws {
        let machines = try formed(1, [Self.job()])
        let machine = machines[0]
        pass(.seconds(10), machines)
        let run = try #require(machine.runs.first)
        #expect(machine.runs.count == 1 && machine.remembered() == [run.id])
        #expect(run.claim.fence > 0 && run.claim.cause == .schedule && run.missed == 0)
        let deadline = try #require(run.claim.before).nanoseconds
        #expect(deadline > machine.store.now.boot.nanoseconds)
        #expect(deadline <= machine.store.now.boot.nanoseconds + 9_000_000_000)
        machine.run(run, .exited(3))
        settle(machines)
        pass(.milliseconds(250), machines)
        let value = try #require(machine.store.value(of: run.id))
        #expect(value.state == .ended && value.outcome == .exited(3))
        #expect(value.began != nil && value.fence == run.claim.fence)
        #expect(machine.remembered().isEmpty)
        #expect(machine.store.value(of: run.id.firing.job)?.live.isEmpty == true)
        stop(machines)
    }

    @Test func eachFiringStartsOnOneMachine() throws {
        let machines = try formed(3, [Self.job("a"), Self.job("b"), Self.job("c")])
        for _ in 0..<5 {
            pass(.seconds(10), machines)
            for machine in machines {
                for run in machine.runs where machine.store.value(of: run.id)?.state == .claimed {
                    machine.run(run, .exited(0))
                }
            }
            settle(machines)
        }
        let runs = machines.flatMap { $0.runs.map(\.id) }
        #expect(Set(runs).count == runs.count && runs.count >= 12)
        // A machine with a higher fence came later.
        let fences = machines.flatMap { $0.runs.map(\.claim.fence) }
        #expect(Set(fences).count <= fences.count && fences.allSatisfy { $0 > 0 })
        stop(machines)
    }

    @Test func aRunThatWasTooLateIsUnstarted() throws {
        let machines = try formed(1, [Self.job()])
        pass(.seconds(10), machines)
        let run = try #require(machines[0].runs.first)
        machines[0].record(run)
        machines[0].end(run, .lost(.unstarted))
        settle(machines)
        pass(.milliseconds(250), machines)
        #expect(machines[0].store.value(of: run.id)?.state == .unstarted)
        #expect(machines[0].remembered().isEmpty)
        stop(machines)
    }

    /// What the next instance of the daemon does with a run, by what the last one recorded of it.
    private func restart(
        _ prepare: (FleetMachine, ClaimedRun) -> Void
    ) throws -> (machine: FleetMachine, run: ClaimedRun) {
        let first = try formed(1, [Self.job()])[0]
        pass(.seconds(10), [first])
        let run = try #require(first.runs.first)
        prepare(first, run)
        settle([first])
        // It was killed: nothing is said to the store.
        let next = try FleetMachine(
            1, in: first.store, [Self.job()], instance: 2, recorder: first.recorder)
        first.driver.stopForTest()
        pass(.seconds(8), [next])
        return (next, run)
    }

    @Test func aKillBeforeTheRecord_theNextInstanceStartsItOnce() throws {
        let (machine, run) = try restart { _, _ in }
        #expect(machine.runs.map(\.id) == [run.id])
        #expect(machine.runs[0].claim.fence > run.claim.fence)
        stop([machine])
    }

    @Test func aKillAfterTheRecord_theNextInstanceDoesNotStartIt() throws {
        // The agenda closed it when it was loaded, because the runner does not know it.
        let (closed, run) = try restart { machine, run in
            machine.record(run)
            machine.recorder.recorder.write([
                .close(
                    run.id, .lost(.unstarted), RunUsage(), failed: true, at: machine.store.now.wall)
            ])
        }
        #expect(!closed.runs.contains { $0.id == run.id })
        #expect(closed.store.value(of: run.id)?.state == .unstarted)
        stop([closed])
    }

    @Test func aKillWhileItRuns_theNextInstanceFollowsItToItsEnd() throws {
        let (machine, run) = try restart { machine, run in machine.record(run) }
        #expect(!machine.runs.contains { $0.id == run.id })
        #expect(machine.store.value(of: run.id)?.state == .began)
        machine.end(run, .exited(0))
        settle([machine])
        pass(.milliseconds(250), [machine])
        #expect(machine.store.value(of: run.id)?.state == .ended)
        stop([machine])
    }

    @Test func aKillAfterItsEnd_theNextInstanceReportsTheEnd() throws {
        let (machine, run) = try restart { machine, run in
            machine.record(run)
            machine.recorder.recorder.write([
                .close(
                    run.id, .signalled("SIGKILL"), RunUsage(), failed: true,
                    at: machine.store.now.wall)
            ])
        }
        let value = machine.store.value(of: run.id)
        #expect(value?.state == .ended && value?.outcome == .signalled("SIGKILL"))
        #expect(!machine.runs.contains { $0.id == run.id })
        stop([machine])
    }

    @Test func commandsAreDoneWhenTheFleetConfirmsThem() throws {
        let machines = try formed(2, [Self.job()])
        let pause = machines[1].command(.pause(Self.report, PauseTerms(by: "ada")))
        pass(.seconds(1), machines)
        #expect(pause.isDone && machines[0].store.value(of: Self.report)?.pause?.by == "ada")
        #expect(machines[0].jobViews[Self.report]?.pause?.by == .user("ada"))
        pass(.seconds(30), machines)
        #expect(machines.flatMap(\.runs).isEmpty)
        let resume = machines[0].command(.resume(Self.report))
        pass(.seconds(11), machines)
        #expect(resume.isDone && machines.flatMap(\.runs).count == 1)
        // The run that is active prevents another one.
        let early = machines[0].command(.run(Self.report, on: MachineName("web2")!))
        settle(machines)
        #expect(early.refusal?.hasSuffix("is not over, and concurrency is forbid") == true)
        for machine in machines {
            for run in machine.runs { machine.run(run, .exited(0)) }
        }
        pass(.seconds(1), machines)
        let run = machines[0].command(.run(Self.report, on: MachineName("web2")!))
        pass(.seconds(1), machines)
        #expect(run.isDone && machines[1].runs.contains { $0.claim.cause.requester != nil })
        let requested = try #require(run.run)
        #expect(machines[1].runs.contains { $0.id == requested })
        for machine in machines {
            let known = try #require(machine.machineRun(requested))
            #expect(known.machine.description == "web2" && known.outcome == nil)
        }
        let nowhere = machines[0].command(.run(Self.report, on: MachineName("web9")!))
        settle(machines)
        #expect(nowhere.refusal?.hasPrefix("web9 is not connected to the fleet") == true)
        stop(machines)
    }

    @Test func whatIsShownOfAJobNamesTheMachines() throws {
        let machines = try formed(2, [Self.job()])
        let view = try #require(machines[0].jobView(Self.report))
        let command = try #require(view.machines)
        #expect(command.count == 2 && view.hold == nil)
        let first = machines[command[0].description == "web1" ? 0 : 1]
        let drain = first.command(.drain)
        let hold = machines[0].command(.hold(by: "ada"))
        pass(.seconds(1), machines)
        // The drain is answered once it is on the disk.
        first.waitForDisk()
        settle(machines)
        #expect(drain.isDone && hold.isDone)
        let held = try #require(machines[0].jobView(Self.report))
        #expect(held.machines == [command[1]] && held.hold?.by == .user("ada"))
        let refused = machines[0].command(.run(Self.report, on: command[0]))
        settle(machines)
        let isHere = command[0].description == "web1"
        #expect(refused.refusal?.contains(isHere ? "is drained" : "starts no runs now") == true)
        stop(machines)
    }

    @Test func withoutTheFleetCommandsAreRefusedAtOnce() throws {
        let store = SharedStore()
        let machine = try FleetMachine(1, in: store, [Self.job()])
        settle([machine])
        let early = machine.command(.pause(Self.report, PauseTerms(by: "ada")))
        settle([machine])
        #expect(early.refusal?.contains("`timerctl fleet adopt` forms it") == true)
        let adoption = machine.command(.adopt)
        pass(.seconds(8), [machine])
        #expect(adoption.isDone)
        store.state.withLock { $0.isAway = true }
        pass(.seconds(15), [machine])
        let late = machine.command(.pause(Self.report, PauseTerms(by: "ada")))
        settle([machine])
        #expect(late.refusal?.contains("cannot be reached") == true)
        #expect(machine.jobViews[Self.report]?.isStale == true && machine.runs.count <= 1)
        // Nothing starts while etcd is away. The firings that were missed are treated as on-missed says.
        store.state.withLock { $0.isAway = false }
        let before = machine.runs.count
        for run in machine.runs { machine.run(run, .exited(0)) }
        pass(.seconds(20), [machine])
        #expect(machine.runs.count > before && machine.jobViews[Self.report]?.isStale == false)
        stop([machine])
    }

    @Test func aReloadChangesTheDefinitionsOfTheFleet() throws {
        let machines = try formed(1, [Self.job()])
        let before = machines[0].store.value(of: Self.report)?.definition
        machines[0].driver.configure([Self.job(every: .seconds(20))], isReload: true)
        pass(.seconds(1), machines)
        let after = machines[0].store.value(of: Self.report)?.definition
        #expect(before != nil && after != nil && before != after)
        // A mere start does not change them.
        machines[0].driver.configure([Self.job(every: .seconds(30))], isReload: false)
        pass(.seconds(1), machines)
        #expect(machines[0].store.value(of: Self.report)?.definition == after)
        #expect(machines[0].jobViews[Self.report]?.isDrifted == true)
        // This machine does not know when the job is due.
        let run = machines[0].command(.run(Self.report, on: MachineName("web1")!))
        settle(machines)
        #expect(run.refusal?.contains("another definition") == true)
        stop(machines)
    }

    @Test func theDefinitionsOfTwoMachinesAreEqualIfTheirJobsMeanTheSame() throws {
        let job = Self.job()
        let hash = try #require(FleetJob(job)).definition
        var same = job
        same.description = "a text"
        same.policy.longAfter = .seconds(5)
        #expect(FleetJob(same)?.definition == hash)
        var others: [Job] = []
        func other(_ change: (inout Job) -> Void) {
            var changed = job
            change(&changed)
            others.append(changed)
        }
        other { $0.command = .shell("y") }
        other { $0.schedule = .every(.seconds(11)) }
        other { ($0.schedule, $0.count) = (.every(.seconds(11)), .wall) }
        #expect(others.map { FleetJob($0)?.basis } == [.active, .active, .wall])
        other { $0.fleet?.labels = ["db"] }
        other { $0.fleet?.prefer = [MachineName("web1")!] }
        other { $0.fleet?.takeoverDelay = .seconds(3) }
        other { $0.fleet?.onLost = .retry }
        other { $0.policy.retry.retries = 1 }
        other { $0.policy.onMissed = .skip }
        other { $0.policy.startingDeadline = .seconds(60) }
        other { $0.policy.concurrency = .allow }
        other { $0.execution.user = "www" }
        other { $0.execution.success.exitCodes = [0, 1] }
        other { $0.execution.success.signals = ["SIGTERM"] }
        other { $0.execution.skipExitCodes = [75] }
        let hashes = others.compactMap { FleetJob($0)?.definition }
        #expect(hashes.count == others.count && Set(hashes + [hash]).count == others.count + 1)
        var local = job
        local.fleet = nil
        #expect(FleetJob(local) == nil)
    }
}

extension FleetDriver {
    /// Ends it as a kill does: nothing more is said or written.
    nonisolated func stopForTest() {
        executor.queue.sync { assumeIsolated { _ = $0.halt() } }
    }
}
