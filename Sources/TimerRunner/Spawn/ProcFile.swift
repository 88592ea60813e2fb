// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Files of /proc.
enum ProcFile {
    /// What is in it; nil if it cannot be read.
    static func text(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return text(file)
    }

    /// What is left to read behind a descriptor.
    static func text(_ file: Int32) -> String {
        var bytes: [UInt8] = []
        // /proc tells no size beforehand.
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(file, &buffer, buffer.count), count > 0 {
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Its lines, as bytes go: in a name that somebody chose a combining character may follow on what separates.
    static func lines(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
    }

    /// The words of a line, as bytes go.
    static func words(of line: Substring) -> [Substring] {
        line.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
    }
}
