// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// What `timerctl show` says of the definition of a job.
@Suite struct JobSettingsTests {
    private let folder = ConfigFolder()

    /// Another value than the built-in one of each key, with what is shown of it.
    private static let values: [(key: String, toml: String, shown: String)] = [
        ("description", "\"copies\"", "copies"), ("timezone", "\"UTC\"", ""),
        ("dst-gap", "\"skip\"", "skip"), ("dst-overlap", "\"both\"", "both"),
        ("count", "\"wall\"", "wall"), ("from", "\"end\"", "end"), ("first", "\"90s\"", "90s"),
        ("paused", "true", "true"), ("environment", "{ B = \"secret\", A = \"\" }", "A, B"),
        ("pass-environment", "[\"Y\", \"X\"]", "X, Y"),
        ("run-environment", "[\"RUN_A\"]", "RUN_A"), ("run-environment-any", "[\"ANY\"]", "ANY"),
        ("run-arguments", "[\"b\", \"a\"]", "b, a"), ("working-directory", "\"/srv\"", "/srv"),
        ("run-duration-histogram", "true", "true"), ("renamed-from", "\"older\"", "older"),
        ("except", "[\"off\"]", "off"), ("only-on", "[\"off\"]", "off"),
        ("every-nth", "2", "2"), ("counted-from", "\"2026-11-02\"", ""),
        ("max-runs", "7", "7"), ("max-successes", "8", "8"),
        ("on-missed", "\"skip\"", "skip"), ("starting-deadline", "\"1h\"", "1h"),
        ("on-resume", "\"restart\"", "restart"), ("concurrency", "\"allow\"", "allow"),
        ("concurrency-max", "3", "3"), ("start-durability", "\"relaxed\"", "relaxed"),
        ("history-runs", "50", "50"), ("accuracy", "\"1min\"", "1min"),
        ("random-delay", "\"2min\"", "2min"), ("catch-up-delay", "\"3min\"", "3min"),
        ("random-offset", "\"4min\"", "4min"), ("retries", "5", "5"),
        ("retry-delay", "\"1s\"", "1s"), ("retry-backoff", "1.5", "1.5"),
        ("retry-max-delay", "\"20min\"", "20min"),
        ("slots", "[\"disk\", { name = \"net\", weight = 2 }]", "disk, net (2)"),
        ("on-busy-slot", "\"skip\"", "skip"), ("notify", "[\"ops\"]", "ops"),
        ("late-after", "\"6min\"", "6min"), ("long-after", "\"7min\"", "7min"),
        ("stale-after", "\"2d\"", "2d"), ("paused-after", "\"1d\"", "1d"),
        ("timeout", "\"2h\"", "2h"), ("kill-timeout", "\"5s\"", "5s"),
        ("kill-leftovers", "false", "false"), ("user", "\"root\"", "root"),
        ("group", "\"root\"", "root"), ("pam-service", "\"cron\"", "cron"),
        ("environment-file", "\"-/etc/x\"", "-/etc/x"), ("umask", "\"027\"", "0027"),
        ("nice", "-3", "-3"), ("timer-slack-ns", "1", "1"), ("io-class", "\"idle\"", "idle"),
        ("io-priority", "1", "1"), ("cpu-policy", "\"fifo\"", "fifo"), ("cpu-priority", "2", "2"),
        ("oom-score", "100", "100"), ("stdin", "\"secret\"", "6 bytes"),
        ("limits", "{ nofile = 9, core = \"infinity\" }", "core infinity, nofile 9"),
        ("credentials", "{ key = \"/etc/key\" }", "key /etc/key"),
        ("no-new-privileges", "true", "true"), ("capabilities", "[\"CAP_CHOWN\"]", "CAP_CHOWN"),
        ("apparmor-profile", "\"-usr\"", "-usr"), ("selinux-context", "\"-a:b:c\"", "-a:b:c"),
        ("success-exit-codes", "[3, 0]", "0, 3"), ("success-signals", "[\"SIGINT\"]", "SIGINT"),
        ("skip-exit-codes", "75", "75"), ("log", "\"none\"", "none"),
        ("log-rate-limit-interval", "\"1min\"", "1min"), ("log-rate-limit-burst", "5", "5"),
        ("output-tail", "\"1KiB\"", "1KiB"), ("fleet", "\"one\"", "one"),
        ("on", "[\"b\", \"a\"]", "a, b"),
        ("prefer", "[\"n2\", \"n1\"]", "n2, n1"), ("takeover-delay", "\"9s\"", "9s"),
        ("on-lost", "\"retry\"", "retry"), ("on-isolation", "\"stop\"", "stop"),
        ("on-fleet-away", "\"skip\"", "skip"),
    ]

    /// What a key needs beside it.
    private static let companions = [
        "dst-gap": calendar, "dst-overlap": calendar, "timezone": calendar, "except": calendar,
        "only-on": calendar, "every-nth": calendar + "counted-from = \"2026-11-02\"\n",
        "counted-from": calendar + "every-nth = 2\n",
        "concurrency-max": "concurrency = \"allow\"\n",
        "io-priority": "io-class = \"realtime\"\n", "cpu-priority": "cpu-policy = \"rr\"\n",
        "random-offset": calendar, "retry-delay": "retries = 1\n", "retry-backoff": "retries = 1\n",
        "retry-max-delay": "retries = 1\n", "on": "fleet = \"one\"\n",
        "prefer": "fleet = \"one\"\n",
        "takeover-delay": "fleet = \"one\"\n", "on-lost": "fleet = \"one\"\n",
        "on-isolation": "fleet = \"one\"\n", "on-fleet-away": "fleet = \"one\"\n",
        "late-after": notify, "long-after": notify, "stale-after": notify, "paused-after": notify,
        "on-busy-slot": "slots = [\"disk\"]\n",
    ]
    private static let calendar = "calendar = \"Mon 02:30\"\n"
    private static let notify = "notify = [\"ops\"]\n"
    /// Keys that are a member of their own in the API: what they say is known in another form.
    private static let members: Set = [
        "instances", "command", "shell", "every", "after", "on-boot", "calendar", "cron", "at",
        "on-demand", "follows", "condition", "window", "outside-window", "stop-at-window-end",
        "not-before", "not-after",
    ]

    private func job(_ lines: String) throws -> Job {
        try folder.replace(with: [
            "main": """
            [fleet]
            etcd = ["http://[::1]:1"]
            name = "f"
            [slot.disk]
            max = 4
            [slot.net]
            max = 4
            [notify.ops]
            webhook = "https://example.org/"
            [dates.off]
            dates = ["2026-12-25"]
            [job.it]
            command = ["true"]
            \(lines)
            """
        ])
        let reading = try ConfigReader.load(path: folder.main, ownerUID: geteuid())
        #expect(reading.errors.isEmpty, "\(lines)\n\(reading.errors)")
        return try #require(reading.jobSet.jobs.first)
    }

    @Test func eachKeyIsShownOrHasAMemberOfItsOwn() throws {
        let shown = Set(Self.values.map(\.key))
        #expect(shown.isDisjoint(with: Self.members))
        #expect(shown.union(Self.members) == Set(JobKey.all.map(\.name)))
        for (key, toml, text) in Self.values {
            let others = Self.companions[key] ?? ""
            let schedule = others.contains(Self.calendar) ? "" : "every = \"1h\"\n"
            let settings = try job("\(schedule)\(others)\(key) = \(toml)").settings
            // The zone and the first date are members of the schedule.
            #expect(settings[key] == (text.isEmpty ? nil : text), "\(key)")
            #expect(!settings.values.contains { $0.contains("secret") })
        }
    }

    @Test func builtInValuesAreNotShown() throws {
        #expect(try job("every = \"1h\"\nretries = 0\nslots = []\nnice = 0").settings == [:])
        #expect(try job("calendar = \"daily\"").settings == [:])
    }

    @Test func theFirstLineOfEachJobInUseIsKnown() throws {
        func text(_ job: String, before count: Int) -> String {
            String(repeating: "\n", count: count)
                + "[job.\(job)]\ncommand = [\"true\"]\nevery = \"1h\"\n"
        }
        try folder.replace(with: [
            "main": text("m", before: 2) + text("n", before: 0), "1": text("a", before: 0),
            "2": text("b", before: 4),
        ])
        func load() throws -> ConfigReading {
            try ConfigReader.load(path: folder.main, ownerUID: geteuid())
        }
        func place(_ job: String, _ origins: ConfigOrigins) throws -> String? {
            origins.place(of: try #require(Job.Name(job))).map {
                "\($0.file.split(separator: "/").last ?? ""):\($0.line)"
            }
        }
        let before = ConfigOrigins(of: try load())
        #expect(try place("m", before) == "timerd.toml:3" && place("n", before) == "timerd.toml:6")
        #expect(try place("a", before) == "1.toml:1" && place("b", before) == "2.toml:5")
        #expect(try place("x", before) == nil)
        // The jobs of a refused file are where they were, and a job that it takes over is nowhere.
        try folder.replace(with: [
            "main": text("m", before: 0), "1": "[!\n",
            "2": text("b", before: 0) + text("c", before: 0),
        ])
        let after = try #require(try load().part(over: before)).origins
        #expect(try place("m", after) == "timerd.toml:1" && place("b", after) == "2.toml:1")
        #expect(try place("a", after) == "1.toml:1" && place("c", after) == "2.toml:4")
        #expect(try place("n", after) == nil)
    }
}
