// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A control group (cgroups(7), version 2) for each run below the runner's own, so that SIGKILL also
/// reaches whoever left the run's process group. The runner's own must be its to divide: systemd says so
/// with `Delegate=yes`.
struct ControlGroups {
    private static let prefix = "timerd-run-"

    /// Tells the groups of this runner from those an earlier one left, where runs of it may live yet.
    private let tag = String(RunnerThread.awake(), radix: 36)
    private let directory: Int32
    /// Those of runs that are over and whose processes are not.
    private var lingering: [String] = []

    /// - Throws: `Runner.Failure` if no group can be made below the runner's own.
    init() throws(Runner.Failure) {
        guard let path = Self.own() else {
            throw Runner.Failure("cannot find a control group of version 2 to divide", ENOENT)
        }
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else {
            throw Runner.Failure("cannot open the control group \(path)", errno)
        }
        removeStale()
        let probe = name(0)
        guard mkdirat(directory, probe, 0o755) == 0 else {
            let code = errno
            close(directory)
            throw Runner.Failure("cannot make a control group in \(path)", code)
        }
        unlinkat(directory, probe, AT_REMOVEDIR)
    }

    /// The name of the group of a child.
    func name(_ serial: UInt64) -> String { "\(Self.prefix)\(tag)-\(serial)" }

    /// Whether there is a group of this name, as an earlier runner made it.
    func has(_ name: String) -> Bool {
        let isName = name.utf8.dropFirst(Self.prefix.utf8.count).allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
        }
        guard isName, name.hasPrefix(Self.prefix) else { return false }
        let group = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard group >= 0 else { return false }
        close(group)
        return true
    }

    /// Makes the group of this name.
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

    /// Sends SIGKILL to everybody in the group (cgroup.kill, since Linux 5.14).
    func kill(_ name: String) {
        let file = openat(directory, "\(name)/cgroup.kill", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, "1", 1)
        close(file)
    }

    /// The run is over. Its group goes as soon as nobody is in it any more.
    mutating func remove(_ name: String) {
        lingering.append(name)
        sweep()
    }

    /// Whether no group of a run that is over is left.
    var isSwept: Bool { lingering.isEmpty }

    /// Removes some of the groups of runs that are over, as far as they are empty.
    mutating func sweep() {
        // Of many that are held, a few are tried at each end.
        for _ in 0..<min(4, lingering.count) {
            let name = lingering.removeLast()
            let isGone = unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT
            if !isGone { lingering.insert(name, at: 0) }
        }
    }

    func closeAll() { close(directory) }

    /// What a runner before this one left, as far as it is empty.
    private func removeStale() {
        let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return }
        guard let listing = fdopendir(copy) else {
            close(copy)
            return
        }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(Self.prefix) { unlinkat(directory, name, AT_REMOVEDIR) }
        }
    }

    /// The path of this process's own group: where version 2 is mounted (proc(5), mountinfo), and below it
    /// what /proc/self/cgroup says on the line that begins with `0::`.
    private static func own() -> String? {
        guard let mounts = ProcFile.text("/proc/self/mountinfo"),
            let groups = ProcFile.text("/proc/self/cgroup")
        else { return nil }
        let mount = ProcFile.lines(of: mounts).lazy.map(ProcFile.words).first { words in
            guard let dash = words.firstIndex(of: "-"), dash + 1 < words.count else { return false }
            return words[dash + 1] == "cgroup2"
        }
        let group = ProcFile.lines(of: groups).first { $0.utf8.starts(with: "0::/".utf8) }
        guard let mount, mount.count > 4, let group else { return nil }
        return "\(mount[4])\(group.dropFirst(3))"
    }
}
