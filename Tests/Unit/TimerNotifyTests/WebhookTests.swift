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
                "since":"2026-11-21T23:00:12.000000Z","text":"backup failed on web1: exit 3",\
                "will_retry":false}],"notifier":"ops","text":"backup failed on web1: exit 3",\
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
                {"text":"backup failed on web1: exit 3\\n```\\n\
                Run: backup:20261122T020000.000000Z:1\\n\
                Took: 12.345 s, CPU 1.200 s, peak memory 34816 KiB\\n\\n\
                &lt;!channel&gt; &amp; `\u{200b}`\u{200b}`x\\n\\n\
                timerctl log backup:20261122T020000.000000Z:1\\n```"}
                """)
    }

    @Test func discord() throws {
        let request = try Night.request(.discord, [failure(output: "@everyone *x*\n")])
        #expect(
            request.text == """
                {"allowed_mentions":{"parse":[]},"content":"backup failed on web1\\\\: exit 3\\n\
                ```\\nRun: backup:20261122T020000.000000Z:1\\n\
                Took: 12.345 s, CPU 1.200 s, peak memory 34816 KiB\\n\\n@everyone *x*\\n\\n\
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
                    "=?UTF-8?Q?backup_failed_on_w=C3=A9b=5Cx0d=5Cx0aX:_y:_exit_3?="),
                .init("Priority", "high"), .init("Tags", "rotating_light"),
                .init("X-Timerd-Message", "17"),
            ])
        #expect(
            request.text == """
                Run: backup:20261122T020000.000000Z:1
                Took: 12.345 s, CPU 1.200 s, peak memory 34816 KiB

                refused

                timerctl log backup:20261122T020000.000000Z:1
                """)
        let recovery = try Night.request(.ntfy, [Report(Night.notification(.recovery))])
        #expect(recovery.header("Priority") == "default")
        #expect(recovery.header("Tags") == "white_check_mark")
        #expect(recovery.header("Title") == "backup recovered on web1")
    }
}
