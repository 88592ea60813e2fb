// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The keys for the priorities and the standard input of runs.
@Suite struct PriorityKeysTests {
    private func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "t.toml")
    }

    private func execution(_ keys: String, defaults: String = "") throws -> Execution {
        let reading = try read(
            "[defaults]\n\(defaults)\n[job.j]\nevery = \"1h\"\nshell = \"x\"\n\(keys)\n")
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        return try #require(reading.jobSet.jobs.first).execution
    }

    @Test func ioKeysTogetherAreAClassAndALevel() throws {
        let cases: [(String, Priorities.IO)] = [
            ("", .standard), (#"io-class = "none""#, .standard), (#"io-class = "idle""#, .idle),
            (#"io-class = "best-effort""#, .bestEffort(4)),
            (#"io-class = "realtime""#, .realtime(4)),
            ("io-priority = 0", .bestEffort(0)), ("io-priority = 7", .bestEffort(7)),
            ("io-class = \"realtime\"\nio-priority = 0", .realtime(0)),
            ("io-priority = 1\nio-class = \"best-effort\"", .bestEffort(1)),
            // Many units have a level for idle, where it has no meaning.
            ("io-class = \"idle\"\nio-priority = 7", .idle),
        ]
        for (keys, expected) in cases {
            #expect(try execution(keys).priorities.io == expected, "\(keys)")
        }
        let level = "io-priority = 6"
        #expect(try execution("", defaults: level).priorities.io == .bestEffort(6))
        let none = #"io-class = "none""#
        #expect(try execution(none, defaults: level).priorities.io == .standard)
        let realtime = #"io-class = "realtime""#
        #expect(try execution(realtime, defaults: level).priorities.io == .realtime(6))
    }

    @Test func cpuKeysTogetherAreAPolicyAndAPriority() throws {
        let cases: [(String, Priorities.CPU)] = [
            ("", .other), (#"cpu-policy = "other""#, .other), (#"cpu-policy = "batch""#, .batch),
            (#"cpu-policy = "idle""#, .idle), (#"cpu-policy = "fifo""#, .fifo(1)),
            ("cpu-policy = \"rr\"\ncpu-priority = 99", .rr(99)),
            ("cpu-priority = 2\ncpu-policy = \"fifo\"", .fifo(2)),
        ]
        for (keys, expected) in cases {
            #expect(try execution(keys).priorities.cpu == expected, "\(keys)")
        }
        let priority = "cpu-priority = 5"
        #expect(try execution("", defaults: priority).priorities.cpu == .other)
        let rr = #"cpu-policy = "rr""#
        #expect(try execution(rr, defaults: priority).priorities.cpu == .rr(5))
    }

    @Test func otherValues() throws {
        #expect(try execution("").priorities == Priorities())
        #expect(try execution("").stdin == nil && execution("stdin = \"\"").stdin == nil)
        for score in [-1000, 0, 1000] {
            #expect(try execution("oom-score = \(score)").priorities.oomScore == score)
        }
        #expect(try execution("stdin = \"a\\n%b\\n\"").stdin == "a\n%b\n")
        #expect(try execution("stdin = '''\nto: x\n\n  hello\n'''").stdin == "to: x\n\n  hello\n")
        let long = String(repeating: "x", count: 64 << 10)
        #expect(try execution("stdin = \"\(long)\"").stdin == long)
        #expect(try execution("stdin = \"\"", defaults: "stdin = \"x\"").stdin == nil)
    }

    @Test(arguments: [
        (
            #"io-class = "rt""#,
            #"4:12: job "j": io-class: unknown value "rt"; one of "none", "realtime", "best-effort", "idle""#
        ),
        ("io-priority = 8", #"4:15: job "j": io-priority: 8 is out of range; from 0 to 7"#),
        (
            "io-priority = 3\nio-class = \"none\"",
            #"4:1: job "j": io-priority can only be used with io-class = "best-effort" or "realtime""#
        ),
        (
            #"cpu-policy = "deadline""#,
            #"4:14: job "j": cpu-policy: unknown value "deadline"; one of "other", "batch", "idle", "fifo", "rr""#
        ),
        (
            "cpu-policy = \"rr\"\ncpu-priority = 0",
            #"5:16: job "j": cpu-priority: 0 is out of range; from 1 to 99"#
        ),
        (
            "cpu-priority = 1",
            #"4:1: job "j": cpu-priority can only be used with cpu-policy = "fifo" or "rr""#
        ),
        (
            "cpu-policy = \"batch\"\ncpu-priority = 1",
            #"5:1: job "j": cpu-priority can only be used with cpu-policy = "fifo" or "rr""#
        ),
        (
            "oom-score = -1001",
            #"4:13: job "j": oom-score: -1001 is out of range; from -1000 to 1000"#
        ),
        ("stdin = 5", #"4:9: job "j": stdin: must be a string, not an integer"#),
        (#"stdin = "a\u0000""#, #"4:9: job "j": stdin: holds a NUL character"#),
    ])
    func wrongValuesAreRefused(keys: String, message: String) throws {
        let reading = try read("[job.j]\nevery = \"1h\"\nshell = \"x\"\n\(keys)\n")
        let text = try #require(reading.errors.first).description
        #expect(text.hasPrefix("t.toml:\(message)"), "\(text)")
        #expect(reading.jobSet.jobs.isEmpty)
    }

    @Test func aTextThatIsTooLongIsRefused() throws {
        let long = String(repeating: "x", count: (64 << 10) + 1)
        let reading = try read("[job.j]\nevery = \"1h\"\nshell = \"x\"\nstdin = \"\(long)\"\n")
        let text = try #require(reading.errors.first).description
        #expect(
            text.hasPrefix(
                "t.toml:4:9: job \"j\": stdin: has 65537 bytes; at most 65536: put more into a file, and"
            ))
    }

    // MARK: - Privileges

    /// A user without privileges, and one with limits for realtime.
    @Test func prioritiesThatARunnerMayNotGiveAreReported() throws {
        let plain = OwnPrivileges(
            lowestNice: 0, highestRealtime: 0, hasRealtimeIO: false, hasLowOOMScore: false)
        let audio = OwnPrivileges(
            lowestNice: -11, highestRealtime: 80, hasRealtimeIO: false, hasLowOOMScore: true)
        let cases: [(keys: String, plain: [String], audio: [String])] = [
            ("nice = 19", [], []), ("nice = -11", ["nice"], []), ("nice = -12", ["nice"], ["nice"]),
            (#"io-class = "realtime""#, ["io-class"], ["io-class"]),
            ("io-priority = 0", [], []), (#"io-class = "idle""#, [], []),
            (#"cpu-policy = "batch""#, [], []), (#"cpu-policy = "fifo""#, ["cpu-policy"], []),
            ("cpu-policy = \"rr\"\ncpu-priority = 80", ["cpu-policy"], []),
            ("cpu-policy = \"rr\"\ncpu-priority = 81", ["cpu-policy"], ["cpu-policy"]),
            ("oom-score = 0", [], []), ("oom-score = 1000", [], []),
            ("oom-score = -1", ["oom-score"], []),
        ]
        for (keys, forPlain, forAudio) in cases {
            for (privileges, expected) in [(plain, forPlain), (audio, forAudio), (nil, [])] {
                let found = try warnings(keys, privileges)
                #expect(found.map(\.code) == expected.map { _ in .missingPrivilege }, "\(keys)")
                for (warning, key) in zip(found, expected) {
                    #expect(warning.message.hasPrefix("job \"j\": \(key): "), "\(warning)")
                    #expect(warning.message.hasSuffix("; its runs will fail"), "\(warning)")
                    #expect(warning.mark.line == 4, "\(warning)")
                }
            }
        }
    }

    private func warnings(
        _ keys: String, _ privileges: OwnPrivileges?
    ) throws -> [ConfigWarning] {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = "[job.j]\nevery = \"1h\"\nshell = \"x\"\n\(keys)\n"
        let checks = ConfigChecks(at: now, asking: Machine(MachineCheck(privileges: privileges)))
        return try ConfigReader.read(Array(text.utf8), file: "t.toml", checks: checks).warnings
    }
}
