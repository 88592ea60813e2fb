// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// A runner behind a socket, with a configuration that can be changed.
final class ServerFixture: Sendable {
    final class Configuration: Sendable {
        let jobs = Mutex<RunnerServer.Definitions>([:])
        let reads = Mutex(0)
        let said = Mutex<[String]>([])
    }

    let folder: String
    let configuration = Configuration()
    let server: RunnerServer
    private let finished = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - folder: the folder of an earlier one; nil for a new one.
    ///   - change: changes the default settings.
    init(
        in folder: String? = nil, _ change: (inout RunnerServer.Settings) -> Void = { _ in }
    ) throws {
        self.folder = folder ?? "/tmp/timerd-fixture-\(UUID().uuidString)"
        let folder = self.folder
        mkdir(folder, 0o755)
        unlink("\(folder)/s")
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        _ = Self.withAddress("\(folder)/s") { bind(socket, $0, $1) }
        chmod("\(folder)/s", 0o777)
        mkdir("\(folder)/registry", 0o700)
        let registry = open("\(folder)/registry", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(registry) }
        let configuration = configuration
        var settings = RunnerServer.Settings(
            socket: socket, users: [], registry: registry,
            definitions: { _ in
                configuration.reads.withLock { $0 += 1 }
                return .success(configuration.jobs.withLock { $0 })
            }, log: { text in configuration.said.withLock { $0.append(text) } })
        change(&settings)
        server = try RunnerServer(settings)
        let (server, finished) = (server, finished)
        Thread.detachNewThread {
            server.run()
            finished.signal()
        }
    }

    func stop(keepsFolder: Bool = false) {
        server.end(grace: .zero)
        #expect(endsByItself(within: 30))
        if !keepsFolder { try? FileManager.default.removeItem(atPath: folder) }
    }

    /// Whether it ends within this time without being stopped, or has ended before.
    func endsByItself(within seconds: Double) -> Bool {
        guard finished.wait(timeout: .now() + seconds) == .success else { return false }
        finished.signal()
        return true
    }

    /// Waits until the configuration was read this often; the last reading may not have ended.
    func waitForReadings(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        wait(sourceLocation: sourceLocation) { configuration.reads.withLock { $0 } >= count }
    }

    var socket: String { "\(folder)/s" }

    /// A connection like that of a scheduler; -1 if it fails.
    func connect() -> Int32 {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard Self.withAddress("\(folder)/s", { Glibc.connect(socket, $0, $1) }) == 0 else {
            close(socket)
            return -1
        }
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        return socket
    }

    func client(
        timeout: Duration = .seconds(10), announcedBy path: String? = nil,
        _ handler: @escaping RunnerClient.Handler
    ) throws -> RunnerClient {
        let client = try RunnerClient(timeout: timeout, announcedBy: path) { [self] in
            let socket = connect()
            return socket >= 0 ? .success(socket) : .failure(.init("no process listens"))
        }
        client.begin(adopting: Set(client.holdings.map(\.run)), handler)
        return client
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

extension RunnerClient {
    /// Starts the runs in this order, as soon as possible.
    func start(_ runs: [Run]) { start(runs.map { ($0, AwakeInstant(nanoseconds: 0)) }) }
}

/// Waits until the condition is true. After a minute it records an issue and returns: a test that waited for ever
/// would stop the whole run without being named.
func wait(sourceLocation: SourceLocation = #_sourceLocation, until isSo: () -> Bool) {
    let end = RunnerClock.awake() + 60_000_000_000
    while !isSo() {
        guard RunnerClock.awake() < end else {
            Issue.record("this did not happen within a minute", sourceLocation: sourceLocation)
            return
        }
        usleep(1000)
    }
}
