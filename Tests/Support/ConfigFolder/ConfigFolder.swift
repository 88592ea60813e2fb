// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A configuration in a folder of its own, which is removed together with this object.
public final class ConfigFolder: Sendable {
    public let path = "/tmp/timerd-config-\(UUID().uuidString)"
    public var main: String { path(of: "main") }

    public init() {
        mkdir(path, 0o755)
        mkdir("\(path)/jobs.d", 0o755)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Makes the folder for one-off jobs, which a new configuration does not have.
    public func makeOneOffs() { mkdir("\(path)/one-off.d", 0o755) }

    /// - Parameter name: "main", the name of a file of `jobs.d`, or "one-off.d/" and a name; each
    ///   without ".toml".
    public func path(of name: String) -> String {
        let file =
            name == "main" ? "timerd" : name.contains("/") ? name : "jobs.d/\(name)"
        return "\(path)/\(file).toml"
    }

    /// Writes a file; nil removes it.
    ///
    /// - Parameter atomically: whether it is replaced by another file, as by most editors, or
    ///   written in place.
    public func write(_ text: String?, to name: String, atomically: Bool = true) throws {
        let path = path(of: name)
        guard let text else {
            unlink(path)
            return
        }
        try text.write(toFile: path, atomically: atomically, encoding: .utf8)
        chmod(path, 0o644)
    }

    /// Writes these files, and removes all others except the main one.
    public func replace(with files: [String: String]) throws {
        for part in ["jobs.d", "one-off.d"] {
            let names = try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(part)")
            for name in names ?? [] { unlink("\(path)/\(part)/\(name)") }
        }
        for (name, text) in files { try write(text, to: name, atomically: false) }
    }
}
