// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// What is refused in the tables of notifiers.
extension NotifyKeysTests {
    @Test(
        arguments: [
            (
                "[notify.x]\n",
                "1:9: notifier \"x\": one of mail, webhook, ping, job or url-credential is missing"
            ),
            (
                "[notify.x]\nmail = \"a\"\nping = \"https://a/\"",
                "1:9: notifier \"x\": mail and ping exclude each other; keep one"
            ),
            (
                "[notify.\"a b\"]\nmail = \"a\"",
                "1:9: notifier \"a b\": the name of a notifier has only"
            ),
            ("[notify]\nx = 1", "2:5: notifier \"x\": must be a table, [notify.x], not an integer"),
            ("notify = 1", "1:10: notify: must be a table, [notify], not an integer"),
            (
                "[notify.x]\nmails = 1\nmail = \"a\"",
                "2:1: notifier \"x\": unknown key \"mails\" (did you mean \"mail\"?)"
            ),
            ("[notify.x]\nmail = \"\"", "2:8: notifier \"x\": mail: is not an address"),
            ("[notify.x]\nmail = \"-oX\"", "2:8: notifier \"x\": mail: is not an address"),
            (
                "[notify.x]\nmail = \"a@b, c@d\"",
                "2:8: notifier \"x\": mail: is not an address"
            ),
            (
                "[notify.x]\nmail = \"a\\nBcc: b\"",
                "2:8: notifier \"x\": mail: is not an address"
            ),
            ("[notify.x]\nmail = []", "2:8: notifier \"x\": mail: must have at least one address"),
            (
                "[notify.x]\nmail-from = \"a@@b\"\nmail = \"a\"",
                "2:13: notifier \"x\": mail-from: is not an address"
            ),
            (
                "[notify.x]\nmail-content-type = \"html\"\nmail = \"a\"",
                "2:21: notifier \"x\": mail-content-type: is not a media type"
            ),
            (
                "[notify.x]\nwebhook = \"http://a.example/\"",
                "2:11: notifier \"x\": webhook: http:// is only for this machine"
            ),
            (
                "[notify.x]\nwebhook = \"http://127.0.0.1.evil.example/\"",
                "2:11: notifier \"x\": webhook: http:// is only for"
            ),
            (
                "[notify.x]\nwebhook = \"http://localhost@evil.example/\"",
                "2:11: notifier \"x\": webhook: http:// is only for"
            ),
            ("[notify.x]\nwebhook = \"ftp://a/\"", "2:11: notifier \"x\": webhook: is not a URL"),
            ("[notify.x]\nwebhook = \"https:///x\"", "2:11: notifier \"x\": webhook: is not a URL"),
            (
                "[notify.x]\nwebhook = \"https://a/\\\"\"",
                "2:11: notifier \"x\": webhook: is not a URL"
            ),
            (
                "[notify.x]\nwebhook = \"https://a/\\n\"",
                "2:11: notifier \"x\": webhook: is not a URL"
            ),
            (
                "[notify.x]\nwebhook = \"https://a/\"\nformat = \"kuma\"",
                "3:10: notifier \"x\": \"kuma\" is a format of pings"
            ),
            (
                "[notify.x]\nping = \"https://a/\"\nformat = \"json\"",
                "3:10: notifier \"x\": \"json\" is a format of webhooks"
            ),
            (
                "[notify.x]\nmail = \"a\"\nformat = \"json\"",
                "3:10: notifier \"x\": format can only be used with webhook"
            ),
            (
                "[notify.x]\nurl-credential = \"a\"",
                "1:9: notifier \"x\": url-credential needs format, one of json"
            ),
            (
                "[notify.x]\nurl-credential = \"../a\"\nformat = \"json\"",
                "2:18: notifier \"x\": url-credential: this is not a valid credential name"
            ),
            (
                "[notify.x]\nping = \"https://a/\"\nafter = 2",
                "3:9: notifier \"x\": after does not go with a ping"
            ),
            (
                "[notify.x]\nping = \"https://a/\"\non = [\"late\"]",
                "3:6: notifier \"x\": a ping cannot tell \"late\""
            ),
            (
                "[notify.x]\nping = \"https://a/\"\nbatch = \"1s\"",
                "3:9: notifier \"x\": batch can only be used with mail and webhook"
            ),
            (
                "[notify.x]\nmail = \"a\"\non = [\"test\"]",
                "3:7: notifier \"x\": on: unknown value \"test\""
            ),
            (
                "[notify.x]\nmail = \"a\"\non = []",
                "3:6: notifier \"x\": on: must have at least one word"
            ),
            (
                "[notify.x]\nmail = \"a\"\nafter = 0",
                "3:9: notifier \"x\": after: 0 is out of range"
            ),
            (
                "[notify.x]\nmail = \"a\"\nrepeat = \"59s\"",
                "3:10: notifier \"x\": repeat: is shorter than 1 min"
            ),
            (
                "[notify.x]\nmail = \"a\"\nbatch = \"61min\"",
                "3:9: notifier \"x\": batch: is longer than 1 h"
            ),
            (
                "[notify.x]\nmail = \"a\"\nper-hour = 0",
                "3:12: notifier \"x\": per-hour: 0 is out of range"
            ),
            (
                "[notify.x]\nmail = \"a\"\nmail-from = 1",
                "3:13: notifier \"x\": mail-from: must be a string"
            ),
            (
                "[notify.x]\njob = \"b\"\nmail-from = \"a\"\n\(job)",
                "3:13: notifier \"x\": mail-from, mail-content-type and sendmail go with mail alone"
            ),
            (
                "[notify.x]\nmail = \"a\"\nsendmail = \"msmtp\"",
                "3:12: notifier \"x\": sendmail: is not an absolute path"
            ),
            (
                "[notify.x]\nmail = \"jürgen@example.org\"",
                "2:8: notifier \"x\": mail: is not ASCII"
            ),
            (
                "[notify.x]\nmail = \"a\"\nproxy = \"http://p:1\"",
                "3:9: notifier \"x\": proxy can only be used with webhook, ping and url-credential"
            ),
            (
                "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"http://u:p@p:1\"",
                "3:9: notifier \"x\": proxy: must have no user and no password"
            ),
            (
                "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"proxy:1\"",
                "3:9: notifier \"x\": proxy: is not an address such as"
            ),
            (
                "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"http://p:1/x\\\"y\"",
                "3:9: notifier \"x\": proxy: is not an address such as"
            ),
            (
                "[notify.x]\njob = \"aa\"\n\(job)",
                "1:9: notifier \"x\": job: there is no job \"aa\""
            ),
            (
                "\(job)notify = [\"opps\"]\n[notify.ops]\nmail = \"a\"",
                "4:10: job \"a\": notify: there is no table [notify.opps] (did you mean \"ops\"?)"
            ),
            (
                "\(job)notify = [\"x\", \"x\"]\n[notify.x]\nmail = \"a\"",
                "4:16: job \"a\": notify: \"x\" is there twice"
            ),
            (
                "\(job)notify = \"x\"\n[notify.x]\nmail = \"a\"",
                "4:10: job \"a\": notify: must be an array"
            ),
            (
                "\(job)notify = [\"x\"]\n[notify.x]\njob = \"a\"",
                "4:10: job \"a\": notify: the notifier \"x\" runs this job, so \"x\""
            ),
            ("\(job)late-after = \"1ms\"", "4:14: job \"a\": late-after: is shorter than 1 s"),
        ])
    func whatIsWrongIsTold_withItsPlace(text: String, fault: String) throws {
        let errors = try read(text).errors.map(\.description)
        #expect(errors.count == 1, "\(errors)")
        #expect(errors.first?.hasPrefix("t.toml:\(fault)") == true, "\(errors)")
    }

    @Test func twoJobsThatTellByEachOtherAreRefused() throws {
        let reading = try read(
            """
            [job.a]
            shell = "true"
            every = "1h"
            notify = ["b"]
            [job.b]
            shell = "true"
            every = "1h"
            notify = ["a"]
            [notify.a]
            job = "a"
            [notify.b]
            job = "b"
            """)
        #expect(reading.errors.count == 2 && reading.jobSet.jobs.isEmpty)
    }

    @Test func aHundredNotifiersAreTheMost() throws {
        func text(_ count: Int) -> String {
            (1...count).map { "[notify.n\($0)]\nmail = \"root\"\n" }.joined()
        }
        #expect(try read(text(100)).errors.isEmpty)
        let over = try read(text(101)).errors.map(\.description)
        #expect(over.count == 1 && over[0].contains("at most 100 notifiers"), "\(over)")
    }
}
