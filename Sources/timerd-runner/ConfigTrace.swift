// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Tells whether the files of a configuration are others than when they were read last, by looking at them and not
/// into them.
final class ConfigTrace: Sendable {
    /// The requests of one burst come in many parts. What was seen counts for so many times as long as it took to
    /// look: with few files that is a millisecond, and with very many a hundredth of the time is spent on looking.
    private static let freshness: Int64 = 100

    /// What changes when a file is written or replaced.
    private struct Print: Hashable {
        var name: String
        var device: UInt
        var number: UInt
        var bytes: Int
        var changed: Int
        var changedNanoseconds: Int
    }

    private struct State {
        var known: Set<Print>?
        /// Until when what was seen counts, by CLOCK_MONOTONIC in nanoseconds.
        var freshUntil: Int64 = 0
    }

    private let main: String
    private let state = Mutex(State())

    init(_ main: String) { self.main = main }

    /// They are about to be read.
    func note() {
        let found = look()
        state.withLock { $0 = State(known: found) }
    }

    /// Whether they changed since.
    func hasChanged() -> Bool {
        let now = Self.awake()
        guard state.withLock({ now >= $0.freshUntil }) else { return false }
        let found = look()
        let seen = Self.awake()
        return state.withLock { state in
            state.freshUntil = seen + (seen - now) * Self.freshness
            return state.known != found
        }
    }

    /// The main file, the directory beside it and what is in that.
    private func look() -> Set<Print> {
        var found: Set<Print> = []
        add(main, at: AT_FDCWD, to: &found)
        let slash = main.utf8.lastIndex(of: UInt8(ascii: "/"))
        let parent = slash.map { "\(main[..<$0])/" } ?? ""
        guard let listing = opendir("\(parent)jobs.d") else { return found }
        defer { closedir(listing) }
        let directory = dirfd(listing)
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name.hasSuffix(".toml") { add(name, at: directory, to: &found) }
        }
        return found
    }

    private func add(_ name: String, at directory: Int32, to found: inout Set<Print>) {
        var status = stat()
        // Through a link: what is read is what it leads to.
        guard fstatat(directory, name, &status, 0) == 0 else { return }
        found.insert(
            Print(
                name: name, device: UInt(status.st_dev), number: UInt(status.st_ino),
                bytes: Int(status.st_size), changed: Int(status.st_ctim.tv_sec),
                changedNanoseconds: Int(status.st_ctim.tv_nsec)))
    }

    /// CLOCK_MONOTONIC, in nanoseconds.
    private static func awake() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
