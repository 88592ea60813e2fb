// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The tables `[notify.NAME]`, and the keys of jobs about telling people.
@Suite struct NotifyKeysTests {
    func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "t.toml")
    }

    func notifier(_ keys: String) throws -> Notifier {
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

    static let job = "[job.a]\nshell = \"true\"\nevery = \"1h\"\n"
}
