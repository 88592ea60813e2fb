// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads files of /proc.
enum ProcFile {
    /// The contents of the file; nil if it cannot be read.
    static func text(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return text(file)
    }

    /// The rest of the file behind a descriptor.
    static func text(_ file: Int32) -> String {
        var bytes: [UInt8] = []
        // Files of /proc have no size.
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(file, &buffer, buffer.count), count > 0 {
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Its lines, split as bytes: a user can choose a name with a combining character that would
    /// form one `Character` with the separator.
    static func lines(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
    }

    /// The words of a line, split as bytes.
    static func words(of line: Substring) -> [Substring] {
        line.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
    }
}
