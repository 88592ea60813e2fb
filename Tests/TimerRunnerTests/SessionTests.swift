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

/// A PAM service for one test, and a folder for the files that its modules write. libpam only reads
/// the services of the system, so the service has a unique name and is removed afterwards.
private final class PamService: Sendable {
    let name = "timerd-test-\(UUID().uuidString.lowercased())"
    let folder: String
    private let path: String

    /// Whether it can be created: this needs root, PAM's own modules and the program that this
    /// package builds.
    static var isPossible: Bool {
        let modules = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64"]
        return geteuid() == 0 && access("/etc/pam.d", W_OK) == 0
            && modules.contains { access("\($0)/security/pam_exec.so", R_OK) == 0 }
            && Spawner.helpers.contains { access($0, X_OK) == 0 }
    }

    /// - Parameter rules: the lines for accounts and sessions; LOG is a module that records for
    ///   what it was called, and FOLDER the folder. Everything else is allowed.
    init(_ rules: String) throws {
        folder = "/tmp/\(name)"
        path = "/etc/pam.d/\(name)"
        mkdir(folder, 0o755)
        let logger = """
            #!/bin/sh
            echo "$PAM_TYPE $PAM_USER $PAM_TTY" >>\(folder)/log
            tr '\\0' '\\n' </proc/$PPID/environ >>\(folder)/environ
            tr '\\0' '\\n' </proc/$PPID/cmdline >>\(folder)/environ
            """
        try write(logger, to: "logger")
        chmod("\(folder)/logger", 0o755)
        let text = """
            auth required pam_permit.so
            account required pam_permit.so
            session required pam_permit.so

            """
        let lines = rules.replacing("LOG", with: "pam_exec.so \(folder)/logger")
            .replacing("FOLDER", with: folder)
        try (text + lines + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }

    deinit {
        unlink(path)
        try? FileManager.default.removeItem(atPath: folder)
    }

    func write(_ text: String, to file: String) throws {
        try "\(text)\n".write(toFile: "\(folder)/\(file)", atomically: true, encoding: .utf8)
    }

    func lines(of file: String) -> [String] {
        let text = try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
        return (text ?? "").split(separator: "\n").map(String.init)
    }

    /// The calls of its modules.
    var log: [String] { lines(of: "log") }
}

/// Runs with `pam-service`.
@Suite(.enabled(if: PamService.isPossible, "not root, or no PAM")) struct SessionTests {
    private static let opened = "open_session nobody cron"
    private static let closed = "close_session nobody cron"

    private func request(
        _ bench: Bench, _ service: PamService, _ line: String,
        environment: [String: String] = [:], user: String? = "nobody",
        _ execution: (inout Execution) -> Void = { _ in }
    ) -> RunRequest {
        bench.request(.shell(line), environment: environment, in: "/") {
            $0.user = user
            $0.pamService = service.name
            execution(&$0)
        }
    }

    private func hasBegun(_ request: RunRequest, _ bench: Bench) -> Bool {
        bench.events.contains {
            if case .began(request.id, _, _) = $0 { true } else { false }
        }
    }

    @Test func aSessionIsOpenBeforeTheJob_andClosedAfterIt() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = request(
            bench, service, "cat \(service.folder)/log; id -un; echo problem >&2; exit 7")
        let end = bench.run(request)
        #expect(end.outcome == .exited(7))
        #expect(end.lines == [Self.opened, "nobody"] && end.errors == ["problem"])
        #expect(service.log == [Self.opened, Self.closed])
        #expect(hasBegun(request, bench))
    }

    /// A job without `user` runs as root.
    @Test func aRunOfRootHasASessionToo() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        #expect(bench.run(request(bench, service, "id -un", user: nil)).lines == ["root"])
        #expect(service.log == ["open_session root cron", "close_session root cron"])
    }

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

    /// The name of PAM's error, and PAM's message.
    @Test(arguments: [
        (
            "account required pam_debug.so acct=acct_expired",
            "spawn-failed(PAM_ACCT_EXPIRED, check the account nobody with the PAM service NAME: User account has expired)"
        ),
        (
            "account required pam_deny.so",
            "spawn-failed(PAM_AUTH_ERR, check the account nobody with the PAM service NAME: Authentication failure)"
        ),
        (
            "session required pam_deny.so",
            "spawn-failed(PAM_SESSION_ERR, open a session of nobody with the PAM service NAME: "
                + "Cannot make/remove an entry for the specified session)"
        ),
        (
            "auth required pam_debug.so cred=cred_expired",
            "spawn-failed(PAM_CRED_EXPIRED, set the credentials of nobody with the PAM service NAME: "
                + "User credentials expired)"
        ),
        (
            "account required no-such-module.so",
            "spawn-failed(PAM_MODULE_UNKNOWN, check the account nobody with the PAM service NAME: Module is unknown)"
        ),
    ])
    func aRefusalPreventsTheRun(rule: String, outcome: String) throws {
        let service = try PamService("\(rule)\naccount required LOG\nsession required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = request(bench, service, "echo it runs")
        let end = bench.run(request)
        #expect(end.outcome.description == outcome.replacing("NAME", with: service.name))
        #expect(end.lines == [] && !hasBegun(request, bench))
        if !rule.hasPrefix("session") {
            #expect(!service.log.contains(Self.opened), "\(service.log)")
        }
    }

    /// PAM itself would use the rules of `other`.
    @Test func aMissingServicePreventsTheRun() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let name = "timerd-test-missing"
        let end = bench.shell("echo it runs") {
            $0.user = "nobody"
            $0.pamService = name
        }
        #expect(
            end.outcome.description
                == "spawn-failed(ENOENT, find the PAM service \(name): neither /etc/pam.d/\(name) nor "
                + "/usr/lib/pam.d/\(name) exists; create it or change pam-service)")
        #expect(end.lines == [])
    }

    /// After the session was opened.
    @Test func aMissingProgramIsReported_andTheSessionIsClosed() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = bench.request(.arguments(["/nowhere/at/all"]), in: "/") {
            $0.user = "nobody"
            $0.pamService = service.name
        }
        let end = bench.run(request)
        #expect(end.outcome.description == "spawn-failed(ENOENT, exec /nowhere/at/all)")
        #expect(!hasBegun(request, bench))
        #expect(service.log == [Self.opened, Self.closed])
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

    @Test(arguments: ["KILL", "SEGV", "ALRM", "TERM", "USR1"])
    func theSignalThatEndedTheJobIsTheResult(signal: String) throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let end = bench.run(request(bench, service, "kill -\(signal) $$"))
        #expect(end.outcome == .signalled("SIG\(signal)"))
        #expect(service.log == [Self.opened, Self.closed])
    }

    /// `timerctl kill --signal` is for the job: its session stays open while the job runs.
    @Test(arguments: [SIGTERM, SIGALRM, SIGSEGV, SIGHUP, SIGTSTP, SIGUSR1])
    func aSignalForTheJobDoesNotEndItsSession(number: Int32) throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let name = try #require(cspawn_signal_name(number).map { String(cString: $0) })
        let request = request(
            bench, service,
            "trap 'echo got it; exit 5' \(name); echo ready; while :; do sleep 0.01; done")
        bench.runner.start([request])
        bench.wait(forLine: "ready")
        bench.runner.signal(request.id, number)
        let end = bench.end(of: request)
        #expect(end.outcome == .exited(5) && end.lines == ["ready", "got it"])
        #expect(service.log == [Self.opened, Self.closed])
    }

    /// Whether it ends by SIGTERM, or has to be killed.
    @Test(arguments: ["exec sleep 1000", "trap '' TERM; echo ready; while :; do sleep 1; done"])
    func aTerminatedRunHasItsSessionClosed(line: String) throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let timed = request(bench, service, line) {
            $0.timeout = .seconds(1)
            $0.killTimeout = .milliseconds(100)
        }
        #expect(bench.run(timed).outcome == .timedOut)
        #expect(service.log == [Self.opened, Self.closed])
        let stopped = request(bench, service, "echo here; \(line)")
        bench.runner.start([stopped])
        bench.wait(forLine: "here")
        bench.runner.end(stopped.id, grace: .milliseconds(100))
        #expect(bench.end(of: stopped).outcome == .stopped)
        #expect(service.log == [Self.opened, Self.closed, Self.opened, Self.closed])
    }

    @Test func aModuleThatHangsDelaysNoOtherRun_andIsAborted() throws {
        let service = try PamService("session required pam_exec.so /bin/sleep 1000")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let held = (0..<10).map { _ in request(bench, service, "echo it runs") }
        bench.runner.start(held)
        for _ in 0..<10 {
            let other = bench.request(.arguments(["/bin/true"]), in: "/") { $0.user = "nobody" }
            #expect(bench.run(other).outcome == .exited(0))
        }
        // They had not started when the others had ended.
        #expect(bench.ends == 10 && !held.contains { hasBegun($0, bench) })
        bench.runner.end(held[0].id, grace: .seconds(60))
        #expect(bench.end(of: held[0]).outcome == .stopped)
        let outcome =
            "spawn-failed(ETIMEDOUT, open a session of nobody with the PAM service \(service.name) within 10 seconds)"
        for request in held.dropFirst() {
            #expect(bench.end(of: request).outcome.description == outcome)
        }
    }

    @Test func theTimeLimitIncludesTheModules() throws {
        let service = try PamService("session required pam_exec.so /bin/sleep 1000")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = request(bench, service, "echo it runs") { $0.timeout = .milliseconds(300) }
        #expect(bench.run(request).outcome == .timedOut)
        #expect(!hasBegun(request, bench))
    }

    /// The session stays open then, but nothing waits for it without limit.
    @Test func aModuleThatHangsAtTheEndDoesNotChangeTheResult() throws {
        let service = try PamService(
            "session required pam_exec.so type=close_session /bin/sleep 1000")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        #expect(bench.run(request(bench, service, "exit 3")).outcome == .exited(3))
    }

    /// Compiles a module for the test, whose function executes only this statement.
    private func compile(_ statement: String, in function: String, _ service: PamService) throws {
        let source = """
            #include <signal.h>
            #include <stdlib.h>
            #include <unistd.h>
            int pam_sm_\(function)_session(void *handle, int flags, int count, const char **arguments) {
                \(statement)
                return 0;
            }
            int pam_sm_\(function == "open" ? "close" : "open")_session(void *handle) { return 0; }
            """
        try service.write(source, to: "module.c")
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
        compiler.arguments = [
            "-shared", "-fPIC", "-o", "\(service.folder)/module.so", "\(service.folder)/module.c",
        ]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
    }

    private static let mistakes = [
        "exit(0);", "_exit(0);", "abort();", "*(volatile int *)0 = 1;", "kill(getpid(), SIGKILL);",
    ]

    @Test(arguments: mistakes)
    func aModuleThatEndsTheProcessBeforeTheJobFailsTheRun(statement: String) throws {
        let service = try PamService("session required FOLDER/module.so")
        try compile(statement, in: "open", service)
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = request(bench, service, "echo it runs")
        let end = bench.run(request)
        #expect(
            end.outcome.description.hasPrefix(
                "spawn-failed(ECHILD, open a session with the PAM service"), "\(end.outcome)")
        #expect(end.lines == [] && !hasBegun(request, bench))
    }

    @Test(arguments: ["exit(0);", "abort();", "*(volatile int *)0 = 1;", "raise(SIGTERM);"])
    func aModuleThatFailsAtTheEndDoesNotChangeTheResult(statement: String) throws {
        let service = try PamService("session required FOLDER/module.so")
        try compile(statement, in: "close", service)
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        #expect(bench.run(request(bench, service, "exit 3")).outcome == .exited(3))
        #expect(
            bench.run(request(bench, service, "kill -HUP $$")).outcome == .signalled("SIGHUP"))
    }

    @Test func aKilledHelperFailsTheRun() throws {
        let service = try PamService(
            "session required LOG\nsession required pam_exec.so FOLDER/kill")
        try service.write("#!/bin/sh\nkill -KILL $PPID", to: "kill")
        chmod("\(service.folder)/kill", 0o755)
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let request = request(bench, service, "echo it runs")
        let end = bench.run(request)
        #expect(
            end.outcome.description
                == "spawn-failed(ECHILD, open a session with the PAM service \(service.name): timerd-session ended; "
                + "see the system log for what a PAM module says)")
        #expect(end.lines == [] && !hasBegun(request, bench))
    }

    @Test func aLongRequestIsPassed() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        // More than a socket or a pipe can hold; each part is below the limit of the kernel
        // (execve(2)).
        let environment = Dictionary(
            uniqueKeysWithValues: (0..<10).map {
                ("LONG_\($0)", String(repeating: "x", count: 100_000))
            })
        let end = bench.run(
            request(bench, service, "echo ${#LONG_0} ${#LONG_9}", environment: environment))
        #expect(end.lines == ["100000 100000"])
    }

    @Test func manyAtOnceEachHaveASession_andTheirOutput() throws {
        let service = try PamService("session required LOG")
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let requests = (0..<50).map { number in
            request(bench, service, "seq 100; exit \(number)")
        }
        bench.runner.start(requests)
        let lines = (1...100).map { "\($0)" }
        for (number, request) in requests.enumerated() {
            let end = bench.end(of: request)
            #expect(end.outcome == .exited(Int32(number)) && end.lines == lines)
            // Its output is reported after its start.
            let first = bench.events.first { $0.run == request.id }
            if case .began = first {} else { Issue.record("\(String(describing: first))") }
        }
        #expect(service.log.count == 100)
        bench.runner.shutdown(grace: .zero)
    }

    @Test func theNextRunnerReattachesTheRun_andTheSessionIsClosed() throws {
        let service = try PamService("session required LOG")
        let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
        // The runner does not shut down; its records are in its registry.
        let before = try Bench(registry: folder)
        let request = request(
            before, service, "echo ready; while [ ! -e \(service.folder)/go ]; do sleep 0.01; done")
        before.runner.start([request])
        before.wait(forLine: "ready")
        let after = try Bench(registry: folder)
        #expect(hasBegun(request, after))
        try service.write("", to: "go")
        #expect(after.end(of: request).outcome == .lost(.runner))
        #expect(before.end(of: request).outcome == .exited(0))
        #expect(service.log == [Self.opened, Self.closed])
        before.runner.shutdown(grace: .zero)
        after.runner.shutdown(grace: .zero)
    }

    /// A run that another runner started is terminated by its process group.
    @Test func aReattachedRunCanBeTerminated_andTheSessionIsClosed() throws {
        let service = try PamService("session required LOG")
        let folder = "/tmp/timerd-registry-\(UUID().uuidString)"
        let before = try Bench(registry: folder)
        let request = request(before, service, "echo ready; exec sleep 1000")
        before.runner.start([request])
        before.wait(forLine: "ready")
        let after = try Bench(registry: folder)
        after.runner.end(request.id, grace: .seconds(60))
        #expect(after.end(of: request).outcome == .stopped)
        #expect(before.end(of: request).outcome == .signalled("SIGTERM"))
        #expect(service.log == [Self.opened, Self.closed])
        before.runner.shutdown(grace: .zero)
        after.runner.shutdown(grace: .zero)
    }
}

/// The program started directly.
@Suite struct SessionHelperTests {
    @Test(.enabled(if: Spawner.helpers.contains { access($0, X_OK) == 0 }, "not built"))
    func reportsThatOnlyTheRunnerCanStartIt() throws {
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: try #require(Spawner.helpers.first { access($0, X_OK) == 0 }))
        let problem = Pipe()
        process.standardError = problem
        try process.run()
        let text = String(
            decoding: problem.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 2)
        #expect(text.contains("only timerd-runner can start this program"))
    }

    /// Only root can open a session.
    @Test(.enabled(if: geteuid() != 0, "root can"))
    func aRunnerOfAUserRefuses() throws {
        let bench = try Bench()
        defer { bench.runner.shutdown(grace: .zero) }
        let end = bench.shell("echo it runs") { $0.pamService = "cron" }
        #expect(
            end.outcome.description.hasPrefix(
                "spawn-failed(EPERM, open a session with the PAM service cron"))
        #expect(end.lines == [])
    }
}
