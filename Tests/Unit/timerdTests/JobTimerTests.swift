// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Logging
import Synchronization
import Systemd
import Testing
import TimerCore
import TimerStore

@testable import TimerDaemon

/// The agenda with real dispatch timers, and no other part of the daemon.
private final class TimerFixture: @unchecked Sendable {
    // This is safe because everything in it is used only on its queue.
    let queue = DispatchQueue(label: "fixture")
    private let clocks: Clocks
    private var agenda: Agenda
    private var timers: [Job.Name: JobTimer] = [:]
    private(set) var runs = 0
    private(set) var early = 0

    init(_ jobs: [Job]) throws {
        clocks = try Clocks()
        let actions: [Action]
        (agenda, actions) = Agenda.load(
            JobSet(jobs), RecoveredState(instance: 1), concurrentRunsMax: 8, at: clocks.now())
        queue.sync { take(actions) }
    }

    func command(_ verb: JobCommand.Verb, _ job: Job.Name) {
        take(agenda.handle(.command(JobCommand(verb, job, by: .configuration)), at: clocks.now()))
    }

    func shutDown() { take(agenda.handle(.shutdown, at: clocks.now())) }

    var armed: Int { timers.count }

    private func take(_ actions: [Action]) {
        for action in actions {
            switch action {
            case .arm(let job, let instant): timer(of: job).arm(at: instant)
            case .disarm(let job): timers.removeValue(forKey: job)?.cancel()
            case .begin(let started, _, _):
                for run in started {
                    runs += 1
                    if run.id.firing.scheduled > clocks.now().wall + .milliseconds(1) { early += 1 }
                    take(agenda.handle(.ended(run.id, .exited(0), RunUsage()), at: clocks.now()))
                }
            default: break
            }
        }
    }

    private func timer(of job: Job.Name) -> JobTimer {
        if let timer = timers[job] { return timer }
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { @Sendable [unowned self] in
            take(agenda.handle(.wake(job), at: clocks.now()))
        }
        source.activate()
        let timer = JobTimer(source: source)
        timers[job] = timer
        return timer
    }
}

@Suite struct JobTimerTests {
    /// Sources that are cancelled, set again and released in any order, some of them while they
    /// fire.
    @Test func aMillionRandomOrdersOnRealTimersNeitherTrapNorFireEarly() throws {
        let jobs = (0..<8).map { number in
            Job(
                name: Job.Name("j\(number)")!, command: .shell("true"),
                schedule: number == 0
                    ? .after(.milliseconds(1)) : .every(.milliseconds(1 + number)),
                first: number == 1 ? .zero : nil)
        }
        let fixture = try TimerFixture(jobs)
        let seed = UInt64.random(in: 0 ... .max)
        print("orders: seed \(seed)")
        var state = seed
        for _ in 0..<1000 {
            // In parts, so that timers fire in between.
            fixture.queue.sync {
                for _ in 0..<1000 {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let verb = [JobCommand.Verb.pause, .resume, .start, .stop][Int(state >> 40) % 4]
                    fixture.command(verb, jobs[Int(state >> 50) % jobs.count].name)
                }
            }
        }
        fixture.queue.sync {
            fixture.shutDown()
            #expect(fixture.armed == 0)
            print("orders: 1000000, firings \(fixture.runs)")
            #expect(fixture.runs > 0 && fixture.early == 0)
        }
    }
}
