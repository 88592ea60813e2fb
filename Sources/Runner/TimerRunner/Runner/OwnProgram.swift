// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The program that this process executes, and whether an upgrade has replaced it.
public struct OwnProgram: Sendable {
    /// Its path at the start; nil if that cannot be read.
    private let path: String?

    /// Call this at the start of the process.
    public init() {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        path = count > 0 ? String(validating: buffer[..<count], as: UTF8.self) : nil
    }

    /// Whether the file of the program, or of one of its libraries, was replaced, and a program
    /// exists at its path that can be started instead.
    /// - Complexity: O(*n*) in the number of mappings of this process.
    public func isReplaced() -> Bool {
        guard let path, access(path, X_OK) == 0, let maps = ProcFile.text("/proc/self/maps") else {
            return false
        }
        return Self.hasReplaced(in: maps)
    }

    /// Whether /proc/PID/maps (proc(5)) lists code from a deleted file. Shared memory is listed in
    /// the same way, but is not executable.
    static func hasReplaced(in maps: String) -> Bool {
        ProcFile.lines(of: maps).contains { line in
            guard line.utf8.suffix(10).elementsEqual(" (deleted)".utf8) else { return false }
            let words = ProcFile.words(of: line)
            return words.count > 5 && words[1].utf8.contains(UInt8(ascii: "x"))
                && words[5].utf8.first == UInt8(ascii: "/")
                && !words[5].utf8.starts(with: "/memfd:".utf8)
        }
    }
}
