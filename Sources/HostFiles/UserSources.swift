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
    /// The most bytes of the file.
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

    private func readFile() -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return Descriptor.read(file, upTo: Self.bytesMax).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Whether these lines name only local sources for users and groups.
    static func areLocal(in text: String) -> Bool {
        for line in text.split(separator: "\n") {
            let content = line.prefix { $0 != "#" }
            let parts = content.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = parts[0].split(whereSeparator: \.isWhitespace)
            guard name.count == 1, databases.contains(String(name[0])) else { continue }
            guard sources(parts[1]).allSatisfy({ local.contains($0) }) else { return false }
        }
        return true
    }

    /// The words outside of the actions in brackets.
    private static func sources(_ text: Substring) -> [String] {
        var words = ""
        var depth = 0
        for character in text {
            if character == "[" { depth += 1 }
            words.append(depth == 0 ? character : " ")
            if character == "]" { depth -= 1 }
        }
        return words.split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
