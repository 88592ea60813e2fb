// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles

/// Reads files of /proc, whose size is not known before.
enum ProcFile {
    /// The most bytes of such a file: a list of mounts can be long.
    private static let bytesMax = 64 << 20

    /// The contents of the file; nil if it cannot be read.
    static func text(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return text(file)
    }

    /// The rest of the file behind a descriptor.
    static func text(_ file: Int32) -> String {
        String(decoding: Descriptor.read(file, upTo: bytesMax) ?? [], as: UTF8.self)
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
