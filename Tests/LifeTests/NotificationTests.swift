// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore
import WebReceiver

/// The outbox of the real programs with a real receiver: both programs are killed while messages are
/// being sent. `TIMERD_KILLS=50` kills more often.
@Suite(
    .serialized, .enabled(if: access("/usr/bin/curl", X_OK) == 0))
struct NotificationTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["TIMERD_KILLS"].flatMap { Int($0) } ?? 8
    private static let secret = "T0pS3cretPath"

    @Test func eachMessageArrivesOnce_andAgainAtMostForEachKillOfTheRunner() throws {
        var random = SeededRandom()
        let receiver = WebReceiver()
        defer { receiver.stop() }
        let office = try LiveOffice(receiver, secret: Self.secret)
        try office.start()
        try office.kill(SIGTERM)
        var written = 0
        for round in 0..<Self.rounds {
            // The rows are those that the scheduler would have written when runs ended.
            written += try office.insert(1 + random.int(below: 4))
            let pause = UInt32(random.int(below: 60_000))
            receiver.answer { request in
                usleep(pause)
                // Some must be sent again.
                return .status(request.body.count % 5 == round % 5 ? 503 : 200)
            }
            try office.start()
            usleep(UInt32(random.int(below: 300_000)))
            try office.kill(SIGKILL)
        }
        receiver.answer { _ in .status(200) }
        try office.start()
        #expect(receiver.wait { Self.accepted($0).count >= written })
        // While the runner is away, and when the next one comes.
        try office.kill(SIGTERM)
        written += try office.insert(20)
        try office.start()
        #expect(receiver.wait { Self.accepted($0).count > written - 20 })
        try office.restartRunner()
        #expect(receiver.wait { Self.accepted($0).count >= written })
        try office.waitUntilSent()
        for (number, count) in Self.accepted(receiver.requests) {
            // A runner that is killed may have sent it without knowing so, and so may a receiver
            // that answers with an error.
            #expect((1...2 + Self.rounds).contains(count), "message \(number): \(count) times")
        }
        let numbers = try office.column("SELECT id FROM message WHERE state = 'sent'")
        #expect(Set(numbers) == Set(Self.accepted(receiver.requests).keys))
        #expect(numbers.count == written)
        // Attempts that a restarted scheduler requests again are not made again: each attempt of
        // each message was received once, except those of the runner that was killed.
        let attempts = try office.column("SELECT attempts FROM message").compactMap { Int($0) }
        #expect(receiver.requests.count <= attempts.reduce(0, +) + 4)
        try office.expectNoSecret(Self.secret)
    }

    /// How often each message arrived.
    private static func accepted(_ requests: [WebReceiver.Request]) -> [String: Int] {
        let name = "X-Timerd-Message: "
        return requests.reduce(into: [:]) { counts, request in
            let line = request.header.first { $0.hasPrefix(name) }
            if let line { counts[String(line.dropFirst(name.count)), default: 0] += 1 }
        }
    }

    /// A stop waits for no receiver, and what was not sent is sent by the next instance.
    @Test func aReceiverThatHangsDelaysNoStop() throws {
        let receiver = WebReceiver { _ in .silence }
        defer { receiver.stop() }
        let office = try LiveOffice(receiver, secret: Self.secret)
        try office.start()
        try office.kill(SIGTERM)
        _ = try office.insert(3)
        try office.start()
        #expect(receiver.wait { !$0.isEmpty })
        let began = LiveDaemon.now()
        try office.kill(SIGTERM)
        // The time limit of a message is a minute.
        #expect(LiveDaemon.now() - began < 30)
        receiver.answer { _ in .status(200) }
        try office.start()
        #expect(receiver.wait { Self.accepted($0).count == 3 })
        try office.waitUntilSent()
    }
}

/// A scheduler and a runner with a credential, and the database between their instances.
private final class LiveOffice {
    private let daemon: LiveDaemon
    private var scheduler: Spawned?
    private var runner: Spawned?
    private var rows = 0

    init(_ receiver: WebReceiver, secret: String) throws {
        daemon = try LiveDaemon(
            """
            [job.idle]
            every = "100h"
            shell = "true"
            notify = ["hook"]
            [notify.hook]
            url-credential = "hook"
            format = "json"
            batch = "0s"
            on = ["output"]
            per-hour = 10000
            """)
        mkdir("\(daemon.folder)/secrets", 0o700)
        let address = "http://127.0.0.1:\(receiver.port)/\(secret)\n"
        try address.write(
            toFile: "\(daemon.folder)/secrets/hook", atomically: false, encoding: .utf8)
        chmod("\(daemon.folder)/secrets/hook", 0o400)
        try startRunner()
    }

    deinit {
        _ = scheduler?.end()
        runner?.signal(SIGTERM)
        runner?.wait()
    }

    private func startRunner() throws {
        runner = try Spawned(
            [
                "\(LiveDaemon.programs)/timerd-runner", "--config", daemon.config, "--runtime",
                "\(daemon.folder)/runner",
            ], ["CREDENTIALS_DIRECTORY": "\(daemon.folder)/secrets"], log: "\(daemon.folder)/log")
    }

    func restartRunner() throws {
        _ = runner?.end()
        try startRunner()
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

    /// The first column of the result of a statement.
    func column(_ statement: String) throws -> [String] {
        var database: OpaquePointer?
        #expect(sqlite3_open("\(daemon.folder)/state/timerd.db", &database) == SQLITE_OK)
        defer { sqlite3_close(database) }
        sqlite3_busy_timeout(database, 60_000)
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

    private func run(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
        process.arguments = arguments + ["--socket", "\(daemon.folder)/run/control.sock"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self)
    }
}
