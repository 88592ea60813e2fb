// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Glibc
import Testing

/// A scheduler and a runner of their own with a credential, and the database between their instances.
final class NotificationFixture {
    let daemon: LiveDaemon
    private var scheduler: Spawned?
    private var runner: Spawned?
    private var rows = 0

    /// - Parameters:
    ///   - jobs: the configuration; `FOLDER` in it is the directory of this daemon.
    ///   - credential: the contents of the credential `hook`.
    init(_ jobs: String, credential: String = "", files: [String: String] = [:]) throws {
        daemon = try LiveDaemon("")
        mkdir("\(daemon.folder)/secrets", 0o700)
        try write(credential, to: "secrets/hook", mode: 0o400)
        for (name, text) in files { try write(text, to: name, mode: 0o700) }
        try daemon.write(jobs.replacing("FOLDER", with: daemon.folder))
        try startRunner()
    }

    private func write(_ text: String, to name: String, mode: mode_t) throws {
        let path = "\(daemon.folder)/\(name)"
        try text.replacing("FOLDER", with: daemon.folder).write(
            toFile: path, atomically: false, encoding: .utf8)
        chmod(path, mode)
    }

    deinit {
        _ = scheduler?.end()
        runner?.signal(SIGTERM)
        runner?.wait()
    }

    private func startRunner() throws {
        // A program that sends runs as the user of the test, who has the directory.
        let user = geteuid() == 0 ? ["--notify-user", "root"] : []
        runner = try Spawned(
            [
                "\(LiveDaemon.programs)/timerd-runner", "--config", daemon.config, "--runtime",
                "\(daemon.folder)/runner",
            ] + user, ["CREDENTIALS_DIRECTORY": "\(daemon.folder)/secrets"],
            log: "\(daemon.folder)/log")
    }

    func restartRunner() throws {
        _ = runner?.end()
        try startRunner()
    }

    /// The runner gets a signal. After SIGKILL, the next one must be started.
    func signalRunner(_ number: Int32) {
        runner?.signal(number)
        if number == SIGKILL { runner?.wait() }
    }

    func start() throws {
        while daemon.waitForManager("READY=1", seconds: 0) != nil {}
        scheduler = try Spawned(
            [
                "\(LiveDaemon.programs)/timerd", "run", "--config", daemon.config, "--state",
                "\(daemon.folder)/state", "--runtime", "\(daemon.folder)/run", "--log", "stderr",
                "--runner", "\(daemon.folder)/runner/runner.sock",
            ], ["NOTIFY_SOCKET": "\(daemon.folder)/notify"], log: "\(daemon.folder)/log")
        #expect(daemon.waitForManager("READY=1", seconds: 60) != nil, "\(daemon.log.suffix(2000))")
    }

    func kill(_ number: Int32) throws {
        scheduler?.signal(number)
        scheduler?.wait()
        scheduler = nil
    }

    /// Kills some of the programs, and starts them again after the block.
    func kill(scheduler: Bool, runner: Bool, meanwhile: () throws -> Void) throws {
        if runner { self.runner?.signal(SIGKILL) }
        if scheduler { self.scheduler?.signal(SIGKILL) }
        if runner { self.runner?.wait() }
        if scheduler { self.scheduler?.wait() }
        try meanwhile()
        if runner { try startRunner() }
        if scheduler { try start() }
    }

    /// Writes this many notifications into the database of the stopped daemon: each is a message of
    /// its own.
    func insert(_ count: Int) throws -> Int {
        let now = Int64(Date().timeIntervalSince1970 * 1e6)
        for _ in 0..<count {
            rows += 1
            _ = try column(
                """
                INSERT INTO notification (notifier, kind, job, at_us, failed_in_a_row, is_repeat,
                    will_retry)
                VALUES ('hook', 'output', 'idle', \(now + Int64(rows)), \(rows), 0, 0)
                """)
        }
        return count
    }

    func waitUntilSent() throws {
        let deadline = LiveDaemon.now() + 120
        while try !column("SELECT id FROM message WHERE state <> 'sent'").isEmpty {
            guard LiveDaemon.now() < deadline else {
                Issue.record("not sent: \(daemon.log.suffix(3000))")
                return
            }
            usleep(50_000)
        }
    }

    func openDatabase() -> OpaquePointer? {
        var database: OpaquePointer?
        #expect(sqlite3_open("\(daemon.folder)/state/timerd.db", &database) == SQLITE_OK)
        sqlite3_busy_timeout(database, 60_000)
        return database
    }

    /// The first column of the result of a statement.
    func column(_ statement: String) throws -> [String] {
        let database = openDatabase()
        defer { sqlite3_close(database) }
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v2(database, statement, -1, &prepared, nil)
        #expect(code == SQLITE_OK, "\(String(cString: sqlite3_errmsg(database)))")
        defer { sqlite3_finalize(prepared) }
        var found: [String] = []
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_ROW:
                found.append(sqlite3_column_text(prepared, 0).map { String(cString: $0) } ?? "")
            case SQLITE_DONE: return found
            default:
                Issue.record("\(String(cString: sqlite3_errmsg(database)))")
                return found
            }
        }
    }

    /// The address is in none of the files of the daemon and its runner, in no command line and no
    /// environment, and in no answer of the API.
    func expectNoSecret(_ secret: String) throws {
        let needle = Data(secret.utf8)
        let files = FileManager.default.enumerator(atPath: daemon.folder)
        while let name = files?.nextObject() as? String {
            guard name != "secrets/hook" else { continue }
            let path = "\(daemon.folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            let contents = FileManager.default.contents(atPath: path) ?? Data()
            #expect(contents.firstRange(of: needle) == nil, "\(name)")
        }
        for process in try FileManager.default.contentsOfDirectory(atPath: "/proc")
        where Int32(process) != nil {
            for part in ["cmdline", "environ"] {
                let path = "/proc/\(process)/\(part)"
                let contents = FileManager.default.contents(atPath: path) ?? Data()
                #expect(contents.firstRange(of: needle) == nil, "\(path)")
            }
        }
        for path in ["/v1/jobs", "/v1/jobs/idle", "/v1/history"] {
            let answer = try run("api", "GET", path)
            #expect(!answer.contains(secret), "\(path)")
        }
    }

    @discardableResult
    func run(_ arguments: String...) throws -> String {
        let result = try ProgramResult(
            of: "timerctl", arguments + ["--socket", "\(daemon.folder)/run/control.sock"])
        return result.output + result.errors
    }
}
