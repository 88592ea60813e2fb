// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// docs/ARCHITECTURE.md against the tree.
@Suite struct MapTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func names() throws -> [String] {
        let map = try String(
            contentsOf: Self.root.appendingPathComponent("docs/ARCHITECTURE.md"), encoding: .utf8)
        return map.split(separator: "`").map(String.init).filter { name in
            ["Sources/", "Tests/", "man/", "systemd/", "config/"].contains { name.hasPrefix($0) }
                && !name.contains("\n")
        }
    }

    @Test func everyFileThatTheMapNamesIsThere() throws {
        let names = try names()
        #expect(names.count > 40)
        for name in names {
            let path = Self.root.appendingPathComponent(name).path
            #expect(FileManager.default.fileExists(atPath: path), "\(name)")
        }
    }

    @Test func everyTargetIsOnTheMap() throws {
        let map = try String(
            contentsOf: Self.root.appendingPathComponent("docs/ARCHITECTURE.md"), encoding: .utf8)
        let sources = try FileManager.default.contentsOfDirectory(
            atPath: Self.root.appendingPathComponent("Sources").path)
        // The small C faces belong to the target that uses them.
        for target in sources where !target.hasPrefix("C") && target != "Examples" {
            #expect(map.contains("`\(target)`"), "\(target)")
        }
    }
}
