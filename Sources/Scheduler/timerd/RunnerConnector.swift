// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import Logging
import Synchronization
import TimerLog
import TimerRunnerClient
import TimerRunnerProtocol

/// Where the runner is, and who starts it.
struct RunnerConnector {
    private let socket: String
    /// The arguments to start it with; nil if a service manager starts it.
    private let arguments: [String]?
    /// Whether this process started a runner. It is shared by all copies of this value.
    private let started = Started()

    private final class Started: Sendable {
        let isSet = Atomic(false)
    }

    /// Whether the connected runner was started by this process.
    var hasStarted: Bool { started.isSet.load(ordering: .relaxed) }

    /// Whether this process starts the runner, and none listens yet.
    var mustStart: Bool {
        guard arguments != nil else { return false }
        guard let connection = UnixSocket.connect(to: socket) else { return Self.isAbsent }
        close(connection)
        return false
    }

    /// Whether the last attempt to connect failed because no runner listens.
    private static var isAbsent: Bool { errno == ENOENT || errno == ECONNREFUSED }

    init(_ options: Daemon.Options, runtime: Directory, log: Logger) {
        socket = options.runner ?? "\(options.runtime)/\(RunnerSocket.fileName)"
        arguments =
            options.runner == nil
            ? [
                "--detach", "--exit-idle", "1min", "--config", options.config, "--runtime",
                options.runtime, "--log", options.log == .json ? "json" : "auto",
            ] : nil
    }

    /// Connects to the runner, and starts one if none is running.
    ///
    /// - Parameters:
    ///   - timeout: how long to try.
    ///   - isCancelled: whether to stop trying before that.
    func connect(
        timeout: Duration, isCancelled: () -> Bool
    ) throws(RunnerClient.Failure) -> RunnerClient {
        let (socket, arguments, started) = (socket, arguments, started)
        return try RunnerClient(
            timeout: timeout, announcedBy: arguments == nil ? socket : nil,
            isCancelled: isCancelled
        ) {
            do throws(RunnerClient.Failure) {
                return .success(try Self.dial(socket, arguments, started))
            } catch {
                return .failure(error)
            }
        }
    }

    private static func dial(
        _ socket: String, _ arguments: [String]?, _ started: Started
    ) throws(RunnerClient.Failure) -> Int32 {
        if let connection = UnixSocket.connect(to: socket) { return connection }
        guard let arguments, isAbsent else {
            throw RunnerClient.Failure(
                "no runner listens at \(socket): \(systemError()); is timerd-runner running?")
        }
        try RunnerProgram.start(try program(), arguments)
        started.isSet.store(true, ordering: .relaxed)
        guard let connection = UnixSocket.connect(to: socket) else {
            throw RunnerClient.Failure(
                "the runner that was started does not listen at \(socket): \(systemError())")
        }
        return connection
    }

    /// The runner's program is in the directory of the daemon's program.
    private static func program() throws(RunnerClient.Failure) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes {
            readlink(
                "/proc/self/exe", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        let path = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
        guard let slash = path.lastIndex(of: "/") else {
            throw RunnerClient.Failure("cannot find the path of timerd: \(systemError())")
        }
        return "\(path[..<slash])/timerd-runner"
    }
}
