// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Attacks of a job's user on the runner and on the jobs of others.
@Suite struct HostileUserTests {
    /// Ten of them hang on a directory, a program and an environment file, as jobs of root and of
    /// another user.
    @Test(
        .enabled(if: HangingFolder.isPossible, "no FUSE, or not root"),
        arguments: [nil, "nobody"], ["directory", "program", "environment file", "credential"])
    func aSetUpThatHangsDelaysNoOtherRun(user: String?, what: String) throws {
        let folder = try HangingFolder()
        let fixture = try RunnerFixture()
        let held = (0..<10).map { _ in
            fixture.request(
                .arguments([what == "program" ? "\(folder.path)/program" : "/bin/true"]),
                in: what == "directory" ? folder.path : "/"
            ) {
                $0.user = user
                if what == "environment file" { $0.environmentFile = "\(folder.path)/file" }
                if what == "credential" { $0.credentials = ["a": "\(folder.path)/file"] }
            }
        }
        fixture.runner.start(held)
        let clock = ContinuousClock()
        for _ in 0..<10 {
            let other = fixture.request(.arguments(["/bin/true"]), in: "/") { $0.user = user }
            let span = clock.measure { #expect(fixture.run(other).outcome == .exited(0)) }
            // Much more than it takes, and much less than a second for each run that hangs.
            #expect(span < .seconds(2), "it took \(span)")
        }
        // They have not started, and can be terminated.
        #expect(fixture.ends == 10)
        let span = clock.measure {
            for request in held { fixture.runner.end(request.id, grace: .seconds(60)) }
            for request in held { #expect(fixture.end(of: request).outcome == .stopped) }
        }
        #expect(span < .seconds(30), "it took \(span)")
        fixture.runner.shutdown(grace: .zero)
    }

    @Test(.enabled(if: HangingFolder.isPossible, "no FUSE, or not root"))
    func theTimeLimitIncludesTheSetUp() throws {
        let folder = try HangingFolder()
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.arguments(["/bin/true"]), in: folder.path) {
            $0.timeout = .milliseconds(300)
            $0.killTimeout = .seconds(60)
        }
        let clock = ContinuousClock()
        let span = clock.measure { #expect(fixture.run(request).outcome == .timedOut) }
        #expect(span < .seconds(20), "it took \(span)")
    }

    @Test(
        .enabled(if: HangingFolder.isPossible, "no FUSE, or not root"),
        arguments: ["directory", "environment file", "credential"])
    func aSetUpThatHangsIsAborted(what: String) throws {
        let folder = try HangingFolder()
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.run(
            fixture.request(.arguments(["true"]), in: what == "directory" ? folder.path : "/") {
                if what == "environment file" { $0.environmentFile = "-\(folder.path)/file" }
                if what == "credential" { $0.credentials = ["a": "\(folder.path)/file"] }
            })
        let wanted =
            switch what {
            case "directory": "run true within 10 seconds in \(folder.path)"
            case "credential": "read the credential \(folder.path)/file within 10 seconds"
            default: "read the environment file -\(folder.path)/file within 10 seconds"
            }
        #expect(end.outcome.description == "spawn-failed(ETIMEDOUT, \(wanted))")
        #expect(!fixture.events.contains { if case .began = $0 { true } else { false } })
    }

    private func compile(_ folder: String, _ name: String) throws {
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
        compiler.arguments = ["-o", "\(folder)/\(name)", "\(folder)/\(name).c"]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
    }

    /// Keys belong to a session, and the runs of all users are children of one process.
    @Test(.enabled(if: Native.keySession() > 0, "no keys in this kernel"))
    func aRunHasItsOwnSessionKeyring() throws {
        let folder = "/tmp/timerd-keys-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        mkdir(folder, 0o755)
        let source = """
            #include <stdio.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            int main(void) { printf("%ld\\n", syscall(SYS_keyctl, 0, -3, 0)); return 0; }
            """
        try source.write(toFile: "\(folder)/keys.c", atomically: true, encoding: .utf8)
        try compile(folder, "keys")
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        func session(_ user: String?) -> String? {
            let request = fixture.request(.arguments(["\(folder)/keys"]), in: "/") {
                $0.user = user
            }
            return fixture.run(request).lines.first
        }
        // For root as well as for another user, which has more runs than the kernel allows it keys.
        let users = geteuid() == 0 ? [nil, nil, "nobody", "nobody"] : [nil, nil]
        let sessions = users.map(session)
        #expect(Set(sessions).count == users.count && !sessions.contains(nil), "\(sessions)")
        #expect(!sessions.contains("\(Native.keySession())"))
    }

    /// A traced process remains after SIGKILL until its tracer releases it. It must not count as an
    /// active run.
    @Test(.enabled(if: geteuid() == 0, "as another user, the system decides who may trace"))
    func aTracedProcessDoesNotKeepItsRunActive() throws {
        let folder = "/tmp/timerd-trace-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        mkdir(folder, 0o755)
        let source = """
            #include <stdio.h>
            #include <sys/ptrace.h>
            #include <unistd.h>
            int main(void) {
                pid_t traced = getpid();
                if (fork() == 0) {
                    setsid();
                    if (ptrace(PTRACE_SEIZE, traced, 0, 0) != 0) return 1;
                    printf("%d\\n", getpid());
                    fflush(stdout);
                }
                for (;;) pause();
            }
            """
        try source.write(toFile: "\(folder)/trace.c", atomically: true, encoding: .utf8)
        try compile(folder, "trace")
        let fixture = try RunnerFixture()
        let request = fixture.request(.arguments(["\(folder)/trace"]))
        fixture.runner.start([request])
        fixture.wait { $0.contains { if case .output = $0 { true } else { false } } }
        let tracer = try #require(fixture.lines(of: request).first.flatMap { Int32($0) })
        fixture.runner.limit(to: 1)
        let next = fixture.request(.shell("echo next"))
        fixture.runner.start([next])
        fixture.runner.end(request.id, grace: .milliseconds(100))
        #expect(fixture.end(of: request).outcome == .stopped)
        #expect(fixture.end(of: next).outcome == .exited(0))
        #expect(kill(tracer, 0) == 0, "the first process was not traced any more")
        kill(tracer, SIGKILL)
        // The runner does not adopt orphans here, because other tests wait for their own children.
        for case .began(_, let pid, _) in fixture.events {
            var status: Int32 = 0
            waitpid(pid, &status, 0)
        }
        fixture.runner.shutdown(grace: .zero)
    }

    /// The number of a process group is reused once the group is empty.
    @Test(.enabled(if: geteuid() == 0, "only root can choose the number of a process"))
    func aSignalReachesNoOtherGroupWithTheSameNumber() throws {
        let before = try Foreign.spawn(["/bin/true"])
        let pidfd = cspawn_open_process(before)
        defer { close(pidfd) }
        var status: Int32 = 0
        #expect(waitpid(before, &status, 0) == before)
        var other: Int32 = 0
        for _ in 0..<3000 where other != before {
            if other != 0 { Foreign.end(other) }
            try "\(before - 1)".write(
                toFile: "/proc/sys/kernel/ns_last_pid", atomically: false, encoding: .utf8)
            other = try Foreign.spawn(["/bin/sleep", "300"])
        }
        defer { Foreign.end(other) }
        try #require(other == before, "the process id was not available")
        #expect(kill(-before, 0) == 0)
        for signal in [0, SIGKILL] {
            #expect(cspawn_signal_group(pidfd, before, true, signal) != 0 && errno == ESRCH)
            // As on a kernel that cannot find a group by a pidfd.
            #expect(cspawn_signal_group(-1, before, true, signal) != 0 && errno == ESRCH)
        }
        #expect(kill(other, 0) == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func aRunMayOpenItsOutputAgain() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        for user in [nil, "nobody"] {
            let request = fixture.request(
                .shell("echo out >/dev/stdout; echo bad >/dev/stderr"), in: "/"
            ) {
                $0.user = user
            }
            let end = fixture.run(request)
            #expect(end.lines == ["out"] && end.errors == ["bad"], "\(user ?? "root")")
        }
    }

    /// A user who may not read the file could have created its second name.
    @Test func anEnvironmentFileHasOneName() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let path = "\(fixture.registry)-two"
        defer { for path in [path, "\(path)-names"] { unlink(path) } }
        try "A=1\n".write(toFile: path, atomically: true, encoding: .utf8)
        link(path, "\(path)-names")
        let end = fixture.shell("exit 3") { $0.environmentFile = path }
        #expect(
            end.outcome.description == "spawn-failed(EPERM, read the environment file \(path), "
                + "which has 2 names (hard links): copy it)")
    }

    /// A run of the scheduler's own user could control the scheduler.
    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func noRunExecutesAsTheUserOfTheScheduler() throws {
        var options = Runner.Options()
        options.refusedUser = 65_534
        let fixture = try RunnerFixture(options: options)
        defer { fixture.runner.shutdown(grace: .zero) }
        let refused = fixture.run(
            fixture.request(.arguments(["true"]), in: "/") { $0.user = "nobody" })
        #expect(
            refused.outcome.description
                == "spawn-failed(EPERM, run as nobody, who is the user of the "
                + "scheduler: give the job another user)")
        #expect(fixture.run(fixture.request(.arguments(["true"]), in: "/")).outcome == .exited(0))
    }

    /// A run that continues must not be reported as lost because of the name of its program.
    @Test(arguments: [
        "true", "a b", "a) S 1 (b", "\u{600}", "a\u{301}", ")\u{301}", "\u{600}) \u{600}", "",
    ])
    func aProcessIsFoundWhateverItsName(name: String) {
        let fields = (3...52).map { $0 == 22 ? "4711" : "\($0)" }.joined(separator: " ")
        #expect(RunRegistry.Process.start(in: "12 (\(name)) \(fields)\n") == 4711)
    }

    @Test func theMemoryOfARunnerIsProtected() async {
        await #expect(processExitsWith: .success) {
            // PR_GET_DUMPABLE.
            #expect(Native.prctl(3) == 1)
            RunnerProcess.hideMemory()
            #expect(Native.prctl(3) == (geteuid() == 0 ? 0 : 1))
            let fixture = try RunnerFixture()
            #expect(fixture.shell("exit 3").outcome == .exited(3))
            fixture.runner.shutdown(grace: .zero)
        }
    }
}

/// Processes that lead their own process groups and are not runs.
private enum Foreign {
    static func spawn(_ arguments: [String]) throws -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var strings = arguments.map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        var pid: pid_t = 0
        try #require(posix_spawn(&pid, arguments[0], nil, &attributes, &strings, environ) == 0)
        return pid
    }

    static func end(_ pid: Int32) {
        kill(pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }
}
