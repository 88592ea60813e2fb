// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore
import TimerRunnerProtocol

/// A control group (cgroups(7), version 2) for each run, so that signals also reach processes that
/// left the process group of the run. The groups are below the group that is delegated to the
/// runner, by systemd with `Delegate=yes`.
///
/// The name of a group says what happens to the processes that remain in it when its run ends, so
/// that a later runner knows it too.
struct ControlGroups {
    /// The prefixes of the names of groups whose remaining processes are terminated with the run,
    /// and of those whose processes continue.
    private static let ended = "timerd-run-"
    private static let kept = "timerd-keep-"

    /// The group of the runner itself, beside those of the runs. A group with controllers enabled
    /// for its children cannot contain processes itself, so the runner needs its own group.
    private static let leaf = "timerd-runner"

    /// Identifies this process by its process id and an instant. The names of its groups contain
    /// both.
    private static let process = Maker(
        number: String(getpid(), radix: 36), instant: String(RunnerClock.awake(), radix: 36))

    private struct Maker: Equatable {
        var number: String
        var instant: String
    }

    /// Distinguishes the groups of this runner from those of an earlier one, whose runs may still
    /// be active, and from those of another runner in the same group.
    private let tag: String
    private let directory: Int32
    /// The groups of runs that are over while processes remain in them.
    private var notYetRemoved: [String] = []

    /// - Throws: `Runner.Failure` if no group can be created in the runner's group.
    init() throws(Runner.Failure) {
        guard let path = Self.base() else {
            throw Runner.Failure(
                "cannot find a control group of version 2 that is delegated to it", ENOENT)
        }
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else {
            throw Runner.Failure("cannot open the control group \(path)", errno)
        }
        let (maker, instant) = (Self.process, String(RunnerClock.awake(), radix: 36))
        tag = "\(maker.number)-\(maker.instant)-\(instant)"
        removeStale()
        let probe = "\(Self.ended)\(tag)-0"
        guard mkdirat(directory, probe, 0o755) == 0 else {
            let code = errno
            close(directory)
            throw Runner.Failure("cannot make a control group in \(path)", code)
        }
        unlinkat(directory, probe, AT_REMOVEDIR)
    }

    /// Moves this process, with all its threads, into its own group beside those of the runs; the
    /// group may already exist. The group remains when the process ends; systemd removes it with
    /// the group of the service.
    /// - Throws: `Runner.Failure`; the process is not moved then.
    func enterLeaf() throws(Runner.Failure) {
        guard mkdirat(directory, Self.leaf, 0o755) == 0 || errno == EEXIST else {
            throw Runner.Failure("cannot make the control group \(Self.leaf)", errno)
        }
        let file = openat(
            directory, "\(Self.leaf)/cgroup.procs", O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else {
            throw Runner.Failure("cannot open the control group \(Self.leaf)", errno)
        }
        defer { close(file) }
        // 0 stands for the process that writes.
        guard write(file, "0", 1) == 1 else {
            throw Runner.Failure("cannot enter the control group \(Self.leaf)", errno)
        }
    }

    /// The name of the group of a run.
    /// - Parameter isKept: whether the processes that remain in it continue when its run is over.
    func name(_ serial: UInt64, of run: Run.ID, isKept: Bool) -> String {
        "\(isKept ? Self.kept : Self.ended)\(tag)-\(serial)\(Self.suffix(of: run))"
    }

    /// Whether the group of this name was made for this run.
    static func isGroup(_ name: String, of run: Run.ID) -> Bool {
        name.hasSuffix(suffix(of: run))
    }

    private static func suffix(of run: Run.ID) -> String {
        "-" + String(FNV1a.hash(run.description.utf8), radix: 36)
    }

    /// Whether the processes that remain in the group of this name continue when its run is over.
    static func isKept(_ name: String) -> Bool { name.hasPrefix(kept) }

    /// Whether a group of this name exists, as created by an earlier runner.
    func has(_ name: String) -> Bool {
        guard let prefix = Self.prefix(of: name) else { return false }
        let isName = name.utf8.dropFirst(prefix.utf8.count).allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
        }
        guard isName else { return false }
        let group = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard group >= 0 else { return false }
        close(group)
        return true
    }

    private static func prefix(of name: String) -> String? {
        [ended, kept].first { name.utf8.starts(with: $0.utf8) }
    }

    /// Creates the group of this name.
    /// - Returns: its cgroup.procs, open for writing, which the caller closes.
    func make(_ name: String) throws(Spawner.Failure) -> Int32 {
        guard mkdirat(directory, name, 0o755) == 0 else {
            throw Spawner.failure(errno, "make a control group")
        }
        let file = openat(directory, "\(name)/cgroup.procs", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else {
            let code = errno
            unlinkat(directory, name, AT_REMOVEDIR)
            throw Spawner.failure(code, "open a control group")
        }
        return file
    }

    /// The process ids of the processes in the group, without those in groups below it.
    func processes(in name: String) -> [Int32] {
        let file = openat(directory, "\(name)/cgroup.procs", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        return ProcFile.lines(of: ProcFile.text(file)).compactMap { Int32($0) }
    }

    /// Sends SIGKILL to every process in the group and below it (cgroup.kill, since Linux 5.14).
    func kill(_ name: String) {
        let file = openat(directory, "\(name)/cgroup.kill", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, "1", 1)
        close(file)
    }

    /// Removes the group of a run that is over, as soon as it is empty.
    /// - Returns: whether it is already removed.
    @discardableResult
    mutating func remove(_ name: String) -> Bool {
        removeEmpty()
        let isGone = removeNow(name)
        if !isGone { notYetRemoved.append(name) }
        return isGone
    }

    private func removeNow(_ name: String) -> Bool {
        unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT
    }

    /// Whether processes remain in the group, or in a group below it.
    func isPopulated(_ name: String) -> Bool {
        let file = openat(directory, "\(name)/cgroup.events", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return ProcFile.lines(of: ProcFile.text(file)).contains("populated 1")
    }

    /// Whether the groups of all runs that are over are removed.
    var areAllRemoved: Bool { notYetRemoved.isEmpty }

    /// Removes some of the groups of runs that are over, if they are empty.
    mutating func removeEmpty() {
        // Only a few of many groups are tried at each call.
        for _ in 0..<min(4, notYetRemoved.count) {
            let name = notYetRemoved.removeLast()
            if !removeNow(name) { notYetRemoved.insert(name, at: 0) }
        }
    }

    func closeAll() { close(directory) }

    /// Removes empty groups of a runner that has ended. The groups of a runner that is running may
    /// just have been created.
    private func removeStale() {
        for name in left() { unlinkat(directory, name, AT_REMOVEDIR) }
    }

    /// The groups of the runs of runners that have ended.
    /// - Complexity: O(*n*) in the number of groups.
    func left() -> [String] { Descriptor.names(in: directory).filter(Self.isStale) }

    /// Whether it is a group of a runner process that has ended.
    private static func isStale(_ name: String) -> Bool {
        guard let prefix = prefix(of: name) else { return false }
        let words = name.utf8.dropFirst(prefix.utf8.count).split(separator: UInt8(ascii: "-"))
        guard words.count > 2, let number = Int32(Substring(words[0]), radix: 36) else {
            return true
        }
        let maker = Maker(number: String(Substring(words[0])), instant: String(Substring(words[1])))
        if maker.number == process.number { return maker != process }
        return Glibc.kill(number, 0) != 0 && errno == ESRCH
    }

    /// The path of the group for the groups of runs: this process's own, or the parent if its own
    /// is that of a runner. It consists of the mount point of version 2 (proc(5), mountinfo) and
    /// the path in /proc/self/cgroup on the line that starts with `0::`.
    private static func base() -> String? {
        guard let mounts = ProcFile.text("/proc/self/mountinfo"),
            let groups = ProcFile.text("/proc/self/cgroup")
        else { return nil }
        let mount = ProcFile.lines(of: mounts).lazy.map(ProcFile.words).first { words in
            guard let dash = words.firstIndex(of: "-"), dash + 1 < words.count else { return false }
            return words[dash + 1] == "cgroup2"
        }
        let group = ProcFile.lines(of: groups).first { $0.utf8.starts(with: "0::/".utf8) }
        guard let mount, mount.count > 4, let group else { return nil }
        let own = Substring(group.utf8.dropFirst(3))
        let suffix = "/\(leaf)".utf8
        let isLeaf = own.utf8.reversed().starts(with: suffix.reversed())
        return "\(mount[4])\(Substring(own.utf8.dropLast(isLeaf ? suffix.count : 0)))"
    }
}
