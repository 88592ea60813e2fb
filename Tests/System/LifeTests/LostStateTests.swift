// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// Starts after the saved state was lost, and the commands that restore it.
@Suite(.ownThreads, .serialized) struct LostStateTests {
    private static let jobs = """
        [job.a]
        every = "1h"
        shell = "true"
        """

    /// What happens to the files of a daemon that stopped cleanly.
    enum Loss: CaseIterable {
        case deleted, emptied, withoutLog, unreadable, olderCopy
    }

    @Test(arguments: Loss.allCases) func aStartWithoutTheSavedStateIsRefused(_ loss: Loss) throws {
        let home = try DaemonHome(Self.jobs)
        try home.startAndStop()
        let older = try home.contents()
        try home.startAndStop()
        try home.remove("timerd.db-wal")
        if loss != .withoutLog { try home.remove("timerd.db", "timerd.db-shm") }
        switch loss {
        case .deleted, .withoutLog: break
        case .emptied: home.write("timerd.db", Data())
        case .unreadable: home.write("timerd.db", Data(repeating: 7, count: 9000))
        case .olderCopy: for (name, data) in older { home.write(name, data) }
        }
        for _ in 0..<2 {
            let refused = try home.end("run")
            #expect(refused.status == 1)
            #expect(refused.text.contains("Cannot start: "), "\(refused.text)")
            #expect(refused.text.contains("`timerd restore`"), "\(refused.text)")
        }
        let accepted = try home.startAndStop("--accept-data-loss")
        #expect(accepted.contains("because of --accept-data-loss"), "\(accepted)")
        try home.startAndStop()
    }

    @Test func restoreBringsTheLastGoodCopyBackAndKeepsWhatWasThere() throws {
        let home = try DaemonHome(Self.jobs)
        try home.startAndStop()
        try home.remove("timerd.db-wal", "timerd.db-shm")
        home.write("timerd.db", Data(repeating: 7, count: 9000))
        #expect(try home.end("run").status == 1)
        let restored = try home.end("restore")
        #expect(restored.status == 0, "\(restored.text)")
        #expect(try home.names().contains { $0.hasPrefix("timerd.db.replaced-") })
        let log = try home.startAndStop()
        #expect(log.contains("Started with 1 job; the previous instance"), "\(log)")
    }

    @Test func restoreIsRefusedWhileADaemonRunsAndForADamagedCopy() throws {
        let home = try DaemonHome(Self.jobs)
        let daemon = try home.begin("run")
        #expect(home.waitForLog("Started with 1 job"))
        #expect(try home.end("restore").status == 1)
        daemon.signal(SIGTERM)
        #expect(daemon.wait() == 0)
        home.write("timerd.backup.db", Data(repeating: 7, count: 9000))
        #expect(try home.end("restore").status == 1)
        try home.startAndStop()
    }

    /// A heartbeat of a daemon that could not write anything yet does not prove that state was
    /// lost.
    @Test(.enabled(if: geteuid() == 0, "mounts a file system"))
    func aFirstStartOnAFullDiskIsNoReasonToRefuseTheNext() throws {
        let home = try DaemonHome(Self.jobs)
        mkdir(home.state, 0o700)
        try #require(mount("tmpfs", home.state, "tmpfs", 0, "size=256k,mode=0700") == 0)
        defer { umount2(home.state, 2) }
        home.write("filler", Data(count: 255 * 1024))
        home.write("filler2", Data(count: 4096))
        let first = try home.begin("run")
        #expect(home.waitForLog("no run starts until there is space"))
        #expect(home.waitForLog("jobs that become due wait"))
        first.signal(SIGTERM)
        #expect(first.wait() == 0)
        try home.remove("filler")
        let second = try home.begin("run")
        #expect(home.waitForLog("Started with 1 job"), "\(home.log)")
        second.signal(SIGTERM)
        #expect(second.wait() == 0)
    }

    /// Whether the killed daemon was the first one, or had a complete database already.
    @Test(arguments: [true, false])
    func aLogThatIsDeletedAfterAKillIsNoticed(isFirstStart: Bool) throws {
        let home = try DaemonHome(Self.jobs)
        if !isFirstStart {
            try home.startAndStop()
            // The records of the log are in the database.
            try home.change("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        let before = home.marker
        let daemon = try home.begin("run")
        #expect(home.waitForLog("Started with"), "\(home.log)")
        #expect(
            home.wait { home.marker != nil && home.marker != before }, "\(home.log)"
        )
        _ = daemon.end()
        try home.remove("timerd.db-wal")
        let refused = try home.end("run")
        #expect(refused.status == 1)
        for part in ["Cannot start: ", "timerd.db", "`timerd restore`", "--accept-data-loss"] {
            #expect(refused.text.contains(part), "\(part) in \(refused.text)")
        }
        if !isFirstStart { #expect(refused.text.contains("its log timerd.db-wal is gone")) }
        let accepted = try home.startAndStop("--accept-data-loss")
        #expect(accepted.contains("because of --accept-data-loss"), "\(accepted)")
        try home.startAndStop()
    }

    @Test func aJobWhoseRowIsDamagedIsPaused_andTheOthersGoOn() throws {
        let home = try DaemonHome(Self.jobs + "\n[job.b]\nevery = \"1h\"\nshell = \"true\"\n")
        try home.startAndStop()
        try home.change("UPDATE job SET firings = -1 WHERE name = 'a'")
        let daemon = try home.begin("run")
        #expect(home.waitForLog("Started with 2 jobs"), "\(home.log)")
        #expect(
            home.log.contains(
                #"error: \#(home.state)/timerd.db: the saved state of job "a" is damaged (firings = -1); the job is paused"#
            ), "\(home.log)")
        let damaged = try home.show("a")
        #expect(damaged.state == "paused" && damaged.paused?.by == "timerd")
        #expect(damaged.paused?.note?.contains("damaged: firings = -1") == true)
        #expect(try home.show("b").state == "armed")
        let resumed = try ControlClient(path: home.socket).send(
            .command(.resume, Job.Name("a")!, CommandBody()))
        #expect(resumed.status == 200)
        daemon.signal(SIGTERM)
        #expect(daemon.wait() == 0)
        let log = try home.startAndStop()
        #expect(!log.contains("damaged"), "it was written whole again: \(log)")
    }

    /// The most important guarantee: at whatever moment a daemon ends, its state is there for the
    /// next one.
    @Test func noStartIsRefusedAfterAKillAtAnyMoment() throws {
        let home = try DaemonHome(Self.jobs)
        var random = SeededRandom()
        for round in 0..<30 {
            let daemon = try home.begin("run")
            usleep(UInt32(random.int(below: round < 15 ? 50_000 : 150_000)))
            #expect(!daemon.isOver, "round \(round): \(home.log)")
            _ = daemon.end()
            if round % 3 == 0 { try? FileManager.default.removeItem(atPath: home.runtime) }
            if round % 5 == 4 {
                try? FileManager.default.removeItem(atPath: home.state)
                try? FileManager.default.removeItem(atPath: home.runtime)
            }
        }
        try home.startAndStop()
    }
}

/// A state directory, and the programs that run with it one after another.
private final class DaemonHome {
    private let folder = "/tmp/timerd-lost-\(UUID().uuidString)"
    var state: String { "\(folder)/state" }
    var runtime: String { "\(folder)/run" }
    private var logs = 0

    init(_ jobs: String) throws {
        mkdir(folder, 0o700)
        try jobs.write(toFile: "\(folder)/timerd.toml", atomically: true, encoding: .utf8)
        chmod("\(folder)/timerd.toml", 0o600)
    }

    /// Kills all processes. A runner may be left without a socket over which it could be stopped.
    /// All processes that were started here, and no others, have the folder in their command line.
    deinit {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let pid = pid_t(name), pid != getpid(),
                let command = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/cmdline")),
                String(decoding: command, as: UTF8.self).contains(folder)
            else { continue }
            kill(pid, SIGKILL)
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    var socket: String { "\(runtime)/control.sock" }

    func show(_ job: String) throws -> JobStatus {
        let reply = try ControlClient(path: socket).send(.show(Job.Name(job)!))
        return try ControlJSON.decode(JobStatus.self, from: reply.body)
    }

    /// The marker, which identifies the database; nil if there is none.
    var marker: Data? { try? Data(contentsOf: URL(fileURLWithPath: "\(state)/timerd.marker")) }

    /// Changes the database while no daemon runs.
    func change(_ sql: String) throws {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        #expect(sqlite3_open("\(state)/timerd.db", &database) == SQLITE_OK)
        #expect(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK)
    }

    /// The output of the program that was started last.
    var log: String {
        (try? String(contentsOfFile: "\(folder)/log\(logs)", encoding: .utf8)) ?? ""
    }

    func begin(_ command: String, _ options: String...) throws -> Spawned {
        try begin(command, options)
    }

    private func begin(_ command: String, _ options: [String]) throws -> Spawned {
        logs += 1
        var arguments = [
            "\(LiveDaemon.programs)/timerd", command, "--state", state, "--runtime", runtime,
        ]
        if command == "run" {
            arguments += ["--config", "\(folder)/timerd.toml", "--log", "stderr"]
        }
        return try Spawned(arguments + options, log: "\(folder)/log\(logs)")
    }

    /// Runs a program that ends by itself.
    func end(_ command: String) throws -> (status: Int32, text: String) {
        let program = try begin(command)
        let deadline = LiveDaemon.now() + 20
        while !program.isOver, LiveDaemon.now() < deadline { usleep(5000) }
        guard program.isOver else {
            _ = program.end()
            return (-1, "it did not end: \(log)")
        }
        return ((program.wait() >> 8) & 0xff, log)
    }

    /// A daemon that starts and is stopped.
    @discardableResult
    func startAndStop(_ options: String...) throws -> String {
        let daemon = try begin("run", options)
        #expect(waitForLog("Started with "), "\(log)")
        daemon.signal(SIGTERM)
        #expect(daemon.wait() == 0, "\(log)")
        return log
    }

    func waitForLog(_ text: String) -> Bool { wait { log.contains(text) } }

    /// Waits until this is true, for ten seconds.
    func wait(until isSo: () -> Bool) -> Bool {
        let deadline = LiveDaemon.now() + 10
        while !isSo(), LiveDaemon.now() < deadline { usleep(5000) }
        return isSo()
    }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: state) }

    func remove(_ names: String...) throws {
        for name in names { unlink("\(state)/\(name)") }
    }

    func write(_ name: String, _ data: Data) {
        _ = FileManager.default.createFile(atPath: "\(state)/\(name)", contents: nil)
        chmod("\(state)/\(name)", 0o600)
        guard let file = FileHandle(forWritingAtPath: "\(state)/\(name)") else { return }
        // On a full disk fewer bytes are written, which is intended there.
        try? file.write(contentsOf: data)
        try? file.close()
    }

    /// The database and its log.
    func contents() throws -> [(name: String, data: Data)] {
        try ["timerd.db", "timerd.db-wal"].compactMap { name in
            guard access("\(state)/\(name)", F_OK) == 0 else { return nil }
            return (name, try Data(contentsOf: URL(fileURLWithPath: "\(state)/\(name)")))
        }
    }
}
