// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

/// A control socket that a service manager holds, without a daemon: commands that only read start
/// none.
@Suite(.ownThreads) struct StoppedTests {
    /// A user's runtime directory with the socket, and a systemctl that gives a fixed answer.
    private final class Manager {
        let folder = "/tmp/timerd-stopped-\(UUID().uuidString)"
        let socket: Int32

        init(service: String, job: String = "") throws {
            mkdir(folder, 0o700)
            mkdir("\(folder)/timerd", 0o700)
            socket = Glibc.socket(
                AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            #expect(Self.bind(socket, to: "\(folder)/timerd/control.sock"))
            #expect(listen(socket, 8) == 0)
            let script = """
                #!/bin/sh
                echo "$@" >>\(folder)/asked
                printf 'Id=timerd.service\\nActiveState=\(service)\\nJob=\(job)\\n\\n'
                printf 'Id=timerd.socket\\nActiveState=active\\nJob=\\n'
                """
            try script.write(toFile: "\(folder)/systemctl", atomically: true, encoding: .utf8)
            chmod("\(folder)/systemctl", 0o700)
        }

        deinit {
            close(socket)
            try? FileManager.default.removeItem(atPath: folder)
        }

        static func bind(_ socket: Int32, to path: String) -> Bool {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
        }

        var asked: String {
            (try? String(contentsOfFile: "\(folder)/asked", encoding: .utf8)) ?? ""
        }

        func start(_ arguments: [String]) throws -> (process: Process, errors: Pipe) {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
            process.arguments = ["--user"] + arguments
            process.environment = ["PATH": "\(folder):/usr/bin:/bin", "XDG_RUNTIME_DIR": folder]
            let errors = Pipe()
            process.standardError = errors
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            return (process, errors)
        }

        /// Whether a client connected.
        func isConnected(within milliseconds: Int32) -> Bool {
            var wanted = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return poll(&wanted, 1, milliseconds) > 0
        }
    }

    @Test(arguments: [
        ["list"], ["show", "a"], ["history"], ["list", "--names"], ["reload", "--dry-run"],
    ])
    func readingCommandsReportThatTheDaemonIsStopped(arguments: [String]) throws {
        let manager = try Manager(service: "inactive")
        let (process, errors) = try manager.start(arguments)
        let said = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 3)
        #expect(
            said == "timerctl: timerd is stopped; start it with `systemctl --user start timerd`\n")
        #expect(!manager.isConnected(within: 0))
        #expect(manager.asked.hasPrefix("--user show "))
    }

    /// For changes, for a daemon that is being started or restarted, and for a running daemon, the
    /// service manager is not asked.
    @Test(arguments: [
        (["pause", "a"], "inactive", "", false),
        (["pause", "--match", "a*"], "inactive", "", false),
        (["resume", "--all"], "inactive", "", false),
        (["in", "1h", "--", "true"], "inactive", "", false),
        (["at", "now", "--name", "a", "--", "true"], "inactive", "", false),
        (["cancel", "a"], "inactive", "", false), (["list"], "activating", "", false),
        (["list"], "inactive", "17", false), (["list"], "inactive", "", true),
    ])
    func otherRequestsGoToTheSocket(
        arguments: [String], service: String, job: String, isAlive: Bool
    ) throws {
        let manager = try Manager(service: service, job: job)
        let mark = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(mark) }
        if isAlive {
            #expect(Manager.bind(mark, to: "\(manager.folder)/timerd/alive.sock"))
        }
        let (process, _) = try manager.start(arguments)
        #expect(manager.isConnected(within: 60_000))
        #expect(manager.asked.isEmpty == (isAlive || arguments[0] != "list"))
        // There is no daemon that answers. The tests may have blocked weaker signals, and children
        // inherit that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The mark of a running daemon exists from before its first answer until its end, however it
    /// ends.
    @Test func aDaemonIsMarkedAsLongAsItRuns() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1h\"\nFIRE\n")
        func isMarked() -> (Int32, Int32) {
            let probe = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(probe) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) {
                $0.copyBytes(from: "\(daemon.folder)/run/alive.sock".utf8)
            }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(probe, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard result == 0 else { return (errno, 0) }
            // No data can be left there.
            return (0, send(probe, "x", 1, Int32(MSG_NOSIGNAL)) < 0 ? errno : 0)
        }
        try daemon.start()
        #expect(isMarked() == (0, EPIPE))
        _ = daemon.kill()
        #expect(isMarked() == (ECONNREFUSED, 0))
        try daemon.start()
        #expect(isMarked() == (0, EPIPE))
        #expect(daemon.stop() == 0)
        #expect(isMarked() == (ECONNREFUSED, 0))
    }
}
