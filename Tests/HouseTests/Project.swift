// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The files of this project.
enum Project {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func url(of path: String) -> URL { root.appendingPathComponent(path) }

    static func text(of path: String) throws -> String {
        try String(contentsOf: url(of: path), encoding: .utf8)
    }

    /// The files in a folder and its sub-folders, with their texts.
    static func sources(
        in folder: String, ending extensions: Set<String> = ["swift"]
    ) throws -> [(file: URL, text: String)] {
        let files = try #require(
            FileManager.default.enumerator(at: url(of: folder), includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { extensions.contains($0.pathExtension) }
            .map { ($0, try String(contentsOf: $0, encoding: .utf8)) }
    }
}
