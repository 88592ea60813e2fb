// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Glibc
import SeededRandom
import Synchronization
import Testing
import WebReceiver

/// Both programs are killed at each step of a sending. The law: a message arrives at least once. It
/// arrives once more only for a kill of the *runner* between the start of the attempt and the
/// record of its result; each copy has the same identity and the same contents. A kill of the
/// scheduler alone repeats nothing. `TIMERD_KILLS=54` makes three kills of each kind.
@Suite(.ownThreads, .serialized, .enabled(if: access("/usr/bin/curl", X_OK) == 0))
struct MessageKillTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["TIMERD_KILLS"].flatMap { Int($0) } ?? 6

    /// Where the programs are when some of them are killed.
    private enum Step: CaseIterable {
        /// The notifications belong to no message yet.
        case collecting
        /// The messages are stored, and the runner has not got them.
        case ordered
        /// The program that sends runs, and the mail server has nothing yet.
        case sending
        /// The receiver has the message, and the program has not ended.
        case received
        /// The program has ended, and its result cannot be stored.
        case recording
        case anyTime

        /// Whether the kill of a runner can repeat a message.
        var isHit: Bool { self != .collecting && self != .ordered }
    }

    private enum Victim: CaseIterable {
        case scheduler, runner, both
    }

    @Test func aMessageArrivesOnce_andTwiceOnlyIfTheRunnerIsKilledWhileItIsSent() throws {
        var random = SeededRandom()
        let fixture = try MessageFixture()
        defer { fixture.receiver.stop() }
        var plan: [(Step, Victim)] = []
        while plan.count < Self.rounds {
            plan += Step.allCases.flatMap { step in Victim.allCases.map { (step, $0) } }
                .shuffled(using: &random)
        }
        var counts: [String: Int] = [:]
        for (round, (step, victim)) in plan.prefix(Self.rounds).enumerated() {
            let copies = try fixture.sendAndKill(
                round, step, scheduler: victim != .runner, runner: victim != .scheduler,
                after: UInt32(random.int(below: 1_500_000)))
            let isHit = victim != .scheduler && step.isHit
            for (transport, count) in copies {
                // Pings are not collected, so they are always on their way by then.
                let most = isHit || (victim != .scheduler && transport == "ping") ? 2 : 1
                #expect(
                    (1...most).contains(count), "\(step), \(victim), \(transport): \(count) times")
                counts["\(victim) killed, arrived \(count) times", default: 0] += 1
            }
        }
        try fixture.expectLaw(rounds: Self.rounds)
        print(counts.sorted { $0.key < $1.key }.map { "\($0): \($1)" }.joined(separator: "; "))
    }

    /// A mail, a request and a ping in each round.
    private final class MessageFixture {
        let receiver = WebReceiver()
        private let fixture: NotificationFixture
        private var folder: String { fixture.daemon.folder }

        /// What stands for sendmail. It writes to the disk what it got, and stops at two gates.
        private static let sendmail = """
            #!/bin/sh
            cat >"FOLDER/mail.$$"
            echo begin $$ >>FOLDER/begun
            while [ -e FOLDER/hold-before ]; do sleep 0.01; done
            id=$(sed -n 's/^Message-ID: *<\\(.*\\)>.*/\\1/Ip' "FOLDER/mail.$$")
            sum=$(cksum <"FOLDER/mail.$$")
            echo "$id $sum" >>FOLDER/mails
            sync FOLDER/mails
            while [ -e FOLDER/hold-after ]; do sleep 0.01; done
            echo end $$ >>FOLDER/ended
            """

        private static let config = """
            [job.idle]
            every = "100h"
            shell = "true"
            notify = ["mail", "hook", "ping"]
            [notify.mail]
            mail = "root@example.org"
            sendmail = "FOLDER/sendmail"
            batch = "1s"
            per-hour = 10000
            [notify.hook]
            webhook = "http://127.0.0.1:PORT/hook"
            batch = "1s"
            per-hour = 10000
            [notify.ping]
            ping = "http://127.0.0.1:PORT/ping"
            """

        init() throws {
            let port = "\(receiver.port)"
            fixture = try NotificationFixture(
                Self.config.replacing("PORT", with: port), files: ["sendmail": Self.sendmail])
            let gate = "\(folder)/hold-after"
            receiver.answer { _ in
                while access(gate, F_OK) == 0 { usleep(2000) }
                return .status(200)
            }
            try fixture.start()
            try fixture.kill(SIGTERM)
        }

        /// Lets three messages be sent, kills at this step, and waits until all of them are sent.
        ///
        /// - Returns: how often each of them arrived.
        func sendAndKill(
            _ round: Int, _ step: Step, scheduler: Bool, runner: Bool, after: UInt32
        ) throws -> [String: Int] {
            let before = copies()
            if step == .sending { hold("before") }
            if [.sending, .received, .recording].contains(step) { hold("after") }
            try insert(round)
            try fixture.start()
            let isLocked = try reach(step, round, runner: runner, after: after)
            try fixture.kill(scheduler: scheduler, runner: runner) {
                if let isLocked { sqlite3_close(isLocked) }
                if step == .ordered, !runner { fixture.signalRunner(SIGCONT) }
                release()
            }
            try waitUntilSent(round)
            try fixture.kill(SIGTERM)
            let new = copies().filter { before[$0.key] == nil }
            #expect(new.count == 3, "\(step): \(new)")
            return Dictionary(
                new.map { (String($0.key.prefix { $0 != " " }), $0.value) }, uniquingKeysWith: max)
        }

        private func insert(_ round: Int) throws {
            let now = Int64(Date().timeIntervalSince1970 * 1e6)
            for name in ["mail", "hook", "ping"] {
                let digits = String(1_000_000 + round).dropFirst()
                _ = try fixture.column(
                    """
                    INSERT INTO notification (notifier, kind, job, run, at_us, outcome,
                        failed_in_a_row, is_repeat, will_retry)
                    VALUES ('\(name)', 'success', 'idle', 'idle:20261122T010000.\(digits)Z:1',
                        \(now), 'exited(0)', 0, 0, 0)
                    """)
            }
        }

        /// Waits until the programs are at this step.
        /// - Returns: a connection that keeps others from writing, if that belongs to the step.
        private func reach(
            _ step: Step, _ round: Int, runner: Bool, after: UInt32
        ) throws -> OpaquePointer? {
            switch step {
            case .collecting: break
            case .anyTime: usleep(after)
            case .ordered:
                fixture.signalRunner(SIGSTOP)
                try wait("the messages are stored") { try self.stored().count == 3 * (round + 1) }
            case .sending, .received:
                try wait("the mail is being sent") { self.lines("begun") > self.lines("ended") }
                guard step == .received else { return nil }
                try wait("the receivers have them") {
                    self.lines("mails") > self.lines("ended")
                        && self.copies().keys.count { $0.hasPrefix("hook") } == round + 1
                }
            case .recording:
                try wait("the receivers have them") {
                    self.lines("mails") > self.lines("ended")
                        && self.copies().keys.count { $0.hasPrefix("hook") } == round + 1
                }
                let database = fixture.openDatabase()
                #expect(sqlite3_exec(database, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
                let ended = lines("ended")
                release()
                try wait("the program ends") { self.lines("ended") > ended }
                usleep(after / 8)
                return database
            }
            return nil
        }

        private func hold(_ gate: String) {
            _ = FileManager.default.createFile(
                atPath: "\(folder)/hold-\(gate)", contents: nil)
        }

        private func release() {
            for gate in ["before", "after"] { unlink("\(folder)/hold-\(gate)") }
        }

        /// Waits until all messages are sent. What failed is not left to its next time.
        private func waitUntilSent(_ round: Int) throws {
            var retried: Set<String> = []
            try wait("all is sent") {
                let failed = "SELECT id FROM message WHERE state = 'waiting' AND attempts > 0"
                for number in try self.fixture.column(failed)
                where retried.insert(number).inserted {
                    try self.fixture.run("notify", "retry", number)
                }
                let left = "SELECT id FROM message WHERE state <> 'sent'"
                return try self.stored().count == 3 * (round + 1)
                    && self.fixture.column(left).isEmpty
            }
        }

        private func stored() throws -> [String] {
            try fixture.column("SELECT id FROM message")
        }

        private func wait(_ what: String, until isSo: () throws -> Bool) throws {
            let deadline = LiveDaemon.now() + 120
            while try !isSo() {
                guard LiveDaemon.now() < deadline else {
                    Issue.record("\(what): \(fixture.daemon.log.suffix(3000))")
                    return
                }
                usleep(10_000)
            }
        }

        private func lines(_ name: String) -> Int { text(name).count }

        private func text(_ name: String) -> [Substring] {
            let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            return (text ?? "").split(separator: "\n")
        }

        /// How often each message arrived, by its identity and contents.
        private func copies() -> [String: Int] {
            var counts: [String: Int] = [:]
            for line in text("mails") { counts["mail \(line)", default: 0] += 1 }
            for request in receiver.requests {
                let body = String(decoding: request.body, as: UTF8.self)
                let number = request.header.first { $0.hasPrefix("X-Timerd-Message") } ?? ""
                let isPing = request.line.hasPrefix("POST /ping")
                let name = isPing ? "ping \(request.line)" : "hook \(number)"
                counts["\(name) \(body)", default: 0] += 1
            }
            return counts
        }

        /// There are as many identities as messages, each with one content.
        func expectLaw(rounds: Int) throws {
            let all = copies()
            #expect(all.count == 3 * rounds, "\(all)")
            let mails = text("mails").map { $0.prefix { $0 != " " } }
            #expect(Set(mails).count == rounds)
            let grouped = try fixture.column(
                "SELECT count(*) FROM notification GROUP BY message HAVING count(*) <> 1")
            #expect(grouped.isEmpty)
        }
    }
}
