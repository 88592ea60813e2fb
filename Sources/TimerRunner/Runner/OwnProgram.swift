// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The program that this process executes, and whether an upgrade has replaced it since.
public struct OwnProgram: Sendable {
    /// Where it was at the start; nil if that cannot be known.
    private let path: String?

    /// To be made when the process begins.
    public init() {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        path = count > 0 ? String(validating: buffer[..<count], as: UTF8.self) : nil
    }

    /// Whether the program, or a library of it, is executed from a file that was replaced, and there is a program to
    /// start instead.
    /// - Complexity: O(*n*) in the mappings of this process.
    public func isReplaced() -> Bool {
        guard let path, access(path, X_OK) == 0, let maps = ProcFile.text("/proc/self/maps") else {
            return false
        }
        return Self.hasReplaced(in: maps)
    }

    /// Whether there is code in /proc/PID/maps (proc(5)) from a file that is deleted. Memory that processes share is
    /// shown like that too, but holds no code.
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
