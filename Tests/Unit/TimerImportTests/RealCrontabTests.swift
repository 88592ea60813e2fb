// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerImport

/// Debian's own crontab(1) checks lines with `-n`. What it takes is imported, and what it refuses is not.
@Suite struct RealCrontabTests {
    private static let crontab = "/usr/bin/crontab"

    /// Whether there is a crontab(1) that checks files, and lets this user do that.
    private static let isPossible: Bool = {
        guard FileManager.default.isExecutableFile(atPath: crontab),
            FileManager.default.fileExists(atPath: "/etc/debian_version")
        else { return false }
        return (try? takes("0 5 * * * true")) == true && (try? takes("60 * * * * true")) == false
    }()

    /// Whether cron takes a crontab with this line.
    private static func takes(_ line: String) throws -> Bool {
        let file = FileManager.default.temporaryDirectory.path + "/timerd-crontab-\(UUID())"
        try Data("\(line)\n".utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: crontab)
        process.arguments = ["-n", file]
        for stream in [\Process.standardInput, \.standardOutput, \.standardError] {
            process[keyPath: stream] = FileHandle.nullDevice
        }
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    @Test(.enabled(if: isPossible)) func whatCronTakesIsImported() throws {
        var lines = LineSource()
        for _ in 0..<400 {
            let line = lines.next()
            let result = try Imported("\(line)\n").result
            let refused = result.report.refused.compactMap(\.message).first
            // Cron takes lines that never run, which are refused with that reason.
            if let refused,
                ["matches nothing", "command"].contains(where: { refused.contains($0) })
            {
                continue
            }
            #expect(
                try Self.takes(line) == (refused == nil),
                "\(line.debugDescription): \(refused ?? "")")
        }
    }
}

/// Lines of crontabs, of which about half are damaged.
private struct LineSource {
    private var random: SeededRandom

    init(function: String = #function) { random = SeededRandom(function: function) }

    private mutating func one<Element>(of list: [Element]) -> Element {
        list[random.int(below: list.count)]
    }

    private static let settings = [
        "A=b", "A = b", "A= 'b'", "A='b", "A=\"b\" ", "A=\"b\" c", "A=", "A=\"\"", "'A'=b", "'A=b",
        "\"A B\"=c", "A B=c", "=b", "A==b", "A", "1A=2", " A=b", "A\t=\tb", "''=b", "A=\"a'b\"",
        "A='", "-A=b", "@a=b", "@daily=b", "* =b",
    ]
    private static let words = [
        "@daily", "@reboot", "@hourly", "@annually", "@never", "@Daily", "@", "@ daily", "@dailyx",
    ]
    private static let values = [
        "0", "1", "5", "59", "60", "23", "24", "31", "32", "12", "13", "7", "8", "007", "*", "jan",
        "Mon", "sun", "-1", "1.5", "", "99999999", "~", "?", "L",
    ]
    private static let commands = ["a", "/bin/a b", "a%b", "% x", " ", "", "* x", "a=b", "#c"]
    private static let ranges = [0...59, 0...23, 1...31, 1...12, 0...7]

    mutating func next() -> String {
        switch random.int(below: 8) {
        case 0: return one(of: Self.settings)
        case 1: return one(of: Self.words) + one(of: ["", " ", "\t"]) + one(of: Self.commands)
        default: break
        }
        var fields = Self.ranges.map { good($0) }
        if random.int(below: 2) == 0 { fields[random.int(below: 5)] = damaged() }
        if random.int(below: 20) == 0 { fields.removeLast(random.int(below: 5)) }
        return one(of: ["", "", " ", "-"])
            + fields.map { $0 + one(of: [" ", "\t", "  "]) }.joined()
            + one(of: Self.commands)
    }

    private mutating func good(_ range: ClosedRange<Int>) -> String {
        let ends = [0, 1].map { _ in range.lowerBound + random.int(below: range.count) }.sorted()
        return one(of: [
            "*", "\(ends[0])", "\(ends[0])-\(ends[1])", "*/\(1 + random.int(below: 9))",
            "\(ends[1]),\(ends[0])-\(ends[1])/\(1 + random.int(below: 5))",
        ])
    }

    private mutating func damaged() -> String {
        let (first, last) = (one(of: Self.values), one(of: Self.values))
        let part = one(of: [
            first, "\(first)-\(last)", "*/\(first)", "\(first)-\(last)/\(first)",
            "\(first)/\(last)",
        ])
        return one(of: [part, part, "\(part),\(first)"])
    }
}
