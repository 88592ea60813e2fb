// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

/// Units by the names of their files; drop-ins have names such as `a.timer.d/x.conf`.
struct Units {
    var files: [String: String]
    var masked: Set<String> = []

    func load(_ name: UnitName) -> SystemdImport.Loaded {
        if masked.contains(name.description) { return .masked(path: "/etc/\(name)") }
        let file = [name, name.template].compactMap { $0 }.first { files["\($0)"] != nil }
        guard let file else { return .missing(searched: "/etc") }
        var paths = [file.description]
        for directory in name.dropInDirectories {
            paths += files.keys.filter { $0.hasPrefix("\(directory)/") }.sorted()
        }
        return .files(
            paths.map { UnitFile(path: "/etc/\($0)", bytes: Array((files[$0] ?? "").utf8)) },
            isEnabled: nil)
    }

    func imported(
        _ names: String..., instance: String? = nil, isLikeSystemd: Bool = false,
        _ change: (inout SystemdImport.Options) -> Void = { _ in }
    ) throws -> ImportResult {
        var options = SystemdImport.Options()
        options.instance = instance
        options.isLikeSystemd = isLikeSystemd
        options.hasZone = { $0 != "Nowhere/Here" }
        change(&options)
        let units = try names.map { try #require(UnitName($0)) }
        return SystemdImport(units, options: options, load: load).result
    }

    /// A timer with these lines, and a service that runs a program.
    static func timer(_ lines: String, service: String = "ExecStart=/bin/true") throws
        -> ImportResult
    {
        try Units(files: [
            "a.timer": "[Timer]\n\(lines)\n", "a.service": "[Service]\nType=oneshot\n\(service)\n",
        ]).imported("a.timer")
    }

    /// A service with these lines.
    static func service(_ lines: String, unit: String = "") throws -> ImportResult {
        try Units(files: [
            "a.timer": "[Timer]\nOnCalendar=daily\nPersistent=true\n",
            "a.service":
                "\(unit.isEmpty ? "" : "[Unit]\n\(unit)\n")[Service]\nType=oneshot\n\(lines)\n",
        ]).imported("a.timer")
    }
}

extension ImportResult {
    /// The keys of a job as `key = value`.
    func keys(of index: Int = 0) -> [String] {
        guard jobs.indices.contains(index) else { return [] }
        return jobs[index].keys.map { "\($0.key) = \($0.value)" }
    }

    /// The errors that timerd finds in the configuration.
    func faults() throws -> [String] {
        try ConfigReader.read(Array(toml(title: "x").utf8), file: "x.toml").errors.map {
            "\($0.message)"
        }
    }

    /// What became of the line that begins with this text.
    func outcome(_ start: String) -> ImportReport.Outcome? {
        report.entries.first { $0.text.hasPrefix(start) }?.outcome
    }
}

/// Each row of the table of the guide from systemd timers.
@Suite struct TimerTranslationTests {
    @Test(arguments: [
        (
            "OnCalendar=daily\nPersistent=true",
            ["calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"run-once\""]
        ),
        (
            "OnCalendar=daily",
            ["calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"skip\""]
        ),
        (
            "OnCalendar=Mon 1:00\nOnCalendar=Tue 2:00\nPersistent=yes",
            [
                "calendar = [\"Mon 1:00\", \"Tue 2:00\"]", "dst-gap = \"skip\"",
                "on-missed = \"run-once\"",
            ]
        ),
        (
            "OnUnitActiveSec=1d\nOnBootSec=15min",
            ["every = \"1d\"", "first = \"15min\"", "count = \"uptime\""]
        ),
        (
            "OnUnitActiveSec=90\nOnActiveSec=0",
            ["every = \"1min 30s\"", "first = \"0s\"", "count = \"uptime\""]
        ),
        (
            "OnUnitInactiveSec=1h\nOnStartupSec=5m",
            ["every = \"1h\"", "from = \"end\"", "first = \"5min\"", "count = \"uptime\""]
        ),
        ("OnBootSec=2min", ["on-boot = \"2min\""]), ("OnStartupSec=30", ["on-boot = \"30s\""]),
        ("OnActiveSec=1min", ["after = \"1min\"", "count = \"uptime\""]),
        (
            "OnUnitActiveSec=1h\nOnActiveSec=1min\nWakeSystem=true",
            ["every = \"1h\"", "first = \"1min\"", "count = \"boottime\""]
        ),
        (
            "OnCalendar=daily\nPersistent=true\nRandomizedDelaySec=1h\nAccuracySec=1us",
            [
                "calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"run-once\"",
                "catch-up-delay = \"1h\"", "accuracy = \"1us\"", "random-delay = \"1h\"",
            ]
        ),
        (
            "OnCalendar=daily\nPersistent=true\nRandomizedDelaySec=1h\nFixedRandomDelay=true",
            [
                "calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"run-once\"",
                "catch-up-delay = \"1h\"", "random-offset = \"1h\"",
            ]
        ),
        (
            "OnCalendar=daily\nPersistent=true\nRandomizedOffsetSec=5min",
            [
                "calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"run-once\"",
                "random-offset = \"5min\"",
            ]
        ),
        (
            "OnCalendar=hourly\nOnCalendar=\nOnCalendar=daily\nPersistent=true",
            ["calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"run-once\""]
        ),
        (
            "OnBootSec=5min\nOnCalendar=\nOnCalendar=weekly\nPersistent=1",
            ["calendar = \"weekly\"", "dst-gap = \"skip\"", "on-missed = \"run-once\""]
        ),
    ])
    func schedules(lines: String, keys: [String]) throws {
        let result = try Units.timer(lines)
        let expected =
            ["command = [\"/bin/true\"]"] + keys
            + ["working-directory = \"/\"", "kill-timeout = \"1min 30s\""]
        #expect(result.keys() == expected)
    }

    @Test(arguments: [
        ("*:0/5", ["dst-overlap"]), ("12:00", ["dst-gap"]), ("12:00 UTC", []),
        ("daily Europe/Berlin", ["dst-gap"]),
        ("daily\nOnCalendar=hourly", ["dst-gap", "dst-overlap"]),
    ])
    func clockChangesAreThoseOfSystemd(event: String, keys: [String]) throws {
        let job = try #require(try Units.timer("OnCalendar=\(event)").jobs.first)
        #expect(job.keys.map(\.key).filter { $0.hasPrefix("dst-") } == keys)
    }

    @Test func eachKindOfScheduleIsAJob() throws {
        let result = try Units.timer(
            "OnCalendar=daily\nPersistent=true\nOnBootSec=5min\nOnBootSec=10min")
        #expect(result.jobs.map(\.name.description) == ["a", "a-boot", "a-boot-2"])
        #expect(result.jobs.allSatisfy { $0.notes.contains { $0.contains("3 jobs") } })
        #expect(result.jobs[2].value(of: "on-boot") == .string("10min"))
        #expect(try result.faults().isEmpty)
    }

    @Test func likeSystemdIntervalsBeginAnewAfterEachBoot() throws {
        let units = Units(files: [
            "a.timer": "[Timer]\nOnBootSec=15min\nOnUnitActiveSec=1d\n",
            "a.service": "[Service]\nExecStart=/bin/true\n",
        ])
        let plain = try units.imported("a.timer")
        #expect(plain.jobs.count == 1)
        #expect(plain.jobs[0].notes.contains { $0.contains("--like-systemd") })
        let result = try units.imported("a.timer", isLikeSystemd: true)
        #expect(result.jobs.map(\.name.description) == ["a", "a-boot"])
        #expect(result.jobs[1].value(of: "on-boot") == .string("15min"))
        #expect(try result.faults().isEmpty)
    }

    @Test(arguments: [
        ("OnCalendar=daily", "after the machine was suspended"),
        ("OnUnitActiveSec=1h", "something else has started the service"),
        ("OnBootSec=1h", "after the next boot"), ("OnActiveSec=1h", "the job runs once"),
        ("OnBootSec=1\nWakeSystem=true", "does not wake the machine"),
        ("OnBootSec=1\nOnClockChange=true", "when the clock is set"),
        ("OnBootSec=1\nOnTimezoneChange=on", "when the time zone changes"),
        ("OnCalendar=daily\nAccuracySet=1", "did you mean \"AccuracySec\"?"),
        ("OnCalendar=daily\nTimeZone=UTC", "the last word of OnCalendar="),
        ("OnCalendar=daily\nExecStart=/bin/x", "systemd does not know this key"),
        ("OnCalendar=daily\nDescription=x", "it belongs into [Unit]"),
        ("OnCalendar=daily\nOnCalendar=foo", "not a calendar event"),
        ("OnCalendar=daily\nOnCalendar=daily Nowhere/Here", "there is no time zone"),
        ("OnCalendar=daily\nRandomizedDelaySec=x", "not a time span"),
        ("OnCalendar=daily\nPersistent=maybe", "not a boolean"),
        ("OnUnitActiveSec=1h\nOnUnitActiveSec=2h", "the shortest one counts"),
        ("OnUnitActiveSec=1h\nOnBootSec=1\nOnBootSec=2", "one first run"),
        ("OnCalendar=daily\n[Install]\nWantedBy=a.service", "together with that unit"),
        ("OnCalendar=daily\n[Foo]\nA=b", "systemd ignores the section [Foo]"),
        ("OnCalendar=daily\n[Unit]\nConditionACPower=yes", "checks it when it starts the timer"),
    ])
    func deviationsAreNotes(lines: String, note: String) throws {
        let result = try Units.timer(lines)
        #expect(result.exactness == .withNotes)
        #expect(
            result.jobs.first?.notes.contains { $0.contains(note) } == true,
            "\(result.jobs.first?.notes ?? [])")
    }

    @Test(arguments: [
        "OnCalendar=daily\nPersistent=true",
        "OnCalendar=daily\nPersistent=true\nWakeSystem=no\nRemainAfterElapse=false\nDeferReactivation=yes",
        "OnCalendar=daily\nPersistent=true\nRandomizedDelaySec=0\nFixedRandomDelay=yes\nUnit=a.service",
        "OnCalendar=daily\nPersistent=true\nX-Foo=1\n[X-Bar]\nA=b",
        "OnCalendar=daily\nPersistent=true\n[Install]\nWantedBy=timers.target\n[Unit]\nDocumentation=man:x\nAfter=b.target",
    ])
    func whatNeedsNothingIsExact(lines: String) throws {
        let result = try Units.timer(lines)
        #expect(
            result.exactness == .exact, "\(result.jobs.flatMap(\.notes)) \(result.report.refused)")
    }

    @Test(arguments: [
        ("", "nothing in it starts the service"), ("OnBootSec=infinity", "nothing in it"),
        ("OnCalendar=daily\nUnit=b.service", "there is no b.service"),
        ("OnCalendar=daily\nUnit=b.target", "only services"),
        ("OnCalendar=daily\nUnit=b", "not the name of a unit"),
        (
            "OnCalendar=Sat*-*-* 05:00:42",
            "its schedule OnCalendar=Sat*-*-* 05:00:42 cannot be used: not a calendar event: a blank is missing behind the weekday"
        ),
        (
            "OnUnitActiveSec=5minutess",
            "its schedule OnUnitActiveSec=5minutess cannot be used: not a time span"
        ),
        ("OnCalendar=daily\n[Timer", "no ] at its end"), ("OnClockChange=true", "nothing in it"),
    ])
    func whatCannotBeAJobIsRefused(lines: String, reason: String) throws {
        let result = try Units.timer(lines)
        #expect(result.exactness == .nothingUsable)
        #expect(result.report.refused.contains { $0.message?.contains(reason) == true })
    }

    @Test func unitsAreFoundByName() throws {
        var units = Units(files: [
            "b@.timer": "[Timer]\nOnCalendar=daily\nPersistent=true\n",
            "b@.service": "[Unit]\nDescription=Backup of %I\n[Service]\nExecStart=/bin/b %i %n\n",
            "b@x-y.service.d/o.conf": "[Service]\nExecStart=\nExecStart=/bin/c %I\n",
            "service.d/u.conf": "[Service]\nNice=5\n",
        ])
        let result = try units.imported("b@.timer", "b@.timer", instance: "x-y")
        #expect(result.jobs.map(\.name.description) == ["b@x-y"])
        #expect(
            result.keys() == [
                "description = \"Backup of x/y\"", "command = [\"/bin/c\", \"x/y\"]",
                "calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"run-once\"",
                "working-directory = \"/\"",
                "kill-timeout = \"1min 30s\"",
                "success-signals = [\"SIGHUP\", \"SIGINT\", \"SIGPIPE\", \"SIGTERM\"]", "nice = 5",
            ])
        #expect(try result.faults().isEmpty)
        let template = try units.imported("b@.timer")
        #expect(template.report.refused.first?.message?.contains("--instance") == true)
        units.masked = ["b@x.timer"]
        let masked = try units.imported("b@x.timer")
        #expect(masked.report.refused.first?.message?.contains("masked") == true)
        units.masked = ["b@x.service"]
        #expect(try units.imported("b@x.timer").exactness == .nothingUsable)
        #expect(
            try units.imported("c.timer").report.refused.first?.message?.contains("/etc") == true)
    }

    /// It takes seconds and not hours: nothing is copied or compared for each line again.
    @Test func hugeUnitsAreImported() throws {
        let many = (0..<50_000).map { "Key\($0)=\($0)" }.joined(separator: "\n")
        let result = try Units.timer("OnCalendar=daily\n\(many)")
        #expect(
            result.jobs.first?.notes.last == "49500 more settings of a.timer without an equivalent")
        #expect(result.report.entries.count > 50_000)
        let long = String(repeating: "\\\n", count: 400_000)
        #expect(try Units.timer("OnCalendar=daily\n\(long)").jobs.count == 1)
        let words = String(repeating: "a ", count: 200_000)
        #expect(try Units.service("ExecStart=/bin/a \(words)").jobs.isEmpty)
    }
}
