// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import Workload

/// The time of one `next(after:)`, measured while going from occurrence to occurrence.
struct NextCase {
    /// 2026-01-01T00:00:00Z. After the last occurrence the measurement continues from here.
    static let start = WallInstant(secondsSinceEpoch: 1_767_225_600)
    static let steps = 2000
    static let rounds = 7

    let expressions: [Expression]
    let zone: String
    var steps = NextCase.steps

    func run() throws {
        let rules = try Timetable.zone(zone)
        for expression in expressions {
            if let text = expression.calendar {
                measure(try Timetable(calendar: text, in: rules), expression.kind)
            }
            if let text = expression.cron {
                measure(try Timetable(cron: text, in: rules), expression.kind)
            }
        }
    }

    private func measure(_ table: Timetable, _ kind: Expression.Class) {
        var figures: [Double] = []
        for _ in 0..<Self.rounds { figures.append(walk(table)) }
        report([
            ("case", "next"), ("who", "timerd"), ("grammar", table.grammar.rawValue),
            ("class", kind.rawValue), ("zone", zone), ("expression", table.text),
            ("ns", figures.median), ("worst_ns", worstStep(table)), ("slots", slots(table)),
        ])
    }

    /// The slowest call of all expressions in the zone, and its expression.
    func slowest() throws -> (ns: Double, text: String) {
        let rules = try Timetable.zone(zone)
        var slowest = (ns: 0.0, text: "")
        for text in expressions.compactMap(\.calendar) {
            let ns = worstStep(try Timetable(calendar: text, in: rules))
            if ns > slowest.ns { slowest = (ns, text) }
        }
        return slowest
    }

    /// Nanoseconds per call.
    private func walk(_ table: Timetable) -> Double {
        var at = Self.start
        let began = nanoseconds()
        for _ in 0..<steps {
            if let slot = table.next(after: at) { at = slot } else { at = Self.start }
        }
        let passed = nanoseconds() - began
        keep(at)
        return Double(passed) / Double(steps)
    }

    /// The slowest call, where the time of a call is the minimum of three measurements, so that
    /// interruptions do not count.
    private func worstStep(_ table: Timetable) -> Double {
        var at = Self.start
        var worst: Int64 = 0
        for _ in 0..<steps {
            var least = Int64.max
            var slot: WallInstant?
            for _ in 0..<3 {
                let began = nanoseconds()
                slot = table.next(after: at)
                least = min(least, nanoseconds() - began)
            }
            worst = max(worst, least)
            at = slot ?? Self.start
        }
        return Double(worst)
    }

    /// The first occurrences, combined into one number, to compare them with the results of other
    /// implementations.
    private func slots(_ table: Timetable) -> String {
        var at = Self.start
        var folded: UInt64 = 14_695_981_039_346_656_037
        for _ in 0..<25 {
            guard let slot = table.next(after: at) else { break }
            folded = (folded ^ UInt64(slot.microsecondsSinceEpoch)) &* 1_099_511_628_211
            at = slot
        }
        return String(folded, radix: 16)
    }
}
