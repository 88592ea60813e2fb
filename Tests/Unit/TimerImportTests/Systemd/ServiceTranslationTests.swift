// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing
import TimerConfig
import TimerCore
import TimerZones

@testable import TimerImport

@Suite struct ServiceTranslationTests {
    private static let always = [
        "calendar = \"daily\"", "dst-gap = \"skip\"", "on-missed = \"run-once\"",
        "working-directory = \"/\"",
        "kill-timeout = \"1min 30s\"",
    ]

    @Test(arguments: [
        ("ExecStart=/bin/a b", ["command = [\"/bin/a\", \"b\"]"]),
        ("ExecStart=/bin/a $B ${C}", ["shell = 'set -f; exec /bin/a $B \"${C}\"'"]),
        ("ExecStart=/bin/a ${C}", ["shell = 'exec /bin/a \"${C}\"'"]),
        ("ExecStart=:/bin/a $B", ["command = [\"/bin/a\", \"$B\"]"]),
        ("ExecStart=/bin/a\nExecStart=/bin/b 'c d'", ["shell = \"/bin/a && /bin/b 'c d'\""]),
        ("ExecStart=/bin/a ; /bin/b", ["shell = \"/bin/a && /bin/b\""]),
        ("ExecStart=/bin/a ; \"", ["command = [\"/bin/a\"]"]),
        (
            "ExecStartPre=-/bin/a\nExecStart=/bin/b\nExecStartPost=/bin/c",
            ["shell = \"{ /bin/a || :; } && /bin/b && /bin/c\""]
        ),
        ("ExecStart=/bin/a\nExecStart=\nExecStart=/bin/b", ["command = [\"/bin/b\"]"]),
        ("ExecStart=/bin/a \\\n  b", ["command = [\"/bin/a\", \"b\"]"]),
    ])
    func commands(lines: String, keys: [String]) throws {
        let result = try Units.service(lines)
        #expect(result.keys() == keys + Self.always, "\(result.jobs.flatMap(\.notes))")
        #expect(try result.faults().isEmpty)
    }

    @Test(arguments: [
        ("User=www-data\nGroup=adm", ["user = \"www-data\"", "group = \"adm\""]),
        ("WorkingDirectory=/srv", ["working-directory = \"/srv\""]),
        ("UMask=077", ["umask = \"077\""]), ("Nice=-5", ["nice = -5"]),
        ("Nice=5\nNice=10", ["nice = 10"]), ("OOMScoreAdjust=500", ["oom-score = 500"]),
        ("IOSchedulingClass=idle\nIOSchedulingPriority=7", ["io-class = \"idle\""]),
        (
            "IOSchedulingClass=2\nIOSchedulingPriority=7",
            ["io-class = \"best-effort\"", "io-priority = 7"]
        ),
        ("IOSchedulingPriority=0", ["io-class = \"best-effort\"", "io-priority = 0"]),
        ("IOSchedulingClass=idle\nIOSchedulingClass=", []),
        ("CPUSchedulingPolicy=batch", ["cpu-policy = \"batch\""]),
        (
            "CPUSchedulingPolicy=rr\nCPUSchedulingPriority=10",
            ["cpu-policy = \"rr\"", "cpu-priority = 10"]
        ),
        (
            "Environment=A=1 \"B=2 3\"\nEnvironment=A=4",
            ["environment = { A = \"4\", B = \"2 3\" }"]
        ),
        ("Environment=A=1 B=%%\nUnsetEnvironment=A", ["environment = { B = \"%\" }"]),
        ("Environment=A=1\nEnvironment=", []),
        ("EnvironmentFile=-/etc/default/x", ["environment-file = \"-/etc/default/x\""]),
        (
            "LimitNOFILE=1024\nLimitCORE=0\nLimitCPU=1min\nLimitAS=1G\nLimitSTACK=infinity",
            [
                "limits = { cpu = 60, stack = \"infinity\", core = 0, nofile = 1024, as = 1073741824 }"
            ]
        ),
        ("LimitNOFILE=infinity", ["limits = { nofile = \"infinity\" }"]),
        ("TimeoutStartSec=1h", ["timeout = \"1h\""]), ("TimeoutStartSec=infinity", []),
        ("TimeoutStartSec=0", []), ("RuntimeMaxSec=5", []),
        ("SuccessExitStatus=TEMPFAIL 250", ["success-exit-codes = [0, 75, 250]"]),
        (
            "SuccessExitStatus=3 SIGTERM KILL",
            ["success-exit-codes = [0, 3]", "success-signals = [\"SIGKILL\", \"SIGTERM\"]"]
        ),
        (
            "Type=simple\nSuccessExitStatus=SIGUSR1",
            [
                "success-signals = [\"SIGHUP\", \"SIGINT\", \"SIGPIPE\", \"SIGTERM\", \"SIGUSR1\"]"
            ]
        ),
        (
            "Restart=on-failure\nRestartSec=30s\nStartLimitInterval=1h\nStartLimitBurst=3",
            ["retries = 2", "retry-delay = \"30s\"", "retry-backoff = 1"]
        ),
        ("Restart=on-failure", ["retries = 4", "retry-delay = \"100ms\"", "retry-backoff = 1"]),
        ("Restart=no\nRestartSec=5", []), ("NoNewPrivileges=yes", ["no-new-privileges = true"]),
        (
            "CapabilityBoundingSet=CAP_KILL CAP_CHOWN",
            ["capabilities = [\"CAP_CHOWN\", \"CAP_KILL\"]"]
        ),
        (
            "User=x\nAmbientCapabilities=CAP_KILL\nCapabilityBoundingSet=CAP_KILL",
            ["user = \"x\"", "capabilities = [\"CAP_KILL\"]"]
        ),
        (
            "AppArmorProfile=-x\nSELinuxContext=a:b:c:d",
            ["apparmor-profile = \"-x\"", "selinux-context = \"a:b:c:d\""]
        ),
        ("User=x\nPAMName=cron", ["user = \"x\"", "pam-service = \"cron\""]),
        ("LoadCredential=token:/etc/t", ["credentials = { token = \"/etc/t\" }"]),
        ("StandardInputText=a b\\n\"c\"", ["stdin = '''\na b\n\"c\"\n'''"]),
        ("StandardInput=data\nStandardInputData=aGVsbG8=", ["stdin = \"hello\""]),
        (
            "LogRateLimitIntervalSec=1min\nLogRateLimitBurst=5",
            ["log-rate-limit-interval = \"1min\"", "log-rate-limit-burst = 5"]
        ),
        ("LogRateLimitIntervalSec=0", ["log-rate-limit-interval = \"none\""]),
    ])
    func keys(lines: String, keys: [String]) throws {
        let result = try Units.service("ExecStart=/bin/a\n\(lines)")
        let standard = Self.always + ["command = [\"/bin/a\"]"]
        let replaced = keys.contains { $0.hasPrefix("working-directory") }
        let added = result.keys().filter { key in
            !standard.contains(key) && !(replaced && key == "working-directory = \"/\"")
        }
        #expect(Set(added) == Set(keys), "\(result.keys())")
        #expect(result.exactness == .exact, "\(result.jobs.flatMap(\.notes))")
        #expect(try result.faults().isEmpty)
    }

    @Test(arguments: [
        ("ExecStart=-/bin/a", "cannot be started"),
        ("ExecStart=@/bin/a b", "not \"b\""),
        ("User=x\nExecStart=+/bin/a", "with the rights of the job's user"),
        ("ExecStart=/bin/a $B", "quotes in the value of a variable"),
        ("ExecStart=/bin/a\nEnvironment=A=%Z B=1", "unknown specifier %Z"),
        ("ExecStart=/bin/a\nEnvironment=A=1 B=\\q", "unknown escape \\q"),
        ("ExecStart=/bin/a\nExecStart=-/bin/b %Z", "unknown specifier %Z"),
        ("ExecStart=/bin/a\nExecStart=-/bin/b \"", "a quote is not closed"),
        ("ExecStart=/bin/a\nExecStopPost=/bin/b", "runs no command after"),
        ("ExecStart=/bin/a\nPassEnvironment=A", "those of the runner"),
        ("ExecStart=/bin/a\nEnvironment=TIMERD_X=1", "only timerd sets"),
        ("ExecStart=/bin/a\nEnvironmentFile=/a\nEnvironmentFile=/b", "the first one"),
        ("ExecStart=/bin/a\nEnvironmentFile=/a/*", "no pattern"),
        ("ExecStart=/bin/a\nSuccessExitStatus=SIGCHLD", "nor a signal that ends a process"),
        ("ExecStart=/bin/a\nExecStart=/bin/b\nSuccessExitStatus=SIGTERM", "with an exit code"),
        ("ExecStart=/bin/a\nRestart=always", "is not repeated"),
        ("ExecStart=/bin/a\nLimitNOFILE=1:2", "the hard limit"),
        ("ExecStart=/bin/a\nLimitLOCKS=1", "does not have this limit"),
        ("ExecStart=/bin/a\nKillMode=process", "continues"),
        ("ExecStart=/bin/a\nRemainAfterExit=yes", "remains active"),
        ("ExecStart=/bin/a\nProtectSystem=full", "does not have this restriction"),
        ("ExecStart=/bin/a\nMemoryMax=1G", "limits and weights"),
        ("ExecStart=/bin/a\nStateDirectory=x", "creates and removes no directories"),
        ("ExecStart=/bin/a\nStandardOutput=null", "redirect it"),
        ("ExecStart=/bin/a\nDynamicUser=yes", "makes no users"),
        ("ExecStart=/bin/a\nRestarts=1", "did you mean \"Restart\"?"),
        ("ExecStart=/bin/a\nType=notify", "does not report that it is ready"),
        ("ExecStart=/bin/a\nType=forking", "continues, unwatched"),
        ("ExecStart=/bin/a\nSlice=x.slice", "timerd.slice"),
    ])
    func deviationsAreNotes(lines: String, note: String) throws {
        let result = try Units.service(lines)
        #expect(result.exactness == .withNotes)
        #expect(
            result.jobs.first?.notes.contains { $0.contains(note) } == true,
            "\(result.jobs.first?.notes ?? [])")
        #expect(try result.faults().isEmpty)
    }

    @Test(arguments: [
        ("", "nothing to run"), ("ExecStart=bin/a", "neither an absolute path"),
        ("ExecStart=/bin/a\nExecStartPre=/bin/b %Z", "does not load a.service"),
        ("ExecStart=/bin/a\\q", "a backslash"), ("ExecStart=\"", "nothing to run"),
        ("ExecStart=/bin/a ; /bin/b \"", "a quote is not closed"),
        ("ExecStart=/bin/a\nType=simple\nExecStart=/bin/b", "more than one command"),
        ("ExecStart=/bin/a\nRootDirectory=/srv", "another root directory"),
        ("ExecStart=/bin/a\nUser=1000", "takes no number"),
        ("ExecStart=/bin/a\nUser=%Z", "takes no number"),
    ])
    func whatWouldRunWithOtherRightsIsRefused(lines: String, reason: String) throws {
        let result = try Units.service(lines)
        #expect(result.jobs.isEmpty)
        #expect(
            result.report.refused.contains { $0.message?.contains(reason) == true },
            "\(result.report.refused)")
    }

    @Test func whatTimerdDoesNotHaveIsANote() throws {
        let result = try Units.service(
            "ExecStart=/bin/a", unit: "ConditionHost=x\nAfter=b.target\nOnFailure=c.service")
        #expect(result.jobs.first?.notes.count == 3)
        #expect(
            result.jobs.first?.notes.first?.hasPrefix("a.service:2: ConditionHost=x: ") == true)
    }

    /// mdcheck_start.service of mdadm has a command that writes the file which the next one needs.
    @Test func aFileOfVariablesIsReadOnce() throws {
        let one = try Units.service("EnvironmentFile=-/run/x\nExecStart=/bin/a")
        #expect(one.jobs.first?.notes == [])
        let two = try Units.service(
            "EnvironmentFile=-/run/x\nExecStartPre=/bin/b\nExecStart=/bin/a")
        #expect(two.jobs.first?.notes.contains { $0.contains("before each command") } == true)
    }

    @Test func aPrefixForErrorsMakesEachEndASuccess() throws {
        let job = try Units.service("ExecStart=-/bin/a").jobs.first
        #expect(job?.value(of: "success-exit-codes") == .array((0...255).map { .integer($0) }))
        #expect(job?.value(of: "success-signals") == .strings(SuccessExitStatus.signals))
    }

    /// What systemd itself knows, if it is installed: `systemd --dump-configuration-items`.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/lib/systemd/systemd")))
    func eachKeyOfSystemdIsKnown() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/lib/systemd/systemd")
        process.arguments = ["--dump-configuration-items"]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(
            decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        var section = ""
        var count = 0
        for line in output.split(separator: "\n") {
            if line.hasPrefix("[") { section = String(line.dropFirst().dropLast()) }
            guard let equals = line.firstIndex(of: "="),
                ["Unit", "Service", "Timer", "Install"].contains(section)
            else { continue }
            let key = String(line[..<equals])
            for type in section == "Timer"
                ? ["timer"] : section == "Service" ? ["service"] : ["timer", "service"]
            {
                #expect(UnitKey.keys(of: section, in: type)?[key] != nil, "\(section).\(key)")
                count += 1
            }
        }
        #expect(output.isEmpty || count > 300)
    }
}

/// Any bytes are imported without a crash, what is made of them is a configuration, and each line is in
/// the report once.
@Suite struct SystemdFuzzTests {
    @Test func anyUnitsAreImported() throws {
        var fuzzing = try Fuzzing("systemd")
        let count = try fuzzing.run { bytes, random in
            let half = random.int(below: bytes.count)
            let whole = random.int(below: 2) == 0
            let timer = whole ? bytes : Array(bytes[..<half])
            let service = whole ? bytes : Array(bytes[half...])
            let isLikeSystemd = random.int(below: 2) == 0
            let result = imported(timer, service, isLikeSystemd: isLikeSystemd)
            #expect(result == imported(timer, service, isLikeSystemd: isLikeSystemd))
            try check(result, timer, service)
            return true
        }
        #expect(count > 0)
    }

    private func imported(_ timer: [UInt8], _ service: [UInt8], isLikeSystemd: Bool) -> ImportResult
    {
        var options = SystemdImport.Options()
        options.isLikeSystemd = isLikeSystemd
        options.hasZone = { (try? ZoneFiles().rules(named: $0)) != nil }
        return SystemdImport([UnitName("a@b-c.timer")!], options: options) { name in
            // The service may have any name, by Unit=.
            .files(
                [
                    name.type == "timer"
                        ? UnitFile(path: "a@b-c.timer", bytes: timer)
                        : UnitFile(path: "a@b-c.service", bytes: service)
                ],
                isEnabled: nil)
        }.result
    }

    private func check(_ result: ImportResult, _ timer: [UInt8], _ service: [UInt8]) throws {
        let text = result.toml(title: "x")
        let reading = try ConfigReader.read(Array(text.utf8), file: "x.toml")
        #expect(reading.errors.isEmpty, "\(reading.errors) in \(text)")
        #expect(result.jobs.isEmpty == (result.exactness == .nothingUsable))
        var places: Set<SourcePlace> = []
        for entry in result.report.entries where entry.place.line != nil {
            #expect(places.insert(entry.place).inserted, "\(entry.place) is in the report twice")
        }
        let lines = UnitFile(path: "a@b-c.timer", bytes: timer).lines
        let missing = lines.filter { !places.contains($0.place) }
        #expect(missing.isEmpty, "\(missing) of \(String(decoding: timer, as: UTF8.self))")
        guard !result.jobs.isEmpty else { return }
        let others = UnitFile(path: "a@b-c.service", bytes: service).lines
        let left = others.filter { !places.contains($0.place) }
        #expect(left.isEmpty, "\(left) of \(String(decoding: service, as: UTF8.self)) in \(text)")
    }
}
