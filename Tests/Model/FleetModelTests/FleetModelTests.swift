// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore
import TimerFleet

/// Random fleets in simulated time: up to five machines over one store, with unknown outcomes, cuts,
/// kills, stops, power cuts, wrong clocks and stores that are lost; compared with what a fleet
/// promises by a checker that is independent of the members.
///
/// A run of all tests tries the same fleets each time. TIMERD_TEST_CASES sets their number, or
/// TIMERD_TEST_HOURS the duration; TIMERD_TEST_SEED tries others, and repeats a test.
@Suite struct FleetModelTests {
    private static func number(_ name: String) -> Double? {
        ProcessInfo.processInfo.environment[name].flatMap { Double($0) }
    }

    @Test func theFleetKeepsItsPromises() {
        let given = ProcessInfo.processInfo.environment["TIMERD_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? 777
        print("theFleetKeepsItsPromises: TIMERD_TEST_SEED=\(seed)")
        let end = Self.number("TIMERD_TEST_HOURS").map { Date().addingTimeInterval($0 * 3600) }
        let cases = end == nil ? Int(Self.number("TIMERD_TEST_CASES") ?? 24) : .max
        var counts = FleetCounts()
        var done = 0
        while done < cases, end.map({ Date() < $0 }) ?? true {
            let number = seed &+ UInt64(done) &* 0x9e37_79b9
            let simulation = Simulation(seed: number, seconds: 400)
            simulation.run()
            counts += simulation.counts
            done += 1
            guard let fault = simulation.checker.fault else { continue }
            let lines = Int(Self.number("TIMERD_TEST_LINES") ?? 60)
            let again = Simulation(seed: number, seconds: 400)
            again.isTracing = true
            again.run()
            Issue.record(
                """
                case \(done - 1): \(fault)
                \(again.trace.suffix(lines).joined(separator: "\n"))
                TIMERD_TEST_SEED=\(number)
                """)
            return
        }
        print("fleet model: \(done) fleets of 490 s, \(counts.text)")
        if cases >= 24, cases < .max { Self.expectMany(counts, of: done) }
    }

    /// Checks that each kind of thing really happened, and often.
    private static func expectMany(_ counts: FleetCounts, of cases: Int) {
        #expect(counts["claims"] >= 20 * cases && counts["starts"] >= 20 * cases)
        for name in [
            "claims refused", "takeovers", "unknown outcomes", "lost", "claims that did not start",
            "claims by the next start of the daemon", "kills", "power cuts", "network cuts",
            "pauses acknowledged", "holds acknowledged", "reloads", "watches lost",
            "stores wiped", "stores restored", "leases revoked too early", "retries",
            "claims by wall time", "formats raised", "upgrades", "recoveries", "jobs brought back",
        ] { #expect(counts[name] >= max(1, cases / 10), "\(name): \(counts.text)") }
    }
}
