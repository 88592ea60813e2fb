// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// What the keys of a job change in its execution, and whether a runner notices.
@Suite struct FingerprintTests {
    /// Values of every kind; a key is tried with those that it accepts, and with its words.
    private static let values =
        [
            "-1000", "0", "1", "2", "7", "19", "1000", "true", "false", "[]", "[3]", "{}",
            "{ core = 0 }", "{ core = \"infinity\" }", "{ cpu = 0 }", "{ a = \"/b\" }",
            "{ a = \"/b\", c = \"/d\" }", "[\"a\"]", "[\"a\", \"b\"]", "[\"ab\"]",
            "[\"RUN_a\"]", "[\"CAP_KILL\"]", "{ mounted = [\"/b\"] }",
            "{ mounted = [\"!/b\"] }", "{ path-exists = [\"/b\"] }", "{ ac-power = true }",
            "{ ac-power = false }", "{ network-online = true }", "{ load-below = 2 }",
            "{ load-below = 2.5 }", "{ command = [\"/b\"] }",
        ]
        + ["", "a", "b", "a\\n", "none", "0s", "1s", "2min", "1KiB", "0000", "/a", "-/a", "a:b:c"]
        .map { "\"\($0)\"" }

    /// Keys that mean something with another one alone, and this one.
    private static let companions = [
        "io-priority": "io-class = \"realtime\"", "cpu-priority": "cpu-policy = \"rr\"",
    ]

    /// Everything that is written for the fingerprint, one text after the other.
    private struct Recorder: FingerprintWriter {
        var written: [String] = []

        mutating func put(_ value: UInt8) { written.append("byte \(value)") }
        mutating func put(_ value: UInt64) { written.append("unsigned \(value)") }
        mutating func put(_ value: Int) { written.append("\(value)") }
        mutating func put(_ value: Bool) { written.append("\(value)") }
        mutating func put(_ value: String) { written.append("\"\(value)\"") }
        mutating func put(_ value: Duration) { written.append("\(value)") }
    }

    private static func written(_ execution: Execution) -> [String] {
        var recorder = Recorder()
        execution.write(to: &recorder)
        return recorder.written
    }

    /// The stored properties of an execution and of its parts.
    private static func properties(of value: Any) -> [String: AnyHashable] {
        var found: [String: AnyHashable] = [:]
        for case (let label?, let value) in Mirror(reflecting: value).children {
            if value is Priorities || value is Confinement {
                found.merge(properties(of: value)) { $1 }
            } else {
                found[label] = value as? AnyHashable
            }
        }
        return found
    }

    private static func executions() throws -> [Execution] {
        try JobKey.all.flatMap { key in
            let words = if case .words(let words) = key.schema { words } else { [String]() }
            return try (values + words.map { "\"\($0)\"" }).compactMap { value in
                let lines = [
                    "[job.a]", JobKey.commands.contains(key.name) ? "" : "shell = \"x\"",
                    JobKey.schedules.contains(key.name) ? "" : "every = \"1h\"",
                    companions[key.name] ?? "", "\(key.name) = \(value)\n",
                ]
                let text = lines.joined(separator: "\n")
                return try ConfigReader.read(Array(text.utf8), file: "t").jobSet.jobs.first?
                    .execution
            }
        }
    }

    /// If a property of an execution were forgotten in `write(to:)`, a changed job would silently
    /// continue to run with its old definition.
    @Test func aRunnerNoticesEachChangeByAKey_exceptOfWhatDoesNotAffectIt() throws {
        let standard = Self.properties(of: Execution())
        #expect(standard.count > 25 && standard["nice"] == AnyHashable(0))
        var changed: Set<String> = []
        var seen: [[String]: Execution] = [:]
        for var execution in try Self.executions() {
            changed.formUnion(
                Self.properties(of: execution).filter { $0.value != standard[$0.key] }.keys)
            let written = Self.written(execution)
            // These three do not affect a runner.
            execution.log = Execution().log
            execution.success = Execution().success
            execution.skipExitCodes = Execution().skipExitCodes
            #expect(Self.written(execution) == written)
            #expect(seen[written] ?? execution == execution)
            seen[written] = execution
        }
        #expect(changed == Set(standard.keys))
        #expect(seen.count > 60)
    }
}
