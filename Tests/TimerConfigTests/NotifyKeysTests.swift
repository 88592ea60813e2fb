// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The tables `[notify.NAME]`, and the keys of jobs about telling people.
@Suite struct NotifyKeysTests {
    private func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "t.toml")
    }

    private func notifier(_ keys: String) throws -> Notifier {
        let reading = try read("[notify.ops]\n\(keys)\n")
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        return try #require(reading.jobSet.notifiers.first)
    }

    @Test func aMailHasDefaults() throws {
        let ops = try notifier("mail = \"root\"")
        #expect(ops.name.description == "ops")
        #expect(ops.transport == .mail(to: ["root"], from: nil, contentType: nil))
        #expect(ops.on == [.failure, .recovery, .late, .long, .stale, .pausedLong])
        #expect(ops.after == 1 && ops.repeatInterval == nil)
        #expect(ops.batch == .seconds(30) && ops.perHour == 20)
    }

    @Test func everyKeyIsRead() throws {
        let ops = try notifier(
            """
            mail = ["root", "ops@example.org"]
            mail-from = "timerd@example.org"
            mail-content-type = "text/html"
            sendmail = "/usr/bin/msmtp"
            on = ["failure", "output"]
            after = 3
            repeat = "24h"
            batch = "0s"
            per-hour = 5
            """)
        #expect(
            ops.transport
                == .mail(
                    to: ["root", "ops@example.org"], from: "timerd@example.org",
                    contentType: "text/html"))
        #expect(ops.on == [.failure, .output] && ops.after == 3)
        #expect(ops.sendmail == "/usr/bin/msmtp")
        #expect(ops.repeatInterval == .seconds(86_400) && ops.batch == .zero && ops.perHour == 5)
    }

    @Test(arguments: [
        "http://proxy.example.org:3128", "https://[::1]:8080/", "socks5h://127.0.0.1",
    ])
    func aProxyIsRead(url: String) throws {
        #expect(try notifier("ping = \"https://a.b/c\"\nproxy = \"\(url)\"").proxy == url)
    }

    @Test(
        arguments: [
            (
                "webhook = \"https://a.example/x?y=1\"",
                .webhook(.url("https://a.example/x?y=1"), .json)
            ),
            (
                "webhook = \"http://127.0.0.1:80/\"\nformat = \"ntfy\"",
                .webhook(.url("http://127.0.0.1:80/"), .ntfy)
            ),
            (
                "webhook = \"http://[::1]/\"\nformat = \"discord\"",
                .webhook(.url("http://[::1]/"), .discord)
            ),
            (
                "ping = \"https://hc-ping.com/1\"",
                .ping(.url("https://hc-ping.com/1"), .healthchecks)
            ),
            (
                "ping = \"http://localhost:8000/1\"\nformat = \"kuma\"",
                .ping(.url("http://localhost:8000/1"), .kuma)
            ),
            (
                "url-credential = \"s\"\nformat = \"slack\"",
                .webhook(.credential("s"), .slack)
            ),
            (
                "url-credential = \"s\"\nformat = \"cronitor\"",
                .ping(.credential("s"), .cronitor)
            ),
        ] as [(String, Notifier.Transport)])
    func transports(keys: String, transport: Notifier.Transport) throws {
        let ops = try notifier(keys)
        #expect(ops.transport == transport)
        #expect(ops.on == transport.standardKinds)
        #expect(ops.batch == (transport.isPing ? .zero : .seconds(30)))
    }

    @Test func aJobNamesNotifiersOfAnyTable_andItsLimits() throws {
        let reading = try read(
            """
            [defaults]
            notify = ["ops"]
            [job.a]
            shell = "true"
            every = "1h"
            notify = ["ops", "hc"]
            late-after = "15min"
            long-after = "2h"
            stale-after = "26h"
            paused-after = "none"
            [job.tell]
            shell = "true"
            every = "1h"
            notify = []
            [job.b]
            shell = "true"
            every = "1h"
            [notify.ops]
            job = "tell"
            [notify.hc]
            ping = "https://hc-ping.com/1"
            """)
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        let jobs = reading.jobSet.jobs
        #expect(jobs.map { $0.policy.notify.map(\.description) } == [["ops", "hc"], [], ["ops"]])
        #expect(jobs[0].policy.lateAfter == .seconds(900))
        #expect(jobs[0].policy.longAfter == .seconds(7200))
        #expect(jobs[0].policy.staleAfter == .seconds(93_600))
        #expect(jobs[0].policy.pausedAfter == nil)
        #expect(reading.jobSet.notifiers.map(\.name.description) == ["ops", "hc"])
        #expect(reading.settingsFiles == ["t.toml"])
    }

    private static let job = "[job.a]\nshell = \"true\"\nevery = \"1h\"\n"

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
            ("[notify.x]\nmail = \"\"", "2:8: notifier \"x\": mail: \"\" is no address"),
            ("[notify.x]\nmail = \"-oX\"", "2:8: notifier \"x\": mail: \"-oX\" is no address"),
            (
                "[notify.x]\nmail = \"a@b, c@d\"",
                "2:8: notifier \"x\": mail: \"a@b, c@d\" is no address"
            ),
            (
                "[notify.x]\nmail = \"a\\nBcc: b\"",
                "2:8: notifier \"x\": mail: \"a\\nBcc: b\" is no address"
            ),
            ("[notify.x]\nmail = []", "2:8: notifier \"x\": mail: must have at least one address"),
            (
                "[notify.x]\nmail-from = \"a@@b\"\nmail = \"a\"",
                "2:13: notifier \"x\": mail-from: \"a@@b\" is no address"
            ),
            (
                "[notify.x]\nmail-content-type = \"html\"\nmail = \"a\"",
                "2:21: notifier \"x\": mail-content-type: \"html\" is no type"
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
            ("[notify.x]\nwebhook = \"ftp://a/\"", "2:11: notifier \"x\": webhook: is no URL"),
            ("[notify.x]\nwebhook = \"https:///x\"", "2:11: notifier \"x\": webhook: is no URL"),
            (
                "[notify.x]\nwebhook = \"https://a/\\\"\"",
                "2:11: notifier \"x\": webhook: is no URL"
            ),
            ("[notify.x]\nwebhook = \"https://a/\\n\"", "2:11: notifier \"x\": webhook: is no URL"),
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
                "3:10: notifier \"x\": format goes with webhook"
            ),
            (
                "[notify.x]\nurl-credential = \"a\"",
                "1:9: notifier \"x\": url-credential needs format, one of json"
            ),
            (
                "[notify.x]\nurl-credential = \"../a\"\nformat = \"json\"",
                "2:18: notifier \"x\": url-credential: \"../a\" is no name of a credential"
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
                "3:9: notifier \"x\": batch goes with mail and webhook alone"
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
                "3:10: notifier \"x\": repeat: is shorter than 1min"
            ),
            (
                "[notify.x]\nmail = \"a\"\nbatch = \"61min\"",
                "3:9: notifier \"x\": batch: is longer than 1h"
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
                "3:12: notifier \"x\": sendmail: \"msmtp\" is no absolute path"
            ),
            (
                "[notify.x]\nmail = \"jürgen@example.org\"",
                "2:8: notifier \"x\": mail: \"jürgen@example.org\" is not ASCII"
            ),
            (
                "[notify.x]\nmail = \"a\"\nproxy = \"http://p:1\"",
                "3:9: notifier \"x\": proxy goes with webhook, ping and url-credential alone"
            ),
            (
                "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"http://u:p@p:1\"",
                "3:9: notifier \"x\": proxy: must have no user and no password"
            ),
            (
                "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"proxy:1\"",
                "3:9: notifier \"x\": proxy: is no address such as"
            ),
            (
                "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"http://p:1/x\\\"y\"",
                "3:9: notifier \"x\": proxy: is no address such as"
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
            ("\(job)late-after = \"1ms\"", "4:14: job \"a\": late-after: is shorter than 1s"),
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
