// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import HostFiles
import TimerRunnerProtocol

/// The files of a runner in its runtime directory: made at its start, and again if someone deletes them while it runs.
public struct RunnerFiles: Sendable {
    private static let lockName = "runner.lock"
    private static let registryName = "runs"
    private static let credentialsName = "credentials"

    private let directory: String
    private let socket: String
    private let user: UInt32

    /// - Parameters:
    ///   - directory: the runtime directory, which is made if it is missing.
    ///   - socket: the path of the socket; nil: the usual one in that directory.
    ///   - user: who may connect, in addition to root.
    public init(in directory: String, socket: String?, for user: UInt32) {
        self.directory = directory
        self.socket = socket ?? "\(directory)/\(RunnerSocket.fileName)"
        self.user = user
    }

    /// Makes the directory, and locks it for this process until it ends.
    public func begin() throws(Directory.Failure) {
        _ = try Directory.open(directory)
        try lock()
    }

    private func lock() throws(Directory.Failure) {
        try Directory.remake(directory).lock(
            Self.lockName, of: "timerd-runner", option: "--runtime")
    }

    /// The directory of the run registry, which is made if it does not exist.
    public func registry() throws(Directory.Failure) -> Directory {
        try Directory.remake(directory).subdirectory(Self.registryName)
    }

    /// The directory of the credentials of runs. A run gets the path of its own directory; it must not be able to list
    /// the names of the others.
    public func credentials() throws(Directory.Failure) -> Directory {
        let credentials = try Directory.remake(directory).subdirectory(Self.credentialsName)
        fchmod(credentials.descriptor, 0o711)
        return credentials
    }

    /// Binds the socket, and returns it. The caller closes it.
    public func bind() throws(Directory.Failure) -> Int32 {
        try UnixSocket.bind(at: socket, allowing: .user(user))
    }

    /// The runtime directory with every link resolved.
    public func resolvedDirectory() throws(Directory.Failure) -> String {
        try Directory.remake(directory).resolvedPath()
    }

    /// Keeps these files for a server with this registry that listens on this socket.
    func keep(_ registry: RunRegistry, listeningOn socket: Int32) -> KeptFiles {
        KeptFiles(
            [
                KeptFiles.Part(path: "\(directory)/\(Self.lockName)", make: lock),
                KeptFiles.Part(
                    path: "\(directory)/\(Self.registryName)/\(RunRegistry.fileName)"
                ) { [self] () throws(Directory.Failure) in try remake(registry) },
                KeptFiles.Part(path: "\(directory)/\(Self.credentialsName)") {
                    [self] () throws(Directory.Failure) in _ = try credentials()
                },
                KeptFiles.Part(path: self.socket) { [self] () throws(Directory.Failure) in
                    try listenAgain(on: socket)
                },
            ], at: RunnerClock.awake())
    }

    private func remake(_ registry: RunRegistry) throws(Directory.Failure) {
        let folder = try self.registry()
        do throws(Runner.Failure) {
            try registry.remake(in: folder.descriptor)
        } catch { throw Directory.Failure(description: "\(folder.path): \(error)") }
    }

    /// Binds a new socket in place of the one behind this descriptor.
    private func listenAgain(on descriptor: Int32) throws(Directory.Failure) {
        let other = try bind()
        defer { close(other) }
        guard listen(other, RunnerServer.backlog) == 0, dup2(other, descriptor) >= 0,
            fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
        else {
            throw Directory.Failure(description: "\(socket): cannot listen: \(systemError())")
        }
    }
}

/// Makes the files in the runtime directory again if someone deletes them.
struct RuntimeFolderWatch {
    /// How often to look whether the processes that were just started have written their records.
    private static let carryPause: Int64 = 20_000_000

    private let kept: KeptFiles
    private let registry: RunRegistry
    /// When to look next whether processes write into a former registry; nil: none does.
    private var carryAt: Int64?

    init(_ kept: KeptFiles, _ registry: RunRegistry) {
        self.kept = kept
        self.registry = registry
    }

    /// Readable when something may be gone: call `noteChange` then.
    var descriptor: Int32 { kept.descriptor }

    /// When to call `look`, by CLOCK_MONOTONIC; nil: after the next change.
    var lookAt: Int64? { [kept.lookAt, carryAt].compactMap(\.self).min() }

    func noteChange() { kept.noteChange(at: RunnerClock.awake()) }

    /// Makes again what was deleted, if a look is due.
    mutating func look(_ log: (String) -> Void) {
        guard let due = lookAt else { return }
        let now = RunnerClock.awake()
        guard now >= due else { return }
        if let finding = kept.look(at: now) { Self.say(finding, log) }
        carryAt = registry.carry() ? nil : now + Self.carryPause
    }

    private static func say(_ finding: KeptFiles.Finding, _ log: (String) -> Void) {
        if !finding.made.isEmpty {
            log(
                "deleted while this runner uses it, and made again: \(finding.made.joined(separator: ", ")); "
                    + KeptFiles.hint)
        }
        if let failure = finding.failure {
            log(
                "a file of this runner was deleted and cannot be made again: \(failure). It is tried again "
                    + "every 10 s; until then a scheduler may not be able to connect")
        }
    }
}
