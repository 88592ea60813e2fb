// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

@testable import TimerNotify

@Suite struct WebhookTests {
    private func failure(output: String = "") throws -> Report {
        Report(try Night.notification(.failure, failedInARow: 1), output: Array(output.utf8))
    }

    private func object(_ request: OutgoingRequest) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
    }

    @Test func json() throws {
        var report = try failure(output: "é\u{0}\n")
        report.notification.since = Night.instant("2026-11-21T23:00:12Z")
        let request = try Night.request(.json, [report])
        #expect(request.method == "POST" && request.path.isEmpty && request.query.isEmpty)
        #expect(request.header("Content-Type") == "application/json")
        #expect(
            request.text == """
                {"created":"2026-11-22T02:00:42.000000Z","host":"web1","message":"17.660d3d8354680.3f2a9c",\
                "notifications":[{"at":"2026-11-22T02:00:12.000000Z","cpu_usec":1200000,\
                "elapsed_usec":12345000,"exit_status":3,"failed_in_a_row":1,"is_repeat":false,\
                "job":"backup","kind":"failure","outcome":"exited(3)","output":"é\\u0000\\n",\
                "output_is_cut":false,"peak_bytes":35651584,"run":"backup:20261122T020000.000000Z:1",\
                "run_uuid":"4f5baed5-1d25-58ad-af24-a237f551f442",\
                "since":"2026-11-21T23:00:12.000000Z","text":"backup failed on web1: exit status 3",\
                "will_retry":false}],"notifier":"ops","text":"backup failed on web1: exit status 3",\
                "version":1}
                """)
    }

    @Test func theLargestJSONFits() throws {
        let reports = try (0..<OutgoingMessage.notificationsMax).map {
            Report(
                try Night.notification(.failure, of: String(repeating: "x", count: 60) + "\($0)"),
                output: [UInt8](repeating: 0, count: 10_000),
                description: String(repeating: "\u{1}", count: 9000))
        }
        #expect(try Night.request(.json, reports).body.count <= OutgoingRequest.bodyMax)
        #expect(
            try Night.request(.json, Array(reports.prefix(1))).body.count
                <= OutgoingRequest.bodyMax)
    }

    @Test func slack() throws {
        let request = try Night.request(.slack, [failure(output: "<!channel> & ```x\n")])
        #expect(
            request.text == """
                {"text":"backup failed on web1: exit status 3\\n```\\n\
                Run: backup:20261122T020000.000000Z:1\\n\
                Took: 12.345s, CPU 1.200s, peak memory 34816 KiB\\n\\n\
                &lt;!channel&gt; &amp; `\u{200b}`\u{200b}`x\\n\\n\
                timerctl log backup:20261122T020000.000000Z:1\\n```"}
                """)
    }

    @Test func discord() throws {
        let request = try Night.request(.discord, [failure(output: "@everyone *x*\n")])
        #expect(
            request.text == """
                {"allowed_mentions":{"parse":[]},"content":"backup failed on web1\\\\: exit status 3\\n\
                ```\\nRun: backup:20261122T020000.000000Z:1\\n\
                Took: 12.345s, CPU 1.200s, peak memory 34816 KiB\\n\\n@everyone *x*\\n\\n\
                timerctl log backup:20261122T020000.000000Z:1\\n```","flags":4,"username":"timerd"}
                """)
    }

    /// Whatever a job writes, a chat takes the message.
    @Test(arguments: ["x", "&", "€", "😀", "`", "\u{7}", "a\n", "\n", "\u{202e}"])
    func theLargestTextFits(unit: String) throws {
        let report = try failure(output: String(repeating: unit, count: 10_000))
        let reports = [report] + (try (0..<99).map { _ in try failure() })
        for several in [[report], reports] {
            for host in ["web1", String(repeating: "_", count: 64)] {
                let envelope = try Night.envelope(host: host)
                let content = try #require(
                    try object(Night.request(.discord, several, envelope))["content"] as? String)
                #expect(content.utf16.count <= 2000 && content.utf16.count > 50)
                let text = try #require(
                    try object(Night.request(.slack, several, envelope))["text"] as? String)
                #expect(text.utf16.count <= 4000 && text.utf16.count > 50)
                #expect(text.split(separator: "```", omittingEmptySubsequences: false).count == 3)
                let ntfy = try Night.request(.ntfy, several, envelope)
                #expect(
                    ntfy.body.count <= 4000 && String(validating: ntfy.body, as: UTF8.self) != nil)
            }
        }
    }

    /// What comes from jobs, users and the name of the machine stays in its place, in every format
    /// of requests.
    @Test(arguments: [
        "a\r\nX-Evil: 1\r\n\r\nbody", "a\n\n", "\u{0}", "\u{1b}]0;title\u{7}\u{1b}[2J",
        "\u{85}\u{2028}\u{2029}",
        "\u{202e}drawkcab\u{2066}", "\u{fffd}\u{feff}\u{200f}", "=?utf-8?q?=0AX:_1?=",
        "\"}],\"x\":[{\"", "\\\"\\",
        "```\n@everyone <!channel> <@U1> <http://x|y> [a](b) ```",
        String(repeating: "x", count: 1200),
        String(repeating: "€", count: 400), "%0d%0aX: 1&status=up#?",
    ])
    func hostileTextsStayInTheirPlaces(evil: String) throws {
        for kind in NotificationKind.allCases {
            var notification = try Night.notification(kind)
            notification.skipReason = evil
            for bytes in [Array(evil.utf8), Array(evil.utf8) + [0xff, 0xc3, 0xed, 0xa0, 0x80]] {
                let report = Report(
                    notification, output: bytes, description: evil, user: evil, command: evil)
                let envelope = try Night.envelope(host: evil)
                for format in Notifier.WebhookFormat.allCases {
                    let request = try Night.request(format, [report], envelope)
                    expectCleanHeader(request)
                    #expect(request.path.isEmpty && request.query.isEmpty)
                    guard format != .ntfy else {
                        #expect(String(validating: request.body, as: UTF8.self) != nil)
                        continue
                    }
                    let members = try object(request)
                    let names = Set(members.keys)
                    switch format {
                    case .json:
                        let all = try #require(members["notifications"] as? [[String: Any]])
                        #expect(all.count == 1 && all.first?["kind"] as? String == kind.rawValue)
                        #expect(
                            all.first?["output"] as? String
                                == String(decoding: bytes, as: UTF8.self))
                    case .slack:
                        let text = try #require(members["text"] as? String)
                        #expect(names == ["text"] && !text.contains("<"))
                        #expect(text.components(separatedBy: "```").count <= 3)
                    case .discord:
                        #expect(names == ["allowed_mentions", "content", "flags", "username"])
                        let text = try #require(members["content"] as? String)
                        #expect(text.components(separatedBy: "```").count <= 3)
                    case .ntfy: break
                    }
                }
                for format in Notifier.PingFormat.allCases {
                    let transport = Notifier.Transport.ping(.credential("hook"), format)
                    if case .request(let request) = try Night.message(transport, envelope, [report])
                    {
                        expectCleanHeader(request)
                    }
                }
            }
        }
    }

    private func expectCleanHeader(_ request: OutgoingRequest) {
        for header in request.headers {
            #expect(header.value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }, "\(header)")
            // A title is encoded; servers accept lines of 8 KiB.
            #expect(header.value.utf8.count <= 4096, "\(header)")
        }
    }

    @Test func ntfy() throws {
        let request = try Night.request(
            .ntfy, [failure(output: "refused\n")], Night.envelope(host: "wéb\r\nX: y"))
        #expect(
            request.headers == [
                .init("Content-Type", "text/plain; charset=utf-8"),
                .init(
                    "Title",
                    "=?UTF-8?Q?backup_failed_on_w=C3=A9b=5Cx0d=5Cx0aX:_y:_exit_status_3?="),
                .init("Priority", "high"), .init("Tags", "rotating_light"),
                .init("X-Timerd-Message", "17"),
            ])
        #expect(
            request.text == """
                Run: backup:20261122T020000.000000Z:1
                Took: 12.345s, CPU 1.200s, peak memory 34816 KiB

                refused

                timerctl log backup:20261122T020000.000000Z:1
                """)
        let recovery = try Night.request(.ntfy, [Report(Night.notification(.recovery))])
        #expect(recovery.header("Priority") == "default")
        #expect(recovery.header("Tags") == "white_check_mark")
        #expect(recovery.header("Title") == "backup recovered on web1")
    }
}

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
        #expect(ping?.text == "backup failed on web1: exit status 3; it will be tried again")
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
                    + "&message=backup%20failed%20on%20web1%3A%20exit%20status%203%0Aa%20%26%20%C3%A9"
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
                "status=down&msg=backup%20failed%20on%20web1%3A%20exit%20status%203&ping=12345"
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

@Suite struct OutputExcerptTests {
    @Test(arguments: [
        ("a\n", "a"), ("a\n\n\n", "a"), ("", ""), ("a\r\nb\r\n", "a\nb"), ("10%\r99%\n", "99%"),
        ("\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}x\u{1b}]8;;y\u{1b}\\z\u{1b}c", "red xz"),
        ("\u{1b}[31", "\\x1b[31"), ("\u{1b}", "\\x1b"), ("\u{7}\u{202e}", "\\x07\\x202e"),
    ])
    func textMovesNoTerminal(output: String, text: String) {
        #expect(OutputExcerpt.text(Array(output.utf8)) == text)
    }

    @Test func aTailBeginsWithALine() {
        #expect(OutputExcerpt.tail(of: Array("a\nbc\nd\n".utf8), bytes: 6) == Array("bc\nd\n".utf8))
        #expect(OutputExcerpt.tail(of: Array("€€".utf8), bytes: 4) == Array("€".utf8))
        #expect(OutputExcerpt.tail(of: Array("abc".utf8), bytes: 0).isEmpty)
        #expect(OutputExcerpt.beginning(of: Array("€€€".utf8), bytes: 7) == Array("€…".utf8))
        #expect(OutputExcerpt.beginning(of: Array("€€€".utf8), bytes: 8) == Array("€…".utf8))
    }
}
