// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerCore
import TimerRecording
import TimerStore

/// `timerd restore`: replaces the database with a copy.
package struct RestoreCommand: ParsableCommand {
    package init() {}

    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore the last good copy of the saved state.",
        discussion: """
            The daemon must be stopped. The copy is checked first, and the files it replaces are kept under other \
            names. As root it does this as the user the state directory belongs to.
            """)

    @OptionGroup var directories: DirectoryOptions

    @Option(
        help: ArgumentHelp(
            "The copy (default: \(StoreCopy.fileName) in the state directory).", valueName: "file"),
        completion: .file())
    var from: String?

    private var state: String { directories.statePath }
    private var runtime: String { directories.runtimePath }
    private var copy: String { from ?? "\(state)/\(StoreCopy.fileName)" }

    func run() throws {
        umask(0o077)
        do {
            try becomeOwner()
            let directory = try Directory.open(
                state, followLink: getenv("STATE_DIRECTORY") != nil)
            try directory.lock()
            print(try restore(in: directory))
        } catch {
            let bytes = Array("timerd: cannot restore: \(error)\n".utf8)
            _ = write(STDERR_FILENO, bytes, bytes.count)
            throw ExitCode(1)
        }
    }

    /// The daemon could not use root's files in the directory of another user.
    private func becomeOwner() throws(Directory.Failure) {
        var status = stat()
        guard geteuid() == 0, stat(state, &status) == 0, status.st_uid != 0 else { return }
        guard setgroups(0, nil) == 0, setgid(status.st_gid) == 0, setuid(status.st_uid) == 0 else {
            throw Directory.Failure(
                description:
                    "\(state): cannot become its owner, uid \(status.st_uid): \(systemError())")
        }
    }

    /// If it is killed at any moment, there is the old database, the new one, or none and a marker
    /// that makes the next start report it. The command can then be run again.
    private func restore(in directory: Directory) throws -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let instant = WallInstant(
            clockSeconds: Int64(now.tv_sec), nanoseconds: Int64(now.tv_nsec))
        let path = try directory.resolvedPath()
        let new = "\(Store.fileName).new"
        try directory.remove(new)
        guard access(copy, R_OK) == 0 else {
            throw Directory.Failure(description: "\(copy): cannot be read: \(systemError())")
        }
        let (content, made) = try build("\(path)/\(new)", directory)
        try directory.sync(new)
        if try StateMarker.find(in: directory) == .none {
            // It has an older generation than the new database, so that the marker is valid at
            // every moment.
            let before = Store.Identity(id: content.identity.id, generation: 0)
            try StateMarker(identity: before, jobs: content.jobs, at: instant)
                .write(in: directory)
        }
        let kept = try SavedState.moveAside(in: directory, at: instant)
        try directory.rename(new, to: Store.fileName)
        try directory.sync()
        forgetHeartbeat()
        let jobs = content.jobs == 1 ? "1 job" : "\(content.jobs) jobs"
        return "Restored the state of \(jobs) as of \(made.rfc3339), from \(copy)."
            + (kept.map { " What was there is kept as \($0)." } ?? "")
            + " Start timerd again. Runs that become due before that are not caught up, because it is not "
            + "known which of them started since \(made.rfc3339)."
    }

    /// Builds the final database: newer than any that was here, and with the identity in the
    /// marker.
    private func build(
        _ target: String, _ directory: Directory
    ) throws -> (StoreCopy.Content, WallInstant) {
        var status = stat()
        guard stat(copy, &status) == 0 else {
            throw Directory.Failure(description: "\(copy): cannot be examined: \(systemError())")
        }
        var known: Store.Identity?
        if case .marker(let marker) = try StateMarker.find(in: directory) {
            known = marker.identity
        }
        let runtime = access(runtime, F_OK) == 0 ? try Directory.open(runtime) : nil
        let heartbeat = try runtime.flatMap { try HeartbeatFile(in: $0).read() }
        let content = try StoreCopy.restore(
            copy, to: target, as: known?.id,
            newerThan: max(known?.generation ?? 0, heartbeat?.generation ?? 0))
        return (content, WallInstant(secondsSinceEpoch: Int64(status.st_mtim.tv_sec)))
    }

    /// Clears the heartbeat, which belongs to the replaced state.
    private func forgetHeartbeat() {
        guard access(runtime, F_OK) == 0, let directory = try? Directory.open(runtime),
            let file = try? HeartbeatFile(in: directory)
        else { return }
        file.clear()
    }
}
