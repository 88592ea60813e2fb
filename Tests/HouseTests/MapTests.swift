// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Compares docs/ARCHITECTURE.md with the files.
@Suite struct MapTests {
    private func names() throws -> [String] {
        let map = try Project.text(of: "docs/ARCHITECTURE.md")
        return map.split(separator: "`").map(String.init).filter { name in
            ["Sources/", "Tests/", "man/", "systemd/", "config/"].contains { name.hasPrefix($0) }
                && !name.contains("\n")
        }
    }

    @Test func everyFileThatTheMapNamesIsThere() throws {
        let names = try names()
        #expect(names.count > 40)
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
}
