// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
import TimerFleet

/// Many changes at once: a transport that makes one transaction after the other must not be asked for
/// one per job.
@Suite struct FleetBatchTests {
    private static func started(_ count: Int) throws -> FleetScript {
        let jobs = try (0..<count).map {
            try FleetScript.calendarJob(try #require(Job.Name("job\($0)")))
        }
        var script = FleetScript(jobs)
        script.form()
        script.run(.seconds(10))
        return script
    }

    @Test func startsOfManyRunsAreWrittenTogether() throws {
        var script = try Self.started(500)
        let runs = Array(script.started.suffix(500))
        #expect(Set(runs.map(\.firing.job)).count == 500)
        for run in runs { script.handle(.began(run, at: script.now.wall)) }
        #expect(script.sent.count == 4)
        var transactions = 0
        while !script.sent.isEmpty {
            script.applyFirst()
            transactions += 1
        }
        #expect(transactions <= 4 + 500 / 100)
        let states = try Set(runs).map { run in
            let text = try #require(script.store.keys[.run(run)]).value
            return try RunValue(text: text).state
        }
        #expect(states.allSatisfy { $0 == .began })
    }

    @Test func oneThatIsNotAnsweredStopsNoOther() throws {
        var script = try Self.started(20)
        let runs = Array(script.started.suffix(20))
        script.handle(.began(runs[0], at: script.now.wall))
        let (lost, _) = script.sent.removeFirst()
        for run in runs.dropFirst() { script.handle(.began(run, at: script.now.wall)) }
        while !script.sent.isEmpty { script.applyFirst() }
        func states() throws -> [RunValue.State] {
            try runs.map {
                try RunValue(text: try #require(script.store.keys[.run($0)]).value).state
            }
        }
        #expect(try states() == [.claimed] + [RunValue.State](repeating: .began, count: 19))
        script.handle(.unknown(lost))
        script.settle()
        #expect(try states().allSatisfy { $0 == .began })
    }

    /// A change that another machine overtook is refused alone.
    @Test func aRefusedChangeLeavesTheOthersAsTheyAre() throws {
        var script = try Self.started(20)
        let runs = Array(script.started.suffix(20))
        for run in runs { script.handle(.began(run, at: script.now.wall)) }
        var other = try #require(try script.jobValue(runs[10].firing.job))
        other.skips = 3
        script.write([.job(runs[10].firing.job): other.text])
        script.settle()
        for run in runs {
            let text = try #require(script.store.keys[.run(run)]).value
            #expect(try RunValue(text: text).state == .began)
        }
        #expect(try script.jobValue(runs[10].firing.job)?.skips == 3)
    }

    /// The largest change has half the operations that a transaction may have.
    @Test func forgettingManyJobsKeepsWithinWhatEtcdPermits() throws {
        var script = try Self.started(6)
        let names = try (0..<6).map { try #require(Job.Name("job\($0)")) }
        for name in names {
            for number in Int64(0)..<100 {
                let slot = WallInstant(secondsSinceEpoch: 1_700_000_000 + number)
                let run = Run.ID(firing: Firing.ID(job: name, scheduled: slot))
                var value = RunValue(
                    machine: FleetScript.web2,
                    incarnation: Incarnation(boot: .unknown, number: 1), nonce: "1", state: .lost,
                    claimed: slot)
                value.ended = slot
                script.write([.run(run): value.text])
            }
            var job = try #require(try script.jobValue(name))
            job.live = []
            script.write([.job(name): job.text])
        }
        script.settle()
        script.handle(.configured([], isReload: true))
        script.settle()
        for (id, name) in names.enumerated() { script.handle(.command(100 + id, .forget(name))) }
        var largest = 0
        while !script.sent.isEmpty {
            largest = max(largest, script.sent[0].transaction.operations)
            script.applyFirst()
        }
        #expect(largest > 60 && largest <= FleetTransaction.operationsMax)
        for name in names { #expect(try script.jobValue(name)?.isForgotten == true) }
    }
}
