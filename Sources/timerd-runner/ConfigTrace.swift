// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TimerConfig
import TimerCore

/// Tells whether the files of a configuration are others than when they were read last, and which jobs are concerned,
/// by looking at them and not into them.
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

    /// The files at one reading.
    private struct Reading {
        var prints: Set<Print> = []
        /// Which of `names` each job is from.
        var files: [Job.Name: UInt16] = [:]
        var names: [String] = []
        /// How many runs may live at once.
        var livesMax = Int.max
    }

    private struct State {
        /// The reading that counts.
        var taken = Reading()
        /// The one that counted before, of which others are to let go.
        var former = Reading()
        /// The one that was begun last; nil before the first.
        var last: Reading?
        /// The names of the files that are others than at `taken`, by the last look.
        var affected: Set<String> = []
        /// Until when what was seen counts, by CLOCK_MONOTONIC in nanoseconds.
        var freshUntil: Int64 = 0
    }

    private let main: String
    private let state = Mutex(State())

    init(_ main: String) { self.main = main }

    /// They are about to be read.
    func note() {
        let found = look()
        state.withLock { state in
            state.last = Reading(prints: found)
            state.freshUntil = 0
            Self.compare(found, &state)
        }
    }

    /// This is what was read.
    func note(_ reading: ConfigReading) {
        let (shares, jobs) = (reading.shares, reading.roster.jobs)
        var files: [Job.Name: UInt16] = [:]
        files.reserveCapacity(jobs.count)
        var rest = jobs[...]
        for (index, share) in shares.enumerated() {
            for job in rest.prefix(share.jobs) { files[job.name] = UInt16(index) }
            rest = rest.dropFirst(share.jobs)
        }
        // As `look` names them.
        let names = shares.map { share in
            guard share.file != main, let slash = share.file.utf8.lastIndex(of: UInt8(ascii: "/"))
            else { return share.file }
            return String(share.file[share.file.utf8.index(after: slash)...])
        }
        state.withLock { [files] state in
            state.last?.livesMax = reading.settings.maxConcurrent
            state.last?.files = files
            state.last?.names = names
        }
    }

    /// What was read last counts from here on.
    ///
    /// - Returns: how many runs may live at once by it.
    func take() -> Int {
        state.withLock { state in
            guard let last = state.last else { return .max }
            swap(&state.former, &state.taken)
            state.taken = last
            // Where they have changed since, the next look will tell.
            state.affected = []
            state.freshUntil = 0
            return last.livesMax
        }
    }

    /// Lets go of what counts no more, which for very many jobs takes a while.
    func letGo() { state.withLock { $0.former = Reading() } }

    /// Whether they changed since they were read last.
    func hasChanged() -> Bool {
        let now = Self.awake()
        guard state.withLock({ now >= $0.freshUntil }) else { return false }
        let found = look()
        let seen = Self.awake()
        return state.withLock { state in
            state.freshUntil = seen + (seen - now) * Self.freshness
            Self.compare(found, &state)
            return state.last?.prints != found
        }
    }

    /// Whether the file of a job is another than at the reading that counts, by the last look. A job that is in none of
    /// them is one of those.
    func isAffected(_ job: Job.Name) -> Bool {
        state.withLock { state in
            guard let file = state.taken.files[job] else { return true }
            return state.affected.contains(state.taken.names[Int(file)])
        }
    }

    private static func compare(_ found: Set<Print>, _ state: inout State) {
        state.affected = Set(state.taken.prints.symmetricDifference(found).map(\.name))
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
