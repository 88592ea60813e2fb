// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// A daemon is killed, and the next one is killed during its start: together they lose at most a
/// second each, and gain nothing.
@Suite(.ownThreads, .serialized) struct StartKillTests {
    /// How many points of a start are tried; `TIMERD_KILLS` sets a higher number.
    private static let points =
        ProcessInfo.processInfo.environment["TIMERD_KILLS"].flatMap { Int($0) } ?? 24

    /// The files of a daemon that ran for some seconds and was killed.
    private struct Remains {
        let daemon: LiveDaemon
        let runner: Spawned
        /// How long it counted, at least and at most, in seconds.
        let least: Double
        let most: Double

        init(seconds: Double) throws {
            daemon = try LiveDaemon("[job.a]\nevery = \"100h\"\nFIRE\n")
            // It is started separately, so that the program under strace starts no process.
            runner = try Spawned(
                [
                    "\(LiveDaemon.programs)/timerd-runner", "--config", daemon.config, "--runtime",
                    "\(daemon.folder)/runner",
                ], log: "\(daemon.folder)/log")
            let process = try Remains.spawn(daemon)
            #expect(daemon.waitForManager("READY=1") != nil, "\(daemon.log)")
            let ready = LiveDaemon.now()
            LiveDaemon.pass(until: ready + seconds)
            let end = process.end()
            least = end - ready - 1
            most = end - process.startedAt
            try copy("state", "saved-state")
            try copy("run", "saved-run")
        }

        static func spawn(_ daemon: LiveDaemon, under tracer: [String] = []) throws -> Spawned {
            try Spawned(
                tracer + [
                    "\(LiveDaemon.programs)/timerd", "run", "--config", daemon.config, "--state",
                    "\(daemon.folder)/state", "--runtime", "\(daemon.folder)/run", "--log",
                    "stderr", "--runner", "\(daemon.folder)/runner/runner.sock",
                ], ["NOTIFY_SOCKET": "\(daemon.folder)/notify"], log: "\(daemon.folder)/log")
        }

        func restore() throws {
            try copy("saved-state", "state")
            try copy("saved-run", "run")
        }

        private func copy(_ from: String, _ to: String) throws {
            let files = FileManager.default
            try? files.removeItem(atPath: "\(daemon.folder)/\(to)")
            try files.createDirectory(
                atPath: "\(daemon.folder)/\(to)", withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            for name in try files.contentsOfDirectory(atPath: "\(daemon.folder)/\(from)")
            where !name.hasSuffix(".sock") {
                try files.copyItem(
                    atPath: "\(daemon.folder)/\(from)/\(name)",
                    toPath: "\(daemon.folder)/\(to)/\(name)")
            }
        }

        /// The elapsed time of the job in a daemon that starts now, and how much of it this daemon
        /// may have counted itself.
        func accrued() throws -> (seconds: Double, own: Double) {
            let process = try Remains.spawn(daemon)
            #expect(daemon.waitForManager("READY=1") != nil, "\(daemon.log)")
            let status = try daemon.show("a")
            let own = LiveDaemon.now() - process.startedAt
            _ = process.end()
            return (Double(status.elapsedUsec) / 1e6, own)
        }
    }

    private static let hasTracer = access("/usr/bin/strace", X_OK) == 0

    /// The system calls by which a start reads, writes, connects and reports that it is ready.
    @Test(
        .enabled(if: hasTracer, "strace ends the daemon at each call"),
        arguments: [
            "pwrite64,fsync,fdatasync,ftruncate,unlink", "openat,connect,sendto,write,futex",
        ])
    func atAnyPointOfTheStart(calls: String) throws {
        var random = SeededRandom()
        let remains = try Remains(seconds: 3)
        var when = 0
        var reached = false
        for _ in 0..<(Self.points / 2) {
            if reached { when = 0 }
            when += 1 + (calls.hasPrefix("pwrite64") ? 0 : random.int(below: 12))
            try remains.restore()
            let process = try Remains.spawn(
                remains.daemon,
                under: [
                    "/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(calls)", "-e",
                    "inject=\(calls):signal=KILL:when=\(when)",
                ])
            reached = false
            while !process.isOver, !reached {
                reached = remains.daemon.waitForManager("READY=1", seconds: 0.02) != nil
            }
            let traced = endTraced(process)
            while remains.daemon.waitForManager("READY=1", seconds: 0) != nil {}
            let (accrued, own) = try remains.accrued()
            #expect(
                accrued >= remains.least - 1, "\(calls) \(when): \(remains.least - accrued) s lost")
            #expect(
                accrued <= remains.most + traced + own,
                "\(calls) \(when): \(accrued - remains.most - traced - own) s gained")
        }
    }

    /// Kills the traced daemon and the tracer, and returns how long they ran.
    private func endTraced(_ tracer: Spawned) -> Double {
        tracer.signalChildren(SIGKILL)
        tracer.wait()
        return LiveDaemon.now() - tracer.startedAt
    }

    /// Another process holds the write lock of the database: nothing can be saved, and the time
    /// still counts.
    @Test(arguments: [1, 2]) func whileTheDatabaseIsLocked(kills: Int) throws {
        let remains = try Remains(seconds: 2)
        try remains.restore()
        var database: OpaquePointer?
        #expect(sqlite3_open("\(remains.daemon.folder)/state/timerd.db", &database) == SQLITE_OK)
        #expect(sqlite3_exec(database, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
        var least = remains.least
        var most = remains.most
        for _ in 0..<kills {
            let process = try Remains.spawn(remains.daemon)
            // It answers, though it cannot save anything yet.
            let deadline = LiveDaemon.now() + 20
            var status: JobStatus?
            while status == nil, LiveDaemon.now() < deadline {
                status = try? remains.daemon.show("a")
            }
            let up = LiveDaemon.now()
            #expect(status != nil, "\(remains.daemon.log)")
            LiveDaemon.pass(until: up + 3)
            let end = process.end()
            least += end - up - 1
            most += end - process.startedAt
        }
        sqlite3_exec(database, "ROLLBACK", nil, nil, nil)
        sqlite3_close(database)
        while remains.daemon.waitForManager("READY=1", seconds: 0) != nil {}
        let (accrued, own) = try remains.accrued()
        #expect(accrued >= least, "\(least - accrued) s lost")
        #expect(accrued <= most + own, "\(accrued - most - own) s gained")
    }
}
