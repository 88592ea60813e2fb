// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The files of this project.
public enum Project {
    public static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of a target, such as `Sources/Core/TimerCore`.
    public static func folder(of target: String) throws -> String {
        let wings = try FileManager.default.contentsOfDirectory(atPath: url(of: "Sources").path)
        let found = wings.map { "Sources/\($0)/\(target)" }.first {
            FileManager.default.fileExists(atPath: url(of: $0).path)
        }
        guard let found else { throw CocoaError(.fileReadNoSuchFile) }
        return found
    }

    public static func url(of path: String) -> URL { root.appendingPathComponent(path) }

    public static func text(of path: String) throws -> String {
        try String(contentsOf: url(of: path), encoding: .utf8)
    }

    /// The files in a folder and its sub-folders, with their texts.
    public static func sources(
        in folder: String, ending extensions: Set<String> = ["swift"]
    ) throws -> [(file: URL, text: String)] {
        guard
            let files = FileManager.default.enumerator(
                at: url(of: folder), includingPropertiesForKeys: nil)
        else { throw CocoaError(.fileReadNoSuchFile) }
        return try files.compactMap { $0 as? URL }.filter { extensions.contains($0.pathExtension) }
            .map { ($0, try String(contentsOf: $0, encoding: .utf8)) }
    }
}
