// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import WebReceiver

/// The outbox of the real programs with a real receiver: both programs are killed while messages are
/// being sent. `TIMERD_KILLS=50` kills more often.
@Suite(
    .ownThreads, .serialized, .enabled(if: access("/usr/bin/curl", X_OK) == 0))
struct NotificationTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["TIMERD_KILLS"].flatMap { Int($0) } ?? 8
    private static let secret = "T0pS3cretPath"

    private static let jobs = """
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
        """

    private static func address(_ receiver: WebReceiver) -> String {
        "http://127.0.0.1:\(receiver.port)/\(secret)\n"
    }

    @Test func noAttemptIsMadeTwice_ifOnlyTheSchedulerIsKilled() throws {
        var random = SeededRandom()
        let receiver = WebReceiver()
        defer { receiver.stop() }
        let fixture = try NotificationFixture(Self.jobs, credential: Self.address(receiver))
        try fixture.start()
        try fixture.kill(SIGTERM)
        var written = 0
        for round in 0..<Self.rounds {
            // The rows are those that the scheduler would have written when runs ended.
            written += try fixture.insert(1 + random.int(below: 4))
            let pause = UInt32(random.int(below: 60_000))
            receiver.answer { request in
                usleep(pause)
                // Some must be sent again.
                return .status(request.body.count % 5 == round % 5 ? 503 : 200)
            }
            try fixture.start()
            usleep(UInt32(random.int(below: 300_000)))
            try fixture.kill(SIGKILL)
        }
        receiver.answer { _ in .status(200) }
        try fixture.start()
        #expect(receiver.wait { Self.accepted($0).count >= written })
        // While the runner is away, and when the next one comes.
        try fixture.kill(SIGTERM)
        written += try fixture.insert(20)
        try fixture.start()
        #expect(receiver.wait { Self.accepted($0).count > written - 20 })
        try fixture.restartRunner()
        #expect(receiver.wait { Self.accepted($0).count >= written })
        try fixture.waitUntilSent()
        let numbers = try fixture.column("SELECT id FROM message WHERE state = 'sent'")
        #expect(Set(numbers) == Set(Self.accepted(receiver.requests).keys))
        #expect(numbers.count == written)
        // Attempts that a restarted scheduler requests again are not made again: each attempt of
        // each message was received once, except those of the runner that was killed.
        let attempts = try fixture.column("SELECT attempts FROM message").compactMap { Int($0) }
        #expect(receiver.requests.count <= attempts.reduce(0, +) + 4)
        try fixture.expectNoSecret(Self.secret)
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
        let fixture = try NotificationFixture(Self.jobs, credential: Self.address(receiver))
        try fixture.start()
        try fixture.kill(SIGTERM)
        _ = try fixture.insert(3)
        try fixture.start()
        #expect(receiver.wait { !$0.isEmpty })
        let began = LiveDaemon.now()
        try fixture.kill(SIGTERM)
        // The time limit of a message is a minute.
        #expect(LiveDaemon.now() - began < 30)
        receiver.answer { _ in .status(200) }
        try fixture.start()
        #expect(receiver.wait { Self.accepted($0).count == 3 })
        try fixture.waitUntilSent()
    }
}
