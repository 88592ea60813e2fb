// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// What the job of a session inherits, and which privileges it has.
extension SessionTests {
    /// They apply to the job and do not limit the modules.
    @Test func theJobHasThePrivilegesAndCredentialsThatAreConfigured() throws {
        let service = try PamService("session required LOG")
        let store = "\(service.folder)/store"
        mkdir(store, 0o711)
        chmod(store, 0o711)
        try service.write("secret", to: "token")
        var options = Runner.Options()
        options.credentials = store
        let fixture = try RunnerFixture(options: options)
        defer { fixture.runner.shutdown(grace: .zero) }
        func run(_ line: String, user: String) -> RunnerFixture.End {
            let request = request(fixture, service, line, user: user) {
                var wanted = CapabilitySet()
                _ = wanted.insert("CAP_KILL")
                $0.confinement.capabilities = wanted
                $0.confinement.noNewPrivileges = true
                $0.confinement.appArmorProfile = "-no-such-profile"
                $0.credentials = ["token": "\(service.folder)/token"]
            }
            return fixture.run(request)
        }
        let show = "cat $CREDENTIALS_DIRECTORY/token; grep -E '^(Cap|NoNewP)' /proc/self/status"
        for user in ["nobody", "root"] {
            let end = run(show, user: user)
            #expect(end.outcome == .exited(0), "\(end.errors)")
            #expect(end.lines.first == "secret")
            #expect(end.lines.count { $0.hasSuffix("0000000000000020") } == 5, "\(end.lines)")
            #expect(end.lines.last == "NoNewPrivs:\t1")
        }
        fixture.runner.allow(AllowedUsers(users: ["root"], groups: []))
        #expect(run(show, user: "nobody").outcome.description.hasPrefix("spawn-failed(EPERM"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: store).isEmpty)
        #expect(service.log.count == 4)
    }

    /// As under cron, the job's own variables keep their values.
    @Test func theEnvironmentOfModulesReachesTheJob() throws {
        let service = try PamService(
            "session required pam_env.so conffile=/dev/null envfile=FOLDER/variables")
        try service.write("FROM_PAM=a b\nHOME=/wrong\nDECLARED=wrong", to: "variables")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.run(
            request(
                fixture, service, "echo \"$FROM_PAM|$HOME|$DECLARED|$USER|$TIMERD_JOB\"",
                environment: ["DECLARED": "right"]))
        let home = String(cString: getpwnam("nobody")!.pointee.pw_dir)
        #expect(end.lines == ["a b|\(home)|right|nobody|probe"])
    }

    @Test func limitsOfModulesReachTheJob_unlessItDeclaresItsOwn() throws {
        let service = try PamService("session required pam_limits.so conf=FOLDER/limits")
        try service.write("* - nofile 77\n* - core 0\n* - nice -3", to: "limits")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(fixture.run(request(fixture, service, "ulimit -n")).lines == ["77"])
        let declared = request(fixture, service, "ulimit -n; ulimit -c; nice") {
            $0.limits = [.nofile: 66]
            $0.nice = 4
        }
        let end = fixture.run(declared)
        #expect(end.lines == ["66", "0", "4"], "\(end.outcome) \(end.errors)")
    }

    /// The program gets them through `timerd-session`.
    @Test func aRunHasItsPrioritiesAndItsInput() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let text = "a\n" + String(repeating: "x", count: 60_000)
        let line =
            "ionice; awk '{ print $41, $40 }' /proc/self/stat; cat /proc/self/oom_score_adj; wc -c"
        let end = fixture.run(
            request(fixture, service, line) {
                $0.stdin = text
                $0.priorities.io = .bestEffort(6)
                $0.priorities.cpu = .batch
                $0.priorities.oomScore = 77
            })
        #expect(
            end.lines == ["best-effort: prio 6", "3 0", "77", "60002"],
            "\(end.outcome) \(end.errors)")
        #expect(fixture.run(request(fixture, service, "cat; echo end")).lines == ["end"])
    }

    /// Modules run as root.
    @Test func modulesSeeNothingOfTheJob() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.run(
            request(
                fixture, service, "echo fine",
                environment: ["LD_PRELOAD": "", "SECRET": "x", "PATH": "/bin:/tmp"]))
        #expect(end.lines == ["fine"])
        let path = "PATH=\(Account.searchPath)"
        #expect(
            service.lines(of: "environ") == [path, "timerd-session", path, "timerd-session"])
    }

    /// The user, the groups and the descriptors are the same as without a session.
    @Test func aRunHasItsUser_andInheritsNothingElse() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let line = """
            grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|SigBlk|SigIgn)' /proc/self/status; ls /proc/$$/fd; umask; pwd
            readlink /proc/$$/fd/0
            """
        let plain = fixture.run(
            fixture.request(.shell(line), in: "/tmp") {
                $0.user = "nobody"
                $0.group = "adm"
                $0.umask = 0o027
            })
        let inSession = fixture.run(
            fixture.request(.shell(line), in: "/tmp") {
                $0.user = "nobody"
                $0.group = "adm"
                $0.umask = 0o027
                $0.pamService = service.name
            })
        #expect(plain.outcome == .exited(0) && plain.lines.count > 10)
        #expect(inSession.lines == plain.lines)
    }

    /// Modules have all privileges; the job only has those that it declares.
    @Test func privilegesAreLimitedAfterTheSessionIsOpen() throws {
        let service = try PamService("session required LOG")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        func lines(_ pamService: String?) -> [String] {
            let line = "grep -E '^(Uid|Cap|NoNewPrivs)' /proc/self/status"
            let request = fixture.request(.shell(line), in: "/") {
                $0.user = "nobody"
                $0.pamService = pamService
                var set = CapabilitySet()
                _ = set.insert("CAP_KILL")
                $0.confinement.capabilities = set
                $0.confinement.noNewPrivileges = true
            }
            return fixture.run(request).lines
        }
        let plain = lines(nil)
        #expect(plain.contains("NoNewPrivs:\t1") && plain.count == 7)
        #expect(lines(service.name) == plain)
        #expect(service.log == [Self.opened, Self.closed])
    }
}
