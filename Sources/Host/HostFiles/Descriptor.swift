// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads whole files, pipes and directories.
public enum Descriptor {
    /// The bytes of a descriptor from its position to its end. If there are more than `most`, these are the first
    /// `most + 1`, so that the caller can refuse them. The size that fstat(2) reports is not used: files of /proc have
    /// none, and a file can grow.
    ///
    /// - Returns: nil with errno set if it cannot be read.
    /// - Complexity: O(*n*) in the number of bytes.
    public static func read(_ descriptor: Int32, upTo most: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= most {
            let count = Glibc.read(descriptor, &buffer, min(buffer.count, most + 1 - bytes.count))
            if count == 0 { return bytes }
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno != EINTR {
                return nil
            }
        }
        return bytes
    }

    /// The names in a directory, without `.` and `..`, in any order; none if it cannot be read.
    /// - Complexity: O(*n*) in the number of names.
    public static func names(in directory: Int32) -> [String] {
        // closedir(3) closes the descriptor, and reading moves its position.
        names(at: ".", from: directory)
    }

    /// The same for the directory at a path.
    public static func names(at path: String) -> [String] { names(at: path, from: AT_FDCWD) }

    private static func names(at path: String, from directory: Int32) -> [String] {
        let copy = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let listing = fdopendir(copy) else {
            close(copy)
            return []
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
