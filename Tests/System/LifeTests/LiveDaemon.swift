// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SystemdReceiver
import Testing
import TimerControl
import TimerCore

/// The real daemon in a directory of its own. The test has the role of its service manager.
final class LiveDaemon {
    let folder: String
    private(set) var process: Process?
    private let manager: SystemdReceiver
    private let firings: Int32
    private var pending = ""
    /// Instants of CLOCK_MONOTONIC at which this instance was started, and at which it was known to
    /// be ready.
    private(set) var begun = 0.0
    private(set) var ready = 0.0

    /// Whether the daemon notices changes of its configuration; most tests request each reload.
    var autoReload = false

    var config: String { "\(folder)/timerd.toml" }
    /// How the configuration is named on the command line; nil: by its path. The daemon is started in its directory.
    var configArgument: String?
    /// The name of the runtime directory in the folder.
    var runtime = "run"
    /// The options for the log.
    var options = ["--log", "stderr"]
    var socket: String { "\(folder)/\(runtime)/control.sock" }

    /// - Parameter jobs: the configuration; `FIRE` in it stands for a command that reports its
    ///   start.
    init(_ jobs: String) throws {
        folder = "/tmp/timerd-daemon-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        mkfifo("\(folder)/fired", 0o600)
        // Opened for reading and writing, so that there is always a reader, and never an end of the
        // file.
        firings = open("\(folder)/fired", O_RDWR | O_CLOEXEC)
        manager = SystemdReceiver(address: "\(folder)/notify")
        try write(jobs)
    }

    deinit {
        if let process, process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        if let runner = runner() { Glibc.kill(runner, SIGTERM) }
        close(firings)
        try? FileManager.default.removeItem(atPath: folder)
    }

    func write(_ jobs: String) throws {
        var jobs = jobs
        if !autoReload, !jobs.contains("auto-reload") {
            let key = "auto-reload = false\n"
            let table = "[daemon]\n"
            jobs =
                jobs.contains(table)
                ? jobs.replacing(table, with: table + key) : "\(jobs)\n\(table)\(key)"
        }
        let fire = #"shell = "echo $TIMERD_JOB $TIMERD_MISSED > \#(folder)/fired""#
        try jobs.replacing("FIRE", with: fire).write(
            toFile: config, atomically: true, encoding: .utf8)
        chmod(config, 0o600)
    }

    /// The directory of the built programs, which also contains the tests.
    static var programs: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
    }

    /// - Parameters:
    ///   - variables: the environment, in addition to the variables that are always needed.
    ///   - withRuntime: whether an option names the runtime directory.
    func start(_ variables: [String: String] = [:], withRuntime: Bool = true) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(Self.programs)/timerd")
        process.arguments = [
            "run", "--config", configArgument ?? config, "--state", "\(folder)/state",
        ]
        if withRuntime { process.arguments? += ["--runtime", "\(folder)/\(runtime)"] }
        process.arguments? += options
        if configArgument != nil {
            process.currentDirectoryURL = URL(fileURLWithPath: folder)
        }
        process.environment = [
            "NOTIFY_SOCKET": "\(folder)/notify", "PATH": "/usr/bin:/bin",
        ].merging(variables) { $1 }
        // All instances append to it, and the runner of an earlier one may have it open as well.
        let log = open("\(folder)/log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        process.standardError = FileHandle(fileDescriptor: log, closeOnDealloc: true)
        // Processes that it leaves behind must not keep the output of the tests open.
        process.standardOutput = FileHandle.nullDevice
        self.process = process
        // Messages of the previous instance, such as that a reload was done, must not be read as
        // those of this one.
        manager.drain()
        begun = Self.now()
        try process.run()
        let state = waitForManager("READY=1")
        #expect(state != nil, "not ready: \(log)")
        ready = Self.now()
    }

    /// Waits for a notification with this state.
    func waitForManager(_ state: String, seconds: Double = 20) -> String? {
        let deadline = Self.now() + seconds
        while wait(for: manager.descriptor, until: deadline) {
            let text = manager.text() ?? ""
            if text.split(separator: "\n").contains(where: { $0.hasPrefix(state) }) { return text }
        }
        return nil
    }

    /// The next firing that a job reported, `NAME MISSED`, with the instant when it was received;
    /// nil if none came in time.
    func nextFiring(until deadline: Double) -> (text: String, at: Double)? {
        while true {
            if let newline = pending.firstIndex(of: "\n") {
                let line = String(pending[..<newline])
                pending = String(pending[pending.index(after: newline)...])
                return (line, Self.now())
            }
            guard wait(for: firings, until: deadline) else { return nil }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(firings, &buffer, buffer.count)
            pending += String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
    }

    private func wait(for descriptor: Int32, until deadline: Double) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let left = max(0, deadline - Self.now())
        return poll(&wanted, 1, Int32(left * 1000)) > 0
    }

    func signal(_ number: Int32) {
        if let process { Glibc.kill(process.processIdentifier, number) }
    }

    /// The process of the runner that listens; nil if none does.
    ///
    /// - Parameter runtime: the name of the runtime directory; nil for that of the daemon.
    func runner(in runtime: String? = nil) -> Int32? {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) {
            $0.copyBytes(from: "\(folder)/\(runtime ?? self.runtime)/runner.sock".utf8)
        }
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // The process that listens, not one that accepted: struct ucred of unix(7) has pid, uid and
        // gid.
        var peer: (Int32, UInt32, UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout<(Int32, UInt32, UInt32)>.size)
        guard connected == 0, getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 else {
            return nil
        }
        return peer.0
    }

    /// Kills the daemon and returns an instant from which on it cannot have counted.
    func kill() -> Double {
        signal(SIGKILL)
        process?.waitUntilExit()
        return Self.now()
    }

    /// Stops it cleanly.
    func stop() -> Int32 {
        signal(SIGTERM)
        process?.waitUntilExit()
        return process?.terminationStatus ?? -1
    }

    func ask(_ request: ControlRequest) throws -> (status: Int, text: String) {
        let reply = try ControlClient(path: socket).send(request)
        return (reply.status, String(decoding: reply.body, as: UTF8.self))
    }

    /// Runs the command line against this daemon.
    func timerctl(_ arguments: String...) throws -> (status: Int32, text: String) {
        let result = try ProgramResult(of: "timerctl", arguments + ["--socket", socket])
        return (result.status, result.output)
    }

    func show(_ job: String) throws -> JobStatus {
        let reply = try ControlClient(path: socket).send(.show(Job.Name(job)!))
        return try ControlJSON.decode(JobStatus.self, from: reply.body)
    }

    /// Waits until the log has this text: entries are written later than the event.
    func waitForLog(_ text: String, times: Int = 1) -> Bool {
        wait { self.log.components(separatedBy: text).count > times }
    }

    /// Waits until a condition is true.
    func wait(_ isSo: () throws -> Bool) rethrows -> Bool {
        let deadline = Self.now() + 60
        while Self.now() < deadline {
            if try isSo() { return true }
            usleep(5000)
        }
        return try isSo()
    }

    var log: String { (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? "" }

    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Waits until this instant.
    static func pass(until instant: Double) { usleep(UInt32(max(0, instant - now()) * 1e6)) }
}
