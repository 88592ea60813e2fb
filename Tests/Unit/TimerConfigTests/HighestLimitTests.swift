// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// What is said of resource limits that a run cannot have, or with which it cannot run.
@Suite struct HighestLimitTests {
    private func warnings(_ limits: String, _ highest: HighestLimits) throws -> [String] {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = "[job.j]\nevery = \"1h\"\nshell = \"x\"\nlimits = { \(limits) }\n"
        let checks = ConfigChecks(at: now, asking: Machine(MachineCheck(highestLimits: highest)))
        let reading = try ConfigReader.read(Array(text.utf8), file: "t.toml", checks: checks)
        #expect(reading.errors.isEmpty)
        return reading.warnings.map { warning in
            #expect(warning.mark.line == 4)
            return "\(warning.message) [\(warning.code.rawValue)]"
                .replacing(#"job "j": limits: "#, with: "")
        }
    }

    private let root = HighestLimits(openFiles: 1_048_576, hard: [:])
    private let own = HighestLimits(
        openFiles: 1_048_576, hard: [.nofile: 4096, .nproc: 500, .memlock: 65536])
    /// fs.nr_open was lowered after the process had got its limits.
    private let odd = HighestLimits(openFiles: 1000, hard: [.nofile: 4096])

    @Test func whatWillBeIsSaid() throws {
        let kernel = "the highest that the kernel allows (sysctl fs.nr_open)"
        let hard =
            "the hard limit of the runner, which has no privilege to raise it; lower the value, or raise "
            + "the limit where the runner is started"
        let cases: [(String, HighestLimits, [String])] = [
            (
                #"nofile = "infinity""#, root,
                [#"nofile = "infinity": its runs have 1048576, \#(kernel) [highest-limit]"#]
            ),
            (
                "nofile = 1048577", root,
                ["nofile = 1048577: its runs have 1048576, \(kernel) [limit-lowered]"]
            ),
            ("nofile = 1048576", root, []),
            (#"as = "infinity", nproc = "infinity", memlock = "infinity""#, root, []),
            (
                #"nofile = "infinity""#, own,
                [#"nofile = "infinity": its runs have 4096, \#(hard) [limit-lowered]"#]
            ),
            ("nofile = 4097", own, ["nofile = 4097: its runs have 4096, \(hard) [limit-lowered]"]),
            ("nofile = 4096, nproc = 500, memlock = \"64KiB\", as = \"infinity\"", own, []),
            (
                "nproc = 501, memlock = \"1G\"", own,
                [
                    "memlock = 1073741824: its runs have 65536, \(hard) [limit-lowered]",
                    "nproc = 501: its runs have 500, \(hard) [limit-lowered]",
                ]
            ),
            (
                "nofile = 4096", odd,
                ["nofile = 4096: its runs have 1000, \(kernel) [limit-lowered]"]
            ),
        ]
        for (limits, highest, expected) in cases {
            #expect(try warnings(limits, highest) == expected, "\(limits)")
        }
    }

    @Test func aLimitWithWhichNoProgramRunsIsAWarning() throws {
        for limit in ["as", "data", "stack", "cpu", "nofile"] {
            let found = try warnings("\(limit) = 0", root)
            #expect(found.count == 1 && found[0].hasPrefix("\(limit) = 0: "), "\(found)")
            #expect(found[0].hasSuffix("; its runs will fail [limit-too-low]"), "\(found)")
        }
        #expect(try warnings("core = 0, fsize = 0, memlock = 0, rss = 0", root).isEmpty)
        #expect(try warnings("nofile = 4, stack = \"16KiB\", cpu = 1", root).isEmpty)
        // The limit of processes does not apply to root.
        #expect(root.findings(for: [.nproc: .some(0)], isRoot: true).isEmpty)
        #expect(root.findings(for: [.nproc: .some(0)], isRoot: false).count == 1)
    }

    /// A container of root often may not raise limits.
    @Test func theLimitsOfThisProcessAreThoseOfItsRunner() {
        let found = HighestLimits(ofOwnRunner: true)
        #expect(found.openFiles != nil)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let may = OwnPrivileges.has("CAP_SYS_RESOURCE") || limit.rlim_max == .max
        #expect(found.hard[.nofile] == (may ? nil : UInt64(limit.rlim_max)))
        #expect(HighestLimits(ofOwnRunner: false).hard.isEmpty)
    }
}
