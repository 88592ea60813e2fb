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
        let bench = try Bench(options: options)
        defer { bench.runner.shutdown(grace: .zero) }
        func run(_ line: String, user: String) -> Bench.End {
            let request = request(bench, service, line, user: user) {
                var wanted = CapabilitySet()
                _ = wanted.insert("CAP_KILL")
                $0.confinement.capabilities = wanted
                $0.confinement.noNewPrivileges = true
                $0.confinement.appArmorProfile = "-no-such-profile"
                $0.credentials = ["token": "\(service.folder)/token"]
            }
            return bench.run(request)
        }
        let show = "cat $CREDENTIALS_DIRECTORY/token; grep -E '^(Cap|NoNewP)' /proc/self/status"
        for user in ["nobody", "root"] {
            let end = run(show, user: user)
            #expect(end.outcome == .exited(0), "\(end.errors)")
            #expect(end.lines.first == "secret")
            #expect(end.lines.count { $0.hasSuffix("0000000000000020") } == 5, "\(end.lines)")
            #expect(end.lines.last == "NoNewPrivs:\t1")
        }
        bench.runner.allow(AllowedUsers(users: ["root"], groups: []))
        #expect(run(show, user: "nobody").outcome.description.hasPrefix("spawn-failed(EPERM"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: store).isEmpty)
        #expect(service.log.count == 4)
    }

    /// As under cron, the job's own variables keep their values.
    @Test func theEnvironmentOfModulesReachesTheJob() throws {
        let service = try PamService(
            "session required pam_env.so conffile=/dev/null envfile=FOLDER/variables")
        try service.write("FROM_PAM=a b\nHOME=/wrong\nDECLARED=wrong", to: "variables")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let end = bench.run(
            request(
                bench, service, "echo \"$FROM_PAM|$HOME|$DECLARED|$USER|$TIMERD_JOB\"",
                environment: ["DECLARED": "right"]))
        let home = String(cString: getpwnam("nobody")!.pointee.pw_dir)
        #expect(end.lines == ["a b|\(home)|right|nobody|probe"])
    }

    @Test func limitsOfModulesReachTheJob_unlessItDeclaresItsOwn() throws {
        let service = try PamService("session required pam_limits.so conf=FOLDER/limits")
        try service.write("* - nofile 77\n* - core 0\n* - nice -3", to: "limits")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        #expect(bench.run(request(bench, service, "ulimit -n")).lines == ["77"])
        let declared = request(bench, service, "ulimit -n; ulimit -c; nice") {
            $0.limits = [.nofile: 66]
            $0.nice = 4
        }
        let end = bench.run(declared)
        #expect(end.lines == ["66", "0", "4"], "\(end.outcome) \(end.errors)")
    }

    /// The program gets them through `timerd-session`.
    @Test func aRunHasItsPrioritiesAndItsInput() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let text = "a\n" + String(repeating: "x", count: 60_000)
        let line =
            "ionice; awk '{ print $41, $40 }' /proc/self/stat; cat /proc/self/oom_score_adj; wc -c"
        let end = bench.run(
            request(bench, service, line) {
                $0.stdin = text
                $0.priorities.io = .bestEffort(6)
                $0.priorities.cpu = .batch
                $0.priorities.oomScore = 77
            })
        #expect(
            end.lines == ["best-effort: prio 6", "3 0", "77", "60002"],
            "\(end.outcome) \(end.errors)")
        #expect(bench.run(request(bench, service, "cat; echo end")).lines == ["end"])
    }

    /// Modules run as root.
    @Test func modulesSeeNothingOfTheJob() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let end = bench.run(
            request(
                bench, service, "echo fine",
                environment: ["LD_PRELOAD": "", "SECRET": "x", "PATH": "/bin:/tmp"]))
        #expect(end.lines == ["fine"])
        let path = "PATH=\(Account.searchPath)"
        #expect(
            service.lines(of: "environ") == [path, "timerd-session", path, "timerd-session"])
    }

    /// The user, the groups and the descriptors are the same as without a session.
    @Test func aRunHasItsUser_andInheritsNothingElse() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let line = """
            grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|SigBlk|SigIgn)' /proc/self/status; ls /proc/$$/fd; umask; pwd
            readlink /proc/$$/fd/0
            """
        let plain = bench.run(
            bench.request(.shell(line), in: "/tmp") {
                $0.user = "nobody"
                $0.group = "adm"
                $0.umask = 0o027
            })
        let inSession = bench.run(
            bench.request(.shell(line), in: "/tmp") {
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
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        func lines(_ pamService: String?) -> [String] {
            let line = "grep -E '^(Uid|Cap|NoNewPrivs)' /proc/self/status"
            let request = bench.request(.shell(line), in: "/") {
                $0.user = "nobody"
                $0.pamService = pamService
                var set = CapabilitySet()
                _ = set.insert("CAP_KILL")
                $0.confinement.capabilities = set
                $0.confinement.noNewPrivileges = true
            }
            return bench.run(request).lines
        }
        let plain = lines(nil)
        #expect(plain.contains("NoNewPrivs:\t1") && plain.count == 7)
        #expect(lines(service.name) == plain)
        #expect(service.log == [Self.opened, Self.closed])
    }
}
