// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// A member of a fleet stays small: what it knows is in values with private state, so that a line which
/// decides something cannot change all of it.
@Suite struct FleetFormTests {
    /// The values of a member, and the files in which they are.
    private static let values = [
        "KnownStore": "KnownStore", "FleetView": "FleetView", "FleetJobs": "FleetJobs",
        "JobQueue": "JobQueue", "LocalRuns": "JobQueue", "StoreContact": "FleetMember+Isolation",
        "FollowedClock": "FollowedClock", "WallClockWatch": "SkewBounds",
        "FleetSession": "FleetSession", "FleetOutbox": "FleetOutbox",
        "OpenCommands": "FleetMember+Acknowledging", "Absences": "Absences",
        "MemberMemory": "MemberMemory", "FleetRecovery": "MemberMemory",
    ]

    /// The lines of a type that declare stored properties.
    private static func stored(in type: String, of text: String) throws -> [String] {
        let start = try #require(
            text.firstMatch(of: try Regex("\\n(?:public )?struct \(type)\\b"))?.range)
        let end = try #require(text[start.upperBound...].range(of: "\n}\n"))
        let declared = #/ {4}(?:public |private |private\(set\) )*(?:let|var) \w+.*/#
        let computed = #/var \w+: [^={]*\{.*/#
        return text[start.upperBound..<end.lowerBound].split(separator: "\n").filter {
            $0.wholeMatch(of: declared) != nil && !$0.contains(computed)
        }.map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func text(of file: String) throws -> String {
        try Project.text(of: "\(try Project.folder(of: "TimerFleet"))/\(file).swift")
    }

    @Test func aMemberHasFewProperties() throws {
        let properties = try Self.stored(in: "FleetMember", of: Self.text(of: "FleetMember"))
        #expect(properties.count > 5 && properties.count <= 15, "\(properties)")
        // Each of them is the configuration, what is to be done, or one of the values.
        let plain = ["configuration", "incarnation", "actions"]
        for property in properties {
            let isPlain = plain.contains { property.contains(" \($0):") }
            let isValue = Self.values.keys.contains {
                property.contains(": \($0)") || property.contains("= \($0)(")
            }
            #expect(isPlain || isValue, "\(property)")
        }
    }

    @Test(arguments: values.keys.sorted()) func theStateOfAValueIsPrivate(name: String) throws {
        let file = try #require(Self.values[name])
        let properties = try Self.stored(in: name, of: Self.text(of: file))
        #expect(!properties.isEmpty)
        for property in properties {
            #expect(property.hasPrefix("let ") || property.hasPrefix("private"), "\(property)")
        }
    }

    /// The two schedulers decide by the same rules: neither reads what the rules are about.
    @Test func theRulesAreInOnePlace() throws {
        let fleet = try Project.sources(in: Project.folder(of: "TimerFleet"))
        let agenda = try Project.sources(in: "\(Project.folder(of: "TimerCore"))/Agenda")
        #expect(fleet.count > 20 && agenda.count > 20)
        let words = [
            "startingDeadline", "onMissed", "policy.concurrency", ".isRetried(", "backoff",
            "lateMax", "enum SkipReason",
        ]
        for (file, text) in fleet + agenda {
            for line in text.split(separator: "\n") where !line.contains("///") {
                for word in words {
                    #expect(!line.contains(word), "\(file.lastPathComponent): \(line)")
                }
            }
        }
        let rules = try Project.sources(in: "\(Project.folder(of: "TimerCore"))/Rules")
        for word in words where word != "policy.concurrency" && word != "enum SkipReason" {
            #expect(rules.contains { $0.text.contains(word) }, "\(word)")
        }
    }
}
