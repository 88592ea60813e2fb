// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Compares docs/ARCHITECTURE.md and docs/GLOSSARY.md with the files.
@Suite struct MapTests {
    private func names(in page: String) throws -> [String] {
        let map = try Project.text(of: page)
        return map.split(separator: "`").map(String.init).filter { name in
            ["Sources/", "Tests/", "man/", "systemd/", "config/"].contains { name.hasPrefix($0) }
                && !name.contains("\n")
        }
    }

    @Test(arguments: ["docs/ARCHITECTURE.md", "docs/GLOSSARY.md"])
    func everyFileThatThePageNamesIsThere(page: String) throws {
        let names = try names(in: page)
        #expect(names.count > 30)
        for name in names {
            let path = Project.url(of: name).path
            #expect(FileManager.default.fileExists(atPath: path), "\(name)")
        }
    }

    @Test func everyTargetIsOnTheMap() throws {
        let map = try Project.text(of: "docs/ARCHITECTURE.md")
        let sources = try FileManager.default.contentsOfDirectory(
            atPath: Project.url(of: "Sources").path)
        // The small C targets belong to the target that uses them.
        for target in sources where !target.hasPrefix("C") && target != "Examples" {
            #expect(map.contains("`\(target)`"), "\(target)")
        }
    }

    @Test func everyQueueAndThreadOfTheDaemonIsOnTheMap() throws {
        let map = try Project.text(of: "docs/ARCHITECTURE.md")
        var count = 0
        for target in ["timerd", "timerd-runner", "TimerRunner", "TimerRunnerClient"] {
            for (file, text) in try Project.sources(in: "Sources/\(target)") {
                let made = #/(?:Queue|Executor)\(label: "([^"]+)"|WorkerThread\.start\("([^"]+)"/#
                for match in text.matches(of: made) {
                    let name = match.output.1 ?? match.output.2 ?? ""
                    #expect(map.contains("`\(name)`"), "\(name) in \(file.lastPathComponent)")
                    count += 1
                }
            }
        }
        #expect(count > 20)
    }
}
