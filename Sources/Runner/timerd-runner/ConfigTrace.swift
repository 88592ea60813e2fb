// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TimerConfig
import TimerCore
import TimerRunner

/// Checks whether the files of a configuration have changed since they were last read, and which jobs that affects. It
/// looks at the attributes of the files, not at their contents.
final class ConfigTrace: Sendable {
    /// One burst of runs arrives in many requests. The result of a check is used for this many
    /// times the duration of the check: with few files that is a millisecond, and with very many a
    /// hundredth of the time is spent on checking.
    private static let freshness: Int64 = 100
    /// A check that had to wait for the disk says nothing about the next one, so no result is used
    /// for longer than this.
    private static let freshnessMax = Duration.seconds(5)

    /// For how long the result of a check is used.
    ///
    /// - Parameter duration: how long the check took.
    static func freshness(afterCheckOf duration: Duration) -> Duration {
        // The operators of `Duration` are for any integer, and are not specialised.
        let nanoseconds = min(duration, freshnessMax).wholeNanoseconds
        return min(.nanoseconds(nanoseconds * freshness), freshnessMax)
    }

    /// The attributes of a file that change when it is written or replaced.
    private struct Print: Hashable {
        var name: String
        var device: UInt
        var number: UInt
        var bytes: Int
        var changed: Int
        var changedNanoseconds: Int
    }

    /// The state of the files at one reading.
    private struct Reading {
        var prints: Set<Print> = []
        /// The index in `names` of the file that defines each job.
        var files: [Job.Name: UInt32] = [:]
        var names: [String] = []
        /// The files with a table of settings, such as `[daemon]`.
        var settingsFiles: Set<String> = []
        var rules = RunnerServer.RunRules()
        /// What it was read from; nil if the next reading must parse everything.
        var contents: ConfigContents?

        /// Of each file, its number in another reading if it did not change since.
        func numbers(in names: [String], of unchanged: Set<String>) -> [UInt32?] {
            let numbers = Dictionary(names.enumerated().map { ($1, UInt32($0)) }) { first, _ in
                first
            }
            return self.names.map { unchanged.contains($0) ? numbers[$0] : nil }
        }
    }

    private struct State {
        /// The reading in use.
        var taken = Reading()
        /// The previous one, until `freeFormer` is called.
        var former = Reading()
        /// The one that was started last; nil before the first.
        var last: Reading?
        /// The jobs that `last` does not contain because of an error.
        var kept: Set<Job.Name> = []
        /// The names of the files that have changed since `taken`, according to the last check.
        var affected: Set<String> = []
        /// Since when the files are known to be as they were at the last reading.
        var unchangedSince = SuspendingClock.now
        /// Until when the result of the last check is used; nil: it is not used.
        var freshUntil: SuspendingClock.Instant?
    }

    private let main: String
    private let state = Mutex(State())

    init(_ main: String) { self.main = main }

    /// Whether the files were read before, with or without an error.
    var isRead: Bool { state.withLock { $0.last != nil } }

    /// Call this before the files are read.
    func note() {
        let found = look()
        state.withLock { state in
            if state.last?.prints != found { state.unchangedSince = .now }
            state.last = Reading(prints: found)
            state.freshUntil = nil
            Self.compare(found, &state)
        }
    }

    /// Call this with the result after the files were read.
    ///
    /// - Parameter eachJob: called after each job that was kept from the reading in use.
    func note(_ reading: ConfigReading, eachJob: (() -> Void)? = nil) {
        let (shares, jobs) = (reading.shares, reading.jobSet.jobs)
        var files: [Job.Name: UInt32] = [:]
        files.reserveCapacity(jobs.count)
        var rest = jobs[...]
        for (index, share) in shares.enumerated() {
            for job in rest.prefix(share.jobs) { files[job.name] = UInt32(index) }
            rest = rest.dropFirst(share.jobs)
        }
        let names = shares.map { name(of: $0.file) }
        let unchanged = Set(reading.unchanged.map { name(of: $0) })
        let notifiers = Dictionary(reading.jobSet.notifiers.map { ($0.name, $0) }) { first, _ in
            first
        }
        if !unchanged.isEmpty {
            // Not while the state is locked: with very many jobs this takes a while.
            let taken = state.withLock(\.taken)
            let numbers = taken.numbers(in: names, of: unchanged)
            files.reserveCapacity(taken.files.count + jobs.count)
            for (job, file) in taken.files {
                if let number = numbers[Int(file)] { files[job] = number }
                eachJob?()
            }
        }
        state.withLock { [files] state in
            state.last?.rules.activeMax = reading.settings.maxConcurrent
            state.last?.rules.allowedUsers = reading.settings.allowedUsers
            state.last?.rules.notifiers = notifiers
            state.last?.settingsFiles = reading.settingsFiles
            state.last?.files = files
            state.last?.names = names
            state.last?.contents = reading.contents
            state.kept = []
            if !reading.errors.isEmpty { keep(reading.faults, &state) }
        }
    }

    /// What the reading in use was read from.
    var contents: ConfigContents? { state.withLock(\.taken.contents) }

    /// The jobs of the reading in use that are in these files, and the others.
    ///
    /// - Parameter eachJob: called after each job.
    func jobs(
        of files: Set<String>, eachJob: () -> Void
    ) -> (inThem: [Job.Name], inOthers: [Job.Name]) {
        let files = Set(files.map { name(of: $0) })
        let reading = state.withLock(\.taken)
        let areChosen = reading.names.map { files.contains($0) }
        var (inThem, inOthers): ([Job.Name], [Job.Name]) = ([], [])
        for (job, file) in reading.files {
            if areChosen[Int(file)] { inThem.append(job) } else { inOthers.append(job) }
            eachJob()
        }
        return (inThem, inOthers)
    }

    /// The jobs whose definitions did not change with the last reading, because their file has an
    /// error.
    var kept: Set<Job.Name> { state.withLock(\.kept) }

    /// How long the files have been as they were at the last reading, as far as is known.
    var unchangedFor: Duration { state.withLock { .now - $0.unchangedSince } }

    /// Applies the same rules as a reload of the scheduler (`ConfigReading.part`): the jobs of a
    /// file with an error do not change, and with any other error no job changes.
    private func keep(_ faults: ConfigFaults, _ state: inout State) {
        guard var last = state.last else { return }
        let taken = state.taken
        let settingsFiles = taken.settingsFiles.union(last.settingsFiles)
        let isWhole = faults.isWhole || !faults.files.isDisjoint(with: settingsFiles)
        let refused = Set(faults.files.map { name(of: $0) })
        state.kept = Set(faults.jobs.keys)
        var places = Dictionary(last.names.enumerated().map { ($1, $0) }) { first, _ in first }
        for (job, file) in taken.files {
            let file = taken.names[Int(file)]
            guard isWhole || refused.contains(file) else { continue }
            state.kept.insert(job)
            guard last.files[job] == nil else { continue }
            let place = places[file] ?? last.names.count
            if places.updateValue(place, forKey: file) == nil { last.names.append(file) }
            last.files[job] = UInt32(place)
        }
        // An error does not change the allowed users. At the start there is no previous reading to
        // use.
        if isWhole, !taken.names.isEmpty {
            last.rules = taken.rules
            last.settingsFiles = settingsFiles
        }
        state.last = last
    }

    /// The name of a file, as in `look`.
    private func name(of file: String) -> String {
        guard file != main, let slash = file.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            return file
        }
        let name = String(file[file.utf8.index(after: slash)...])
        let directory = file[..<slash]
        let isOneOff =
            directory == ConfigReader.oneOffDirectory
            || directory.hasSuffix("/" + ConfigReader.oneOffDirectory)
        return (isOneOff ? Self.oneOff : Self.ofJobs) + name
    }

    /// Uses the last reading from now on.
    ///
    /// - Returns: its rules for all runs.
    func take() -> RunnerServer.RunRules {
        state.withLock { state in
            guard let last = state.last else { return RunnerServer.RunRules() }
            swap(&state.former, &state.taken)
            state.taken = last
            // The next check finds later changes.
            state.affected = []
            state.freshUntil = nil
            return last.rules
        }
    }

    /// Frees the previous reading. With very many jobs this takes a while.
    func freeFormer() {
        // It is freed when this returns, and not while the state is locked.
        _ = state.withLock { state in
            let former = state.former
            state.former = Reading()
            return former
        }
    }

    /// Whether the files have changed since they were last read.
    func hasChanged() -> Bool {
        let now = SuspendingClock.now
        guard state.withLock({ $0.freshUntil.map { now >= $0 } ?? true }) else { return false }
        let found = look()
        let seen = SuspendingClock.now
        return state.withLock { state in
            state.freshUntil = seen + Self.freshness(afterCheckOf: seen - now)
            Self.compare(found, &state)
            return state.last?.prints != found
        }
    }

    /// Whether the file of a job, or the main file, has changed since the reading in use, according
    /// to the last check: jobs of all files have the defaults of the main file. A job that is in no
    /// file counts as changed.
    func isAffected(_ job: Job.Name) -> Bool {
        state.withLock { state in
            guard let file = state.taken.files[job], !state.affected.contains(main) else {
                return true
            }
            return state.affected.contains(state.taken.names[Int(file)])
        }
    }

    private static func compare(_ found: Set<Print>, _ state: inout State) {
        state.affected = Set(state.taken.prints.symmetricDifference(found).map(\.name))
    }

    /// What comes before the names of the files in `jobs.d`, one of which may have the name of the main
    /// file.
    private static let ofJobs = "jobs.d/"
    /// What comes before the names of the definitions of one-off jobs.
    private static let oneOff = ConfigReader.oneOffDirectory + "/"

    /// The attributes of the main file, of the directories beside it and of the files in them.
    private func look() -> Set<Print> {
        var found: Set<Print> = []
        add(main, at: AT_FDCWD, as: main, to: &found)
        let slash = main.utf8.lastIndex(of: UInt8(ascii: "/"))
        let parent = slash.map { "\(main[..<$0])/" } ?? ""
        addFiles(of: "\(parent)jobs.d", as: Self.ofJobs, to: &found)
        addFiles(of: "\(parent)\(ConfigReader.oneOffDirectory)", as: Self.oneOff, to: &found)
        return found
    }

    private func addFiles(of path: String, as prefix: String, to found: inout Set<Print>) {
        guard let listing = opendir(path) else { return }
        defer { closedir(listing) }
        let directory = dirfd(listing)
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name.hasSuffix(".toml") {
                add(name, at: directory, as: prefix + name, to: &found)
            }
        }
    }

    private func add(
        _ name: String, at directory: Int32, as shown: String, to found: inout Set<Print>
    ) {
        var status = stat()
        // This follows links, because reading does too.
        guard fstatat(directory, name, &status, 0) == 0 else { return }
        found.insert(
            Print(
                name: shown, device: UInt(status.st_dev), number: UInt(status.st_ino),
                bytes: Int(status.st_size), changed: Int(status.st_ctim.tv_sec),
                changedNanoseconds: Int(status.st_ctim.tv_nsec)))
    }
}
