// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// After the fork, the code in `Sources/Runner/CSpawn/child.c` has nothing of its parent's memory but its
/// own section and what was prepared for it. If the compiler places anything elsewhere, the process
/// is killed when it uses it.
@Suite struct ChildCodeTests {
    /// The object files that were compiled with this test, and the release build if it is newer
    /// than the code.
    private static var objects: [URL] {
        let debug = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let release = debug.deletingLastPathComponent().appendingPathComponent("release")
        let source = Project.url(of: "Sources/Runner/CSpawn/child.c")
        return [debug, release].map { $0.appendingPathComponent("CSpawn.build/child.c.o") }
            .filter { object in
                guard let compiled = changed(object), let written = changed(source) else {
                    return false
                }
                return compiled > written
            }
    }

    private static func changed(_ file: URL) -> Date? {
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: file.path)
        return attributes?[.modificationDate] as? Date
    }

    private static let readelf = ["/usr/bin/readelf", "/opt/swift/usr/bin/llvm-readelf"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: readelf != nil && !objects.isEmpty))
    func allReferencesAreInside() throws {
        for object in Self.objects {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: try #require(Self.readelf))
            process.arguments = ["-rW", object.path]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            let sections = String(decoding: bytes, as: UTF8.self).split(
                separator: "Relocation section ")
            #expect(sections.count > 1, "\(object.path)")
            let ofCode = sections.filter {
                $0.hasPrefix("'.rela.text") || $0.hasPrefix("'.rel.text")
            }
            #expect(ofCode.isEmpty, "\(object.path): \(ofCode)")
        }
    }
}
