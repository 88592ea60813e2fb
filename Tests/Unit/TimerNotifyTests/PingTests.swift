// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

@testable import TimerNotify

@Suite struct PingTests {
    private static let rid = "rid=4f5baed5-1d25-58ad-af24-a237f551f442"

    @Test(
        arguments: [
            (.start, nil, "/start"), (.success, .exited(0), "/0"),
            // A success of `success-exit-codes` would be a failure there, and the reverse.
            (.success, .exited(4), "/0"), (.failure, .exited(0), "/fail"),
            (.failure, .exited(3), "/3"), (.failure, .exited(255), "/255"),
            (.failure, .signalled("SIGKILL"), "/fail"), (.failure, .timedOut, "/fail"),
            (.failure, .spawnFailed(errno: "ENOENT", what: "x"), "/fail"),
            (.lost, .lost(.reboot), "/fail"), (.recovery, .exited(0), "/0"), (.late, nil, "/fail"),
            (.stale, nil, "/fail"), (.long, nil, "/log"), (.skipped, nil, "/log"),
            (.test, nil, "/log"),
        ] as [(NotificationKind, RunOutcome?, String)])
    func healthchecks(kind: NotificationKind, outcome: RunOutcome?, path: String) throws {
        var notification = try Night.notification(kind, outcome: outcome)
        notification.run = try Night.run("backup")
        let report = Report(notification, output: Array("refused\n".utf8))
        let ping = try #require(try Night.ping(.healthchecks, report))
        #expect(ping.method == "POST" && ping.path == path && ping.query == Self.rid)
        let isEnd = [.success, .failure, .recovery].contains(kind)
        #expect(isEnd == (ping.text == "refused\n"))
        #expect((kind == .start) == ping.body.isEmpty)
    }

    @Test func aFailedAttemptIsLogged() throws {
        var notification = try Night.notification(.failure)
        notification.willRetry = true
        let ping = try Night.ping(.healthchecks, Report(notification))
        #expect(ping?.path == "/log")
        #expect(ping?.text == "backup failed on web1: exit 3; it will be tried again")
        #expect(try Night.ping(.cronitor, Report(notification)) == nil)
        #expect(try Night.ping(.kuma, Report(notification)) == nil)
    }

    @Test func theBodyIsTheEndOfTheOutput() throws {
        let lines = String(repeating: "0123456\n", count: 20_000)
        let ping = try Night.ping(
            .healthchecks, Report(try Night.notification(.failure), output: Array(lines.utf8)))
        #expect(ping?.body.count == 99_992 && ping?.text.hasPrefix("0123456\n") == true)
    }

    @Test(
        arguments: [
            (
                .start, nil, "state=run&series=4f5baed5-1d25-58ad-af24-a237f551f442&host=web1"
            ),
            (
                .success, .exited(0),
                "state=complete&series=4f5baed5-1d25-58ad-af24-a237f551f442&host=web1&status_code=0"
                    + "&metric=duration%3A12.345&message=backup%20succeeded%20on%20web1%0Aa%20%26%20%C3%A9"
            ),
            (
                .failure, .exited(3),
                "state=fail&series=4f5baed5-1d25-58ad-af24-a237f551f442&host=web1&status_code=3"
                    + "&metric=duration%3A12.345"
                    + "&message=backup%20failed%20on%20web1%3A%20exit%203%0Aa%20%26%20%C3%A9"
            ),
        ] as [(NotificationKind, RunOutcome?, String)])
    func cronitor(kind: NotificationKind, outcome: RunOutcome?, query: String) throws {
        var notification = try Night.notification(kind, outcome: outcome)
        notification.run = try Night.run("backup")
        let ping = try #require(
            try Night.ping(.cronitor, Report(notification, output: Array("a & é\n".utf8))))
        #expect(ping.method == "GET" && ping.path.isEmpty && ping.body.isEmpty)
        #expect(ping.query == query)
    }

    @Test(
        arguments: [
            (.success, .exited(0), "status=up&msg=backup%20succeeded%20on%20web1&ping=12345"),
            (
                .failure, .exited(3),
                "status=down&msg=backup%20failed%20on%20web1%3A%20exit%203&ping=12345"
            ),
            (.test, nil, "status=up&msg=test%20of%20the%20notifier%20ops%20on%20web1&ping="),
            (.start, nil, nil),
        ] as [(NotificationKind, RunOutcome?, String?)])
    func kuma(kind: NotificationKind, outcome: RunOutcome?, query: String?) throws {
        let ping = try Night.ping(.kuma, Report(Night.notification(kind, outcome: outcome)))
        #expect(ping?.query == query)
    }

    /// The part of the address that this makes has no character that could end it.
    @Test func pathsAndQueriesHaveFewCharacters() throws {
        let evil = "\u{0}\n \"'\\{}é#?&=%/"
        for kind in NotificationKind.allCases {
            for format in Notifier.PingFormat.allCases {
                let report = Report(try Night.notification(kind), output: Array(evil.utf8))
                let message = try Night.message(
                    .ping(.credential("x"), format), Night.envelope(host: evil), [report])
                guard case .request(let request) = message else { continue }
                #expect(request.path.wholeMatch(of: /[\/a-z0-9-]*/) != nil)
                #expect(request.query.wholeMatch(of: /[A-Za-z0-9%&=._~-]*/) != nil)
                #expect(request.query.utf8.count < 4000)
            }
        }
    }

    @Test(arguments: [
        ("backup:20261122T020000.000000Z:1", "4f5baed5-1d25-58ad-af24-a237f551f442"),
        ("a:20261121T043852.000000Z:2", "b07538d5-6f2b-5820-911b-d6ae32a4fc29"),
    ])
    func theUUIDOfARunIsOfVersion5(run: String, uuid: String) throws {
        #expect("\(RunUUID(try #require(Run.ID(run))))" == uuid)
    }

    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (String(repeating: "a", count: 64), "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
        (String(repeating: "x", count: 119), "4300320394f7ee239bcdce7d3b8bcee173a0cd5c"),
    ])
    func sha1(text: String, hash: String) {
        let bytes = SHA1.hash(Array(text.utf8))
        #expect(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hash)
    }
}
