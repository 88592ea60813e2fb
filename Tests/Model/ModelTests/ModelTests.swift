// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Random sets of jobs and events, compared with the definitions by a checker that is independent
/// of the agenda. TIMERD_TEST_CASES sets the number of cases (3000), or TIMERD_TEST_HOURS the
/// duration. TIMERD_TEST_SEED repeats a test, TIMERD_TEST_FAILURES is the number of failures after
/// which the test stops, and TIMERD_TEST_TRIES limits the attempts to make a failing case smaller
/// (4000).
@Suite struct ModelTests {
    private static func number(_ name: String) -> Double? {
        ProcessInfo.processInfo.environment[name].flatMap { Double($0) }
    }

    private static func seed(_ function: String = #function) -> UInt64 {
        let given = ProcessInfo.processInfo.environment["TIMERD_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0 ... .max)
        print("\(function): TIMERD_TEST_SEED=\(seed)")
        return seed
    }

    /// The case with this number; the first one uses the seed itself.
    private static func script(_ seed: UInt64, _ number: Int) -> Script {
        Generator.script(seed &+ UInt64(number) &* 0x9e37_79b9)
    }

    private static func fault(of script: Script, checksWatches: Bool) -> Fault? {
        Checker.judge(
            Machine.run(script).timeline, names: Machine.names, checksWatches: checksWatches
        ).fault
    }

    @Test func theObservationsMatchTheDefinitions() {
        let seed = Self.seed()
        let end = Self.number("TIMERD_TEST_HOURS").map { Date().addingTimeInterval($0 * 3600) }
        let cases = end == nil ? Int(Self.number("TIMERD_TEST_CASES") ?? 3000) : .max
        var counts = Machine.Counts()
        var (done, firings, skips, waits, failed) = (0, 0, 0, 0, 0)
        while done < cases, end.map({ Date() < $0 }) ?? true {
            let script = Self.script(seed, done)
            let (timeline, one) = Machine.run(script)
            let verdict = Checker.judge(timeline, names: Machine.names)
            counts += one
            firings += verdict.firings
            skips += verdict.skips
            waits += verdict.waits
            done += 1
            guard let fault = verdict.fault else { continue }
            Self.report(script, fault, "case \(done - 1)", seed, checksWatches: false)
            failed += 1
            if failed >= Int(Self.number("TIMERD_TEST_FAILURES") ?? 1) { break }
        }
        print(
            "model: \(done) job sets, \(firings) firings, \(skips) skipped, "
                + "\(waits) waited for slots, \(counts)")
        if done >= 1000 { #expect(waits >= done / 2) }
        if failed == 0 { Self.expectMany(counts, firings: firings, skips: skips, of: done) }
    }

    /// The laws about incidents that begin because time passes or a firing is skipped.
    @Test func incidentsBeginAndEndAsTheManualSays() {
        let seed = Self.seed()
        for number in 0..<Int(Self.number("TIMERD_TEST_CASES") ?? 1000) {
            let script = Self.script(seed, number)
            guard let fault = Self.fault(of: script, checksWatches: true) else { continue }
            return Self.report(script, fault, "case \(number)", seed, checksWatches: true)
        }
    }

    /// Checks that each kind of event really happened, and often.
    private static func expectMany(
        _ counts: Machine.Counts, firings: Int, skips: Int, of cases: Int
    ) {
        // A small number of cases is not enough for this check.
        guard cases >= 1000 else { return }
        #expect(counts.told >= 100 * cases, "a hundred events in each job set")
        #expect(firings >= 20 * cases && skips >= 10 * cases)
        #expect(counts.commands >= 10 * cases && counts.wakes >= 20 * cases)
        #expect(counts.ends >= 20 * cases && counts.failures >= 10 * cases)
        for count in [
            counts.blocks, counts.sleeps, counts.sets, counts.reloads, counts.stops, counts.kills,
            counts.powerCuts, counts.reboots,
        ] { #expect(count >= cases, "\(counts)") }
        #expect(counts.corrections >= cases / 4)
    }

    private static func report(
        _ script: Script, _ fault: Fault, _ name: String, _ seed: UInt64, checksWatches: Bool
    ) {
        let tries = Int(number("TIMERD_TEST_TRIES") ?? 4000)
        let (small, shown) = Shrinker.shrink(script, fault, triesMax: tries) {
            Self.fault(of: $0, checksWatches: checksWatches)
        }
        Issue.record(
            """
            \(name): \(shown.kind.rawValue): \(shown.text)
            \(small.text)
            \(tail(of: small, upTo: shown.line))
            TIMERD_TEST_SEED=\(seed)
            """)
    }

    /// The last lines of the observations.
    private static func tail(of script: Script, upTo line: Int) -> String {
        let timeline = Machine.run(script).timeline
        return timeline.lines.prefix(line + 1).suffix(14).map { line in
            guard case .told(let told, let seen) = line else { return "    \(line)" }
            return (["    \(told)"] + timeline.seen[seen].map { "        \($0.text)" })
                .joined(separator: "\n")
        }.joined(separator: "\n")
    }

    /// Checks that the checker does not accept everything: one observation is removed, repeated or
    /// changed.
    @Test func changedObservationsAreRefused() {
        let seed = Self.seed()
        var tried = 0
        for number in 0..<400 {
            let timeline = Machine.run(Self.script(seed, number)).timeline
            guard Checker.judge(timeline, names: Machine.names).fault == nil else { continue }
            let places = timeline.seen.indices.filter { timeline.seen[$0].kind != .account }
            guard !places.isEmpty else { continue }
            let place = places[Int(seed % UInt64(places.count))]
            for (way, other) in Self.tampered(timeline, at: place) {
                tried += 1
                #expect(
                    Checker.judge(other, names: Machine.names).fault != nil,
                    "case \(number): \(way) \(timeline.seen[place].text)")
            }
        }
        #expect(tried > 1000, "tampered with \(tried)")
    }

    private static func tampered(_ timeline: Timeline, at place: Int) -> [(String, Timeline)] {
        let one = timeline.seen[place]
        func replaced(_ seen: [Seen]) -> Timeline {
            var other = timeline
            other.seen.replaceSubrange(place...place, with: seen)
            let growth = seen.count - 1
            for index in other.lines.indices {
                guard case .told(let told, let range) = other.lines[index] else { continue }
                let start = range.lowerBound > place ? range.lowerBound + growth : range.lowerBound
                let end = range.upperBound > place ? range.upperBound + growth : range.upperBound
                other.lines[index] = .told(told, seen: start..<end)
            }
            return other
        }
        var cases = [("left out", replaced([]))]
        if one.kind != .answer { cases.append(("told twice", replaced([one, one]))) }
        var other = one
        other.job = (one.job + 1) % Machine.names
        if one.kind != .answer { cases.append(("of another job", replaced([other]))) }
        other = one
        other.label += Unit.microsecond
        if one.label != 0 { cases.append(("later", replaced([other]))) }
        other = one
        other.value += 1
        if [.row, .fired, .skipped, .answer].contains(one.kind) {
            cases.append(("counted otherwise", replaced([other])))
        }
        return cases
    }

    /// A case that fails because of two of its steps and one of its jobs is reduced to these.
    @Test func aFailingCaseIsReduced() {
        let seed = Self.seed()
        var tried = 0
        for number in 0..<20 {
            let script = Self.script(seed, number)
            func judge(_ script: Script) -> Fault? {
                let sleeps = script.steps.contains { if case .sleep = $0 { true } else { false } }
                let fails = sleeps && script.steps.contains(.reload) && !script.jobs.isEmpty
                return fails ? Fault(kind: .missed, text: "") : nil
            }
            guard let fault = judge(script) else { continue }
            tried += 1
            let (small, _) = Shrinker.shrink(script, fault, triesMax: 4000, judge: judge)
            #expect(small.steps.count == 2 && small.jobs.count == 1, "\(small.text)")
            #expect(small.text.split(separator: "\n").count == 4)
        }
        #expect(tried > 5)
    }
}
