// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// The loop stays small: what it remembers is in values with private state, and all work that waits
/// is in its gate. Otherwise each line of it could change everything.
@Suite struct LoopFormTests {
    private static let folder = "Sources/Scheduler/TimerDaemon/Loop"

    /// The lines of a type at this indentation that declare stored properties.
    private static func stored(_ text: some StringProtocol, indentation: Int = 4) -> [String] {
        let space = String(repeating: " ", count: indentation)
        let declared =
            #/(?:nonisolated(?:\(unsafe\))? |lazy |weak |private(?:\(set\))? |fileprivate )*(?:let|var) \w+.*/#
        let computed = #/var \w+: [^=]*\{.*/#
        return text.split(separator: "\n").filter { $0.hasPrefix(space) }.map {
            String($0.dropFirst(indentation))
        }.filter { line in
            line.first != " " && line.wholeMatch(of: declared) != nil
                && !line.contains(computed)
        }
    }

    @Test func itHasFewProperties() throws {
        let text = try Project.text(of: "\(Self.folder)/Loop.swift")
        let body = try #require(text.range(of: "\nactor Loop"))
        let end = try #require(text.range(of: "private init("))
        let properties = Self.stored(text[body.upperBound..<end.lowerBound])
        #expect(properties.count > 5 && properties.count <= 15, "\(properties)")
    }

    @Test func itsFilesAreFewAndShort() throws {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: Project.url(of: Self.folder).path)
        #expect(names.count { $0.hasPrefix("Loop+") } <= 7)
        for name in names {
            let text = try Project.text(of: "\(Self.folder)/\(name)")
            #expect(text.split(separator: "\n").count <= 300, "\(name)")
        }
    }

    @Test(arguments: [
        "ConfigState", "EarlyFiring", "Gate", "Heartbeats", "JobTimers", "OrderTransaction",
        "Portions", "ServiceTimers", "SharedJobs", "StoreProgress", "WakeUp", "WriteRouter",
    ])
    func theStateOfAValueIsPrivate(name: String) throws {
        let text = try Project.text(of: "\(Self.folder)/\(name).swift")
        let start = try #require(
            text.firstMatch(of: try Regex("\\n(?:final )?(?:struct|class) \(name)\\b"))?.range)
        let end = try #require(text[start.upperBound...].range(of: "\n}\n"))
        let properties = Self.stored(text[start.upperBound..<end.lowerBound])
        #expect(!properties.isEmpty)
        for property in properties where !property.hasPrefix("private") {
            #expect(property.hasPrefix("let "), "\(property)")
        }
    }

    /// Deferred work is in the gate, with what it waits for.
    @Test func noOtherWorkWaitsInAnArray() throws {
        var files = 0
        for (file, text) in try Project.sources(in: Self.folder) {
            files += 1
            let found = text.matches(of: #/(?:let|var) \w+: \[[^\]\n]*->/#)
            #expect(found.map { String(text[$0.range]) } == [], "\(file.lastPathComponent)")
        }
        #expect(files > 20)
    }
}
