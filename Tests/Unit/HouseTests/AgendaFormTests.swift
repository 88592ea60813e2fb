// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// The agenda stays readable: what it remembers is in values with private state, so that a line says
/// what it changes by calling it. Otherwise each line of it could change everything.
@Suite struct AgendaFormTests {
    private static let folder = "Sources/Core/TimerCore/Agenda"
    private static let values = [
        "ClockHistory", "EndWait", "Fifo", "FleetSuspension", "JobAlarms", "JobArchive",
        "JobTable", "OccurrenceProgress", "Reloading", "RunTable", "SlotIndex", "StoreHold",
        "Watching",
    ]

    /// The lines of a type that declare its stored properties.
    private static func properties(of type: String) throws -> [String] {
        let text = try Project.text(of: "\(folder)/\(type).swift")
        let start = try #require(text.range(of: "struct \(type)"), "\(type)")
        let end = try #require(text[start.upperBound...].range(of: "\n}\n"), "\(type)")
        let declared =
            #/ {4}(?:@\w+ )?(?:(?:public|private|internal)(?:\(set\))? )*(?:let|var) \w+.*/#
        let computed = #/var \w+: [^=]*\{.*/#
        return text[start.upperBound..<end.lowerBound].split(separator: "\n").filter { line in
            line.wholeMatch(of: declared) != nil && !line.contains(computed)
        }.map { String($0.dropFirst(4).trimmingPrefix(#/@\w+ /#)) }
    }

    @Test(arguments: ["Agenda", "JobEntry"]) func aTypeHasFewProperties(type: String) throws {
        let properties = try Self.properties(of: type)
        #expect(properties.count > 8 && properties.count <= 15, "\(properties)")
    }

    @Test(arguments: values) func theStateOfAValueIsPrivate(type: String) throws {
        let properties = try Self.properties(of: type)
        #expect(!properties.isEmpty)
        for property in properties where !property.hasPrefix("private") {
            #expect(property.hasPrefix("let "), "\(type): \(property)")
        }
    }

    /// Each value has a test of its own.
    @Test(arguments: values.filter { !["Fifo", "RunTable"].contains($0) })
    func aValueIsTested(type: String) throws {
        let text = try Project.text(of: "Tests/Unit/TimerCoreTests/\(type)Tests.swift")
        #expect(text.contains("\(type)("))
    }

    @Test func itsFilesAreFewAndShort_andNoWorkWaitsInAnArray() throws {
        var extensions = 0
        for (file, text) in try Project.sources(in: Self.folder) {
            let name = file.lastPathComponent
            if name.hasPrefix("Agenda+") { extensions += 1 }
            #expect(text.split(separator: "\n").count <= 300, "\(name)")
            let found = text.matches(of: #/(?:let|var) \w+: \[[^\]\n]*->/#)
            #expect(found.isEmpty, "\(name)")
        }
        #expect(extensions > 5 && extensions <= 14)
    }
}
