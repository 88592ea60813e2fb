// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Random rosters and what befalls them, held against the definitions by a checker that owes nothing to the
/// agenda. TIMERD_TEST_CASES says how many (10 000), or TIMERD_TEST_HOURS how long; TIMERD_TEST_SEED repeats.
@Suite struct ModelTests {
    private static func number(_ name: String) -> Double? {
        ProcessInfo.processInfo.environment[name].flatMap { Double($0) }
    }

    /// The last lines of what was seen.
    private static func tail(of script: Script, upTo line: Int) -> String {
        let timeline = Machine.run(script).timeline
        return timeline.lines.prefix(line + 1).suffix(14).map { line in
            guard case .told(let told, let seen) = line else { return "    \(line)" }
            return (["    \(told)"] + timeline.seen[seen].map { "        \($0.text)" })
                .joined(separator: "\n")
        }.joined(separator: "\n")
    }

    @Test func whatIsSeenIsWhatTheDefinitionsDemand() {
        let seed =
            ProcessInfo.processInfo.environment["TIMERD_TEST_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 0 ... .max)
        print("model: TIMERD_TEST_SEED=\(seed)")
        let end = Self.number("TIMERD_TEST_HOURS").map { Date().addingTimeInterval($0 * 3600) }
        let cases = end == nil ? Int(Self.number("TIMERD_TEST_CASES") ?? 10_000) : .max
        var counts = Machine.Counts()
        var firings = 0
        var skips = 0
        var done = 0
        var failed = 0
        let failures = Int(Self.number("TIMERD_TEST_FAILURES") ?? 1)
        while done < cases, end.map({ Date() < $0 }) ?? true {
            let script = Generator.script(seed &+ UInt64(done) &* 0x9e37_79b9)
            let (timeline, one) = Machine.run(script)
            let verdict = Checker.judge(timeline, names: Machine.names)
            counts += one
            firings += verdict.firings
            skips += verdict.skips
            done += 1
            if let fault = verdict.fault {
                let (small, shown) = Shrinker.shrink(
                    script, fault, triesMax: Int(Self.number("TIMERD_TEST_TRIES") ?? 4000))
                Issue.record(
                    """
                    case \(done - 1): \(shown.kind.rawValue): \(shown.text)
                    \(small.text)
                    \(Self.tail(of: small, upTo: shown.line))
                    TIMERD_TEST_SEED=\(seed)
                    """)
                failed += 1
                if failed >= failures { break }
            }
        }
        print("model: \(done) rosters, \(firings) firings, \(skips) let go, \(counts)")
    }
}
