// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// The keys for the user of a job and the restrictions on its processes.
@Suite struct ConfinementKeysTests {
    private func read(_ text: String, asksMachine: Bool = false) throws -> ConfigReading {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        return try ConfigReader.read(
            Array(text.utf8), file: "t.toml",
            checks: asksMachine ? ConfigChecks(at: now, asking: Machine()) : nil)
    }

    private func job(_ keys: String) throws -> Job {
        let reading = try read("[job.j]\nevery = \"1h\"\nshell = \"x\"\n\(keys)\n")
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        return try #require(reading.jobSet.jobs.first)
    }

    @Test func areWhatTheySay() throws {
        let plain = try job("").execution.confinement
        #expect(plain == Confinement() && !plain.noNewPrivileges && plain.capabilities == nil)
        let found = try job(
            """
            no-new-privileges = true
            capabilities = ["CAP_CHOWN", "CAP_NET_BIND_SERVICE", "CAP_CHECKPOINT_RESTORE", "CAP_CHOWN"]
            apparmor-profile = "/usr/bin/backup//&:inner:x"
            selinux-context = "-system_u:system_r:backup_t:s0-s0:c0.c1023"
            """
        ).execution.confinement
        #expect(found.noNewPrivileges && found.capabilities?.bits == 1 | 1 << 10 | 1 << 40)
        #expect(found.appArmorProfile == "/usr/bin/backup//&:inner:x")
        #expect(found.seLinuxContext == "-system_u:system_r:backup_t:s0-s0:c0.c1023")
        #expect(try job("capabilities = []").execution.confinement.capabilities == CapabilitySet())
    }

    @Test func credentialsOfTheDefaultsAreMerged() throws {
        let reading = try read(
            """
            [defaults]
            credentials = { token = "/etc/token", "a.b@c-d_E" = "/etc/other" }
            [job.a]
            every = "1h"
            shell = "x"
            [job.a.credentials]
            token = "/etc/own"
            """)
        #expect(
            reading.jobSet.jobs.first?.execution.credentials
                == ["token": "/etc/own", "a.b@c-d_E": "/etc/other"])
    }

    @Test func ofTheDefaultsAreOverridden() throws {
        let reading = try read(
            """
            [defaults]
            capabilities = ["CAP_KILL"]
            no-new-privileges = true
            [job.a]
            every = "1h"
            shell = "x"
            [job.b]
            every = "1h"
            shell = "x"
            capabilities = []
            no-new-privileges = false
            """)
        let found = reading.jobSet.jobs.map(\.execution.confinement)
        #expect(found.map(\.capabilities?.bits) == [1 << 5, 0])
        #expect(found.map(\.noNewPrivileges) == [true, false])
    }

    /// Each number is that of `<linux/capability.h>`.
    @Test func capabilitiesHaveTheKernelsNumbers() {
        for (name, number) in [
            ("CAP_CHOWN", 0), ("CAP_SETPCAP", 8), ("CAP_NET_RAW", 13), ("CAP_SYS_ADMIN", 21),
            ("CAP_SYS_TIME", 25), ("CAP_SETFCAP", 31), ("CAP_SYSLOG", 34), ("CAP_AUDIT_READ", 37),
            ("CAP_CHECKPOINT_RESTORE", 40),
        ] {
            #expect(CapabilitySet.names[number] == name)
        }
        #expect(CapabilitySet.names.count == 41 && Set(CapabilitySet.names).count == 41)
    }

    @Test(arguments: [
        (
            #"no-new-privileges = 1"#,
            #"4:21: job "j": no-new-privileges: must be true or false, not an integer"#
        ),
        (
            #"capabilities = "CAP_KILL""#,
            #"4:16: job "j": capabilities: must be an array such as ["CAP_NET_BIND_SERVICE"], not a string"#
        ),
        (
            #"capabilities = ["CAP_KILL", "cap_net_raw"]"#,
            #"4:29: job "j": capabilities: unknown capability "cap_net_raw" (did you mean "CAP_NET_RAW"?); "#
                + "capabilities(7) lists them"
        ),
        (
            #"capabilities = ["SYS_TIME"]"#,
            #"4:17: job "j": capabilities: unknown capability "SYS_TIME" (did you mean "CAP_SYS_TIME"?); "#
                + "capabilities(7) lists them"
        ),
        (
            #"capabilities = ["CAP_NET_BIND_SERVICES"]"#,
            #"4:17: job "j": capabilities: unknown capability "CAP_NET_BIND_SERVICES" (did you mean "#
                + #""CAP_NET_BIND_SERVICE"?); capabilities(7) lists them"#
        ),
        (
            #"capabilities = ["~CAP_KILL"]"#,
            #"4:17: job "j": capabilities: unknown capability "~CAP_KILL""#
        ),
        (
            #"capabilities = [7]"#,
            #"4:17: job "j": capabilities: must be a string, not an integer"#
        ),
        (
            #"apparmor-profile = """#,
            #"4:20: job "j": apparmor-profile: the name of the profile is missing"#
        ),
        (
            #"apparmor-profile = "-""#,
            #"4:20: job "j": apparmor-profile: the name of the profile is missing"#
        ),
        (
            #"apparmor-profile = "a\nb""#,
            #"4:20: job "j": apparmor-profile: holds a control character"#
        ),
        (
            #"credentials = "/etc/token""#,
            #"4:15: job "j": credentials: must be a table such as { TOKEN = "/etc/token" }, not a string"#
        ),
        (
            #"credentials = { "../x" = "/etc/token" }"#,
            #"4:17: job "j": credentials: this is not a valid credential name: letters, digits, '.', '_', '-' and '@'"#
        ),
        (
            #"credentials = { ".." = "/etc/token" }"#,
            #"4:17: job "j": credentials: this is not a valid credential name"#
        ),
        (
            #"credentials = { "" = "/etc/token" }"#,
            #"4:17: job "j": credentials: this is not a valid credential name"#
        ),
        (
            #"credentials = { a = "token" }"#,
            #"4:21: job "j": credentials: must be the absolute path of a file with the secret, beginning with /"#
        ),
        (
            #"credentials = { a = 1 }"#,
            #"4:21: job "j": credentials: must be a string, not an integer"#
        ),
        (
            #"selinux-context = "backup_t""#,
            #"4:19: job "j": selinux-context: "backup_t" is not a context such as "#
                + #""system_u:system_r:backup_t:s0": USER:ROLE:TYPE or USER:ROLE:TYPE:LEVEL"#
        ),
        (
            #"selinux-context = "a::b""#,
            #"4:19: job "j": selinux-context: "a::b" is not a context such as "#
        ),
        (
            #"selinux-context = "a:b:c d""#,
            #"4:19: job "j": selinux-context: "a:b:c d" is not a context such as "#
        ),
    ])
    func errorsHaveTheirPlace(keys: String, message: String) throws {
        let reading = try read("[job.j]\nevery = \"1h\"\nshell = \"x\"\n\(keys)\n")
        #expect(reading.jobSet.jobs.isEmpty && reading.errors.count == 1)
        let text = try #require(reading.errors.first).description
        #expect(text.hasPrefix("t.toml:\(message)"), "\(text)")
    }

    @Test func aLongLabelIsRefused() throws {
        for key in ["apparmor-profile", "selinux-context"] {
            let long = String(repeating: "a:", count: 600) + "a"
            let reading = try read("[job.j]\nevery = \"1h\"\nshell = \"x\"\n\(key) = \"\(long)\"\n")
            let text = try #require(reading.errors.first).description
            #expect(text.contains("\(key): is too long; at most 1024 bytes"))
        }
    }

    // MARK: - Users

    private static let jobs = """
        [job.a]
        every = "1h"
        shell = "x"
        user = "alice"
        [job.r]
        every = "1h"
        shell = "x"
        user = "root"
        [job.none]
        every = "1h"
        shell = "x"
        """

    @Test func aJobOfAnotherUserIsRefused_whereverDaemonIs() throws {
        let rule = "[daemon]\nallowed-users = [\"alice\", \"backup\"]\n"
        for (text, line) in [("\(rule)\(Self.jobs)\n", 2), ("\(Self.jobs)\n\(rule)", 0)] {
            let reading = try read(text)
            #expect(reading.jobSet.jobs.map(\.name.description) == ["a"])
            #expect(reading.rejected == ["r", "none"] && reading.errorCount == 2)
            #expect(
                reading.errors.map(\.quotingLine) == [
                    "t.toml:\(line + 8):8: job \"r\": user: \"root\" is not one of allowed-users of "
                        + "[daemon]; name one of them, or add this one there\n  user = \"root\"\n         ^",
                    "t.toml:\(line + 9):6: job \"none\": names no user, though [daemon] has "
                        + "allowed-users; add user = with one of them\n  [job.none]\n       ^",
                ], "\(reading.errors)")
        }
        let free = try read(Self.jobs)
        #expect(free.errors.isEmpty && free.settings.allowedUsers == nil)
    }

    /// The members of groups are looked up where the machine is asked at all. The runner looks them
    /// up before each run.
    @Test func aGroupIsLookedUp_whereTheMachineIsAsked() throws {
        let rule = "[daemon]\nallowed-users = [\"@root\", \"@no-such-group\", \"alice\"]\n"
        let jobs = ["root", "alice", "nobody", "no-such-user"].map {
            "[job.\($0)]\nevery = \"1h\"\nshell = \"x\"\nuser = \"\($0)\"\n"
        }
        let text = rule + jobs.joined()
        #expect(try read(text).errors.isEmpty)
        let reading = try read(text, asksMachine: true)
        #expect(reading.jobSet.jobs.map(\.name.description) == ["root", "alice"])
        #expect(
            reading.settings.allowedUsers
                == AllowedUsers(users: ["alice"], groups: ["root", "no-such-group"]))
    }

    @Test func moreErrorsThanCanBeShownAreCounted() throws {
        let jobs = (0..<250).map { "[job.j\($0)]\nevery = \"1h\"\nshell = \"x\"\nuser = \"u\"\n" }
        let reading = try read("[daemon]\nallowed-users = [\"v\"]\n\(jobs.joined())")
        #expect(reading.jobSet.jobs.isEmpty && reading.rejected.count == 250)
        #expect(reading.errors.count == 100 && reading.errorCount == 250)
    }

    @Test(arguments: [
        (
            #"allowed-users = "alice""#,
            #"2:17: [daemon]: allowed-users: must be an array such as ["alice", "@staff"], "#
        ),
        (
            #"allowed-users = []"#,
            "2:17: [daemon]: allowed-users: no job could run; name users, or remove the key"
        ),
        (
            #"allowed-users = ["alice", "1000"]"#,
            #"2:27: [daemon]: allowed-users: "1000" is not a valid name: a letter"#
        ),
        (
            #"allowed-users = ["@"]"#,
            #"2:18: [daemon]: allowed-users: "" is not a valid name: a letter"#
        ),
        (
            #"allowed-users = ["@@a"]"#,
            #"2:18: [daemon]: allowed-users: "@a" is not a valid name: a letter"#
        ),
    ])
    func aNameThatIsNoUserIsRefused(key: String, message: String) throws {
        let reading = try read("[daemon]\n\(key)\n")
        let text = try #require(reading.errors.first).description
        #expect(text.hasPrefix("t.toml:\(message)"), "\(text)")
    }
}
