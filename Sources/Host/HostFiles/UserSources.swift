// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Where the users and groups of the machine come from (nsswitch.conf(5)).
public final class UserSources: Sendable {
    /// The sources that read files of this machine, or ask systemd. Any other one may ask a server.
    private static let local: Set<String> = ["files", "systemd", "db"]
    /// The databases that a look-up of a user with its groups reads.
    private static let databases: Set<String> = ["passwd", "group", "initgroups"]
    /// The most bytes of `nsswitch.conf`.
    private static let bytesMax = 64 << 10

    private struct Stamp: Hashable {
        var number: UInt
        var bytes: Int
        var changed: Int
        var changedNanoseconds: Int
    }

    private let path: String
    private let last = Mutex<(stamp: Stamp, areLocal: Bool)?>(nil)

    /// - Parameter path: of the file; tests have their own.
    public init(path: String = "/etc/nsswitch.conf") { self.path = path }

    /// Whether a look-up asks no server, which could let it wait for any time. The file is read
    /// again when it has changed, as the C library does.
    public var areLocal: Bool {
        var status = stat()
        // Without the file, the C library uses the source `files`.
        guard stat(path, &status) == 0 else { return errno == ENOENT }
        let stamp = Stamp(
            number: UInt(status.st_ino), bytes: status.st_size, changed: status.st_ctim.tv_sec,
            changedNanoseconds: status.st_ctim.tv_nsec)
        return last.withLock { last in
            if let last, last.stamp == stamp { return last.areLocal }
            let areLocal = readFile().map { Self.areLocal(in: $0) } ?? false
            last = (stamp, areLocal)
            return areLocal
        }
    }

    /// Nil if it cannot be read, or is too large.
    private func readFile() -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return Descriptor.read(file, upTo: Self.bytesMax).flatMap {
            $0.count <= Self.bytesMax ? $0 : nil
        }
    }

    /// Whether these lines name only local sources for users and groups. They are taken as the C
    /// library takes them (nss/nss_database.c): a colon is not needed, and only a whole line can be
    /// a comment.
    static func areLocal(in text: [UInt8]) -> Bool {
        text.split(separator: UInt8(ascii: "\n")).allSatisfy { line in
            let words = words(line)
            guard let database = words.first, databases.contains(database) else { return true }
            return words.dropFirst().allSatisfy { local.contains($0) }
        }
    }

    /// The name of the database, and its sources without the actions in brackets.
    private static func words(_ line: ArraySlice<UInt8>) -> [String] {
        var rest = line
        var isInAction = false
        for index in line.indices {
            let byte = line[index]
            if byte == UInt8(ascii: "[") { isInAction = true }
            let isColon = byte == UInt8(ascii: ":")
            if isInAction || isColon || (9...13).contains(byte) { rest[index] = 32 }
            if byte == UInt8(ascii: "]") { isInAction = false }
        }
        return rest.split(separator: 32).map { String(decoding: $0, as: UTF8.self) }
    }
}
