// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ProjectFiles
import Testing

@testable import TimerConfig

/// What each key says of values of every kind, right or wrong, in `Data/values.txt`.
@Suite struct WrongValuesTests {
    /// Limits are tried with the values beside them, and each kind of value with an empty one.
    private static let values: [(kind: String, values: [String])] = [
        (
            "integers",
            [
                "-1001", "-1000", "-21", "-20", "-1", "0", "1", "2", "7", "8", "19", "20", "99",
                "100", "255", "256", "1000", "1001", "10001", "250001", "1000001", "1000000001",
                "9223372036854775807",
            ]
        ),
        ("decimal numbers", ["0.5", "1.5", "100.5", "nan"]),
        ("booleans", ["true", "false"]),
        (
            "strings",
            [
                "", "x", "-", "none", "infinity", "0s", "99ms", "1us", "1500ms", "2s", "59s", "2h",
                "101y", "1 hour 2 miles", "8XB", "2MiB", "2000TiB", "99999999999999999999", "0778",
                "1000", "/", "/x", "-/x", "x y", "a\\u0000b", "é@x", "http://example.org",
                "https://example.org/a b", "socks5://a:b@c:1", "25:00", "* * * * 8",
                "2026-02-30T18:00:00Z", "other", "user:role",
            ].map { "\"\($0)\"" }
        ),
        (
            "arrays",
            [
                "[]", "[1]", "[256]", "[\"\"]", "[\"x\"]", "[\"x\", \"x\"]", "[\"a b\", 1, true]",
                "[\"@\"]", "[\"RUN_A\"]", "[\"PATH\"]", "[\"A=secret\"]", "[\"cap_kill\"]",
                "[\"CAP_KIL\"]", "[\"*\"]", "[\"http://u:p@x\"]", "[\"success\", \"never\"]",
            ]
        ),
        (
            "tables",
            [
                "{}", "{ a = 1 }", "{ a = \"x\" }", "{ \"a b\" = \"/x\" }", "{ nofil = 1 }",
                "{ nofile = -1, cpu = \"x\" }", "{ TIMERD_A = \"x\" }",
            ]
        ),
        ("dates and times", ["2026-12-24T18:00:00Z", "18:00:00"]),
    ]

    /// Each key with its table and the other lines that the table needs.
    private static var keys: [(table: String, name: String, others: String)] {
        let settings = SettingsTable.all.flatMap { table in
            table.keys.map { ("[\(table.name)]", $0.name, "") }
        }
        let notifiers = NotifierKey.all.map { key in
            (
                "[notify.a]", key.name,
                NotifierKey.transports.contains(key.name) ? "" : "mail = \"x\"\n"
            )
        }
        let jobs = JobKey.all.map { key in
            let command = JobKey.commands.contains(key.name) ? "" : "shell = \"true\"\n"
            let schedule = JobKey.schedules.contains(key.name) ? "" : "every = \"1h\"\n"
            return ("[job.a]", key.name, command + schedule)
        }
        let defaults = JobKey.all.map { ("[defaults]", $0.name, "") }
        return settings + notifiers + jobs + defaults
    }

    /// What the reader says of a value of a key.
    private func outcome(
        of value: String, for key: (table: String, name: String, others: String)
    ) throws -> String {
        let text = "\(key.table)\n\(key.others)\(key.name) = \(value)\n"
        let reading = try ConfigReader.read(Array(text.utf8), file: "t")
        let errors = reading.errors.map { error -> String in
            var message = error.description
            // Most messages begin with the value or quote it.
            guard let name = message.firstRange(of: ": \(key.name): ") else {
                return message.replacing(JobKey.defaultNames.joined(separator: ", "), with: "NAMES")
            }
            let place = message[..<name.upperBound]
            message = String(message[name.upperBound...])
            if value.hasPrefix("\"") { return place + message.replacing(value, with: "VALUE") }
            if message.hasPrefix("\(value) ") {
                return place + "VALUE" + message.dropFirst(value.count)
            }
            return place + message.replacing("\"\(value)s\"", with: "\"VALUEs\"")
        }
        return errors.isEmpty ? "right" : errors.joined(separator: " | ")
    }

    /// The values of a key in groups about which the reader says the same.
    private func section(
        _ key: (table: String, name: String, others: String),
        _ values: [(kind: String, values: [String])]
    ) throws -> String {
        var order: [String] = []
        var groups: [String: [String]] = [:]
        for (kind, values) in values {
            let outcomes = try values.map { try outcome(of: $0, for: key) }
            let isOne = Set(outcomes).count == 1
            for (value, outcome) in isOne ? [(kind, outcomes[0])] : Array(zip(values, outcomes)) {
                if groups[outcome] == nil { order.append(outcome) }
                groups[outcome, default: []].append(value)
            }
        }
        let lines = order.map {
            "  \(groups[$0, default: []].joined(separator: "  "))\n    \($0)\n"
        }
        return "\(key.table) \(key.name)\n" + lines.joined()
    }

    @Test func eachKeySaysTheSameOfEachValueAsItDid() throws {
        let text = try Self.keys.map { key in
            // What [defaults] cannot have is refused whatever its value is.
            try section(key, key.table == "[defaults]" ? [("\"-\"", ["\"-\""])] : Self.values)
        }
        let difference = try Project.difference(
            of: "Tests/Unit/TimerConfigTests/Data/values.txt", from: text.joined(separator: "\n"))
        #expect(difference == nil)
    }
}
