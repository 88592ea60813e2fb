// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// The directory of marks: a file for each run that was begun and is not forgotten. A run without one
/// never began. The first line, which the process itself writes before it runs its program, says which it is;
/// the second how it ended.
/// They are what a runner that was killed leaves to the next one.
final class Marks: Sendable {
    private let directory: Int32
    private let bootID: String

    /// Marks in the directory behind `descriptor`, through a descriptor of its own.
    init(in descriptor: Int32) throws(Runner.Failure) {
        directory = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard directory >= 0 else {
            throw Runner.Failure("cannot keep the directory of marks open", errno)
        }
        bootID = Self.read("/proc/sys/kernel/random/boot_id", at: AT_FDCWD)?.first ?? "?"
    }

    deinit { close(directory) }

    /// A process as its mark names it.
    struct Process: Hashable {
        var pid: Int32
        /// When it started, in ticks since the boot: no two processes of one number have the same.
        var start: String
        /// CLOCK_MONOTONIC in nanoseconds and the calendar clock at its start.
        var began: Int64
        var beganAt: WallInstant
        /// When its time is up, by CLOCK_MONOTONIC in nanoseconds, and how long it then has.
        var deadline: Int64?
        var killTimeout: Duration
    }

    /// What a mark says of its run.
    enum Finding: Hashable {
        /// It may live yet.
        case begun(Process)
        case ended(RunEnd)
        case lost(RunOutcome.Loss)
    }

    /// Says that the run is begun, before it is. A run whose mark is there was begun before.
    /// - Returns: the mark's descriptor, for the process; the caller closes it.
    func make(for run: Run.ID) throws(Spawner.Failure) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND
        let file = openat(directory, run.description, flags, 0o600)
        guard file >= 0 else {
            guard errno != EEXIST else { throw Spawner.Failure(outcome: .lost(.runner)) }
            throw Spawner.failure(errno, "mark the run")
        }
        return file
    }

    /// What the process of a run writes into its mark about itself, around its number and its start.
    func line(
        began: Int64, beganAt: WallInstant, deadline: Int64?, killTimeout: Duration
    ) -> (head: String, tail: String) {
        let deadline = deadline.map { "\($0)" } ?? "-"
        return (
            "timerd-run 1 \(bootID) ",
            " \(began) \(beganAt.microsecondsSinceEpoch) \(deadline) "
                + "\(killTimeout.wholeNanoseconds)\n"
        )
    }

    /// Adds how the run ended, for a runner that comes before it is forgotten.
    func note(_ end: RunEnd, of run: Run.ID) {
        let file = openat(
            directory, run.description, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_APPEND)
        guard file >= 0 else { return }
        defer { close(file) }
        let usage = end.usage
        write(
            "ended \(end.at.microsecondsSinceEpoch) \(usage.elapsed.wholeMicroseconds) "
                + "\(usage.user.wholeMicroseconds) \(usage.system.wholeMicroseconds) "
                + "\(usage.peakResidentBytes) \(end.outcome)\n", to: file)
    }

    /// Takes the mark away; it may be gone already.
    func remove(_ run: Run.ID) { unlinkat(directory, run.description, 0) }

    /// Everything the marks say. A file that is no run's is passed over.
    /// - Complexity: O(n) in the entries of the directory.
    func found() -> [(run: Run.ID, finding: Finding)] {
        names().sorted().compactMap { name in
            guard let run = Run.ID(name), let lines = Self.read(name, at: directory) else {
                return nil
            }
            return (run, finding(in: lines))
        }
    }

    /// When the process started, as /proc says (proc(5), stat, field 22); nil if it is gone.
    static func start(of pid: Int32) -> String? {
        guard let bytes = contents("/proc/\(pid)/stat", at: AT_FDCWD),
            // The second field, the program's name, may hold blanks and parentheses.
            let name = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = bytes[name...].split(separator: UInt8(ascii: " "), maxSplits: 21)
        guard fields.count > 20 else { return nil }
        return String(decoding: fields[20], as: UTF8.self)
    }

    private func finding(in lines: [String]) -> Finding {
        if let end = lines.last.flatMap({ Self.end(in: $0) }) { return .ended(end) }
        let words = lines.first?.split(separator: " ").map(String.init) ?? []
        guard words.count == 9, words[0] == "timerd-run", words[1] == "1",
            let pid = Int32(words[3]),
            let began = Int64(words[5]), let beganAt = Int64(words[6]),
            let killTimeout = Int64(words[8])
        else { return .lost(.runner) }
        guard words[2] == bootID else { return .lost(.reboot) }
        return .begun(
            Process(
                pid: pid, start: words[4], began: began,
                beganAt: WallInstant(microsecondsSinceEpoch: beganAt), deadline: Int64(words[7]),
                killTimeout: .nanoseconds(killTimeout)))
    }

    private static func end(in line: String) -> RunEnd? {
        let words = line.split(separator: " ", maxSplits: 6).map(String.init)
        guard words.count == 7, words[0] == "ended", let at = Int64(words[1]),
            let elapsed = Int64(words[2]), let user = Int64(words[3]), let system = Int64(words[4]),
            let peak = Int64(words[5]), let outcome = RunOutcome(words[6])
        else { return nil }
        return RunEnd(
            outcome,
            RunUsage(
                elapsed: .microseconds(elapsed), user: .microseconds(user),
                system: .microseconds(system), peakResidentBytes: peak),
            at: WallInstant(microsecondsSinceEpoch: at))
    }

    /// In one write, so that a line is there whole or not at all.
    private func write(_ line: String, to file: Int32) {
        let bytes = Array(line.utf8)
        _ = Glibc.write(file, bytes, bytes.count)
    }

    /// The whole lines of a small file; nil if it cannot be read.
    private static func read(_ name: String, at directory: Int32) -> [String]? {
        contents(name, at: directory)?.split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private static func contents(_ name: String, at directory: Int32) -> ArraySlice<UInt8>? {
        let file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(file, &bytes, bytes.count)
        return count >= 0 ? bytes[..<count] : nil
    }

    private func names() -> [String] {
        // Through an open file of its own: closedir(3) closes it, and it has its own position.
        let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let listing = fdopendir(copy) else {
            close(copy)
            return []
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names
    }
}
