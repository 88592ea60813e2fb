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

/// Everything that a process inherits from its parent, as reported by a program that runs as a job.
@Suite struct ChildTests {
    /// Prints one attribute per line.
    private static let probe = """
        #define _GNU_SOURCE
        #include <dirent.h>
        #include <grp.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/prctl.h>
        #include <sys/resource.h>
        #include <sys/stat.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        extern char **environ;
        int main(int count, char **arguments) {
            for (int i = 0; i < count; i++) printf("argument %s\\n", arguments[i]);
            unsigned long mask = 0;
            syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
            printf("mask %lx\\n", mask);
            for (int i = 1; i <= 64; i++) {
                unsigned long action[4] = {0};
                if (syscall(SYS_rt_sigaction, i, NULL, action, 8) == 0 && action[0] != 0) {
                    printf("signal %d %lx\\n", i, action[0]);
                }
            }
            sigset_t pending;
            sigpending(&pending);
            for (int i = 1; i <= 64; i++) if (sigismember(&pending, i) == 1) printf("pending %d\\n", i);
            printf("nice %d\\n", getpriority(PRIO_PROCESS, 0));
            struct { unsigned size, policy; unsigned long flags; int nice; unsigned priority; unsigned long runtime[3]; } own;
            if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) == 0)
                printf("policy %u %lx slice %lu\\n", own.policy, own.flags, own.runtime[0]);
            printf("leads %d %d\\n", getsid(0) == getpid(), getpgrp() == getpid());
            mode_t mode = umask(0);
            printf("umask %o\\n", mode);
            for (int i = 0; i < RLIM_NLIMITS; i++) {
                struct rlimit limit;
                if (getrlimit(i, &limit) == 0)
                    printf("limit %d %lu %lu\\n", i, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
            }
            DIR *listing = opendir("/proc/self/fd");
            for (struct dirent *entry; (entry = readdir(listing));) {
                int number = atoi(entry->d_name);
                if (entry->d_name[0] == '.' || number == dirfd(listing)) continue;
                struct stat status;
                fstat(number, &status);
                printf("descriptor %d %s\\n", number, S_ISFIFO(status.st_mode) ? "pipe" : S_ISCHR(status.st_mode) ? "device" : "other");
            }
            for (char **variable = environ; *variable; variable++) printf("variable %s\\n", *variable);
            char path[4096];
            printf("in %s\\n", getcwd(path, sizeof path));
            uid_t u[3]; gid_t g[3], groups[1024];
            getresuid(&u[0], &u[1], &u[2]);
            getresgid(&g[0], &g[1], &g[2]);
            printf("user %u %u %u group %u %u %u\\n", u[0], u[1], u[2], g[0], g[1], g[2]);
            int n = getgroups(1024, groups);
            for (int i = 0; i < n; i++) printf("member %u\\n", groups[i]);
            printf("no-new-privs %d dumpable %d death-signal-free\\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
            return 0;
        }
        """

    /// Builds the program, once for each test, in a place where every user may execute it.
    private func build() throws -> String {
        let folder = "/tmp/timerd-probe-\(UUID().uuidString)"
        mkdir(folder, 0o755)
        chmod(folder, 0o755)
        try Self.probe.write(toFile: "\(folder)/probe.c", atomically: true, encoding: .utf8)
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
        compiler.arguments = ["-o", "\(folder)/probe", "\(folder)/probe.c"]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        return folder
    }

    /// The system's default time slice, as the program reports it when it is not run as a job.
    private func commonSlice(_ folder: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(folder)/probe")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return try #require(
            text.split(separator: "\n").map(String.init).first { $0.hasPrefix("policy ") })
    }

    private func limits() -> [String] {
        (0..<16).compactMap { number in
            var limit = rlimit()
            guard getrlimit(__rlimit_resource_t(UInt32(number)), &limit) == 0 else { return nil }
            return "limit \(number) \(limit.rlim_cur) \(limit.rlim_max)"
        }
    }

    /// Started from a dispatch queue, whose threads block signals and have a nice value, in a
    /// process that ignores and handles signals and has descriptors that are not closed on exec.
    @Test func aRunInheritsExactlyWhatIsListed() async throws {
        await #expect(processExitsWith: .success) {
            try ChildTests().expectExactlyWhatIsListed()
        }
    }

    private func expectExactlyWhatIsListed() throws {
        let folder = try build()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for number in [SIGPIPE, SIGHUP, SIGTERM, SIGUSR1] { signal(number, SIG_IGN) }
        signal(SIGUSR2) { _ in }
        setenv("TIMERD_TEST_SECRET", "x", 1)
        setenv("NOTIFY_SOCKET", "/x", 1)
        Glibc.umask(0o077)
        let leak = dup(1)
        defer { close(leak) }
        let before = limits()
        let slice = try commonSlice(folder)
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(
            .arguments(["\(folder)/probe", "a b"]), environment: ["WHOM": "a b", "PATH": "/bin"],
            in: "/tmp")
        DispatchQueue(label: "starter", qos: .background).sync { fixture.runner.start([request]) }
        let end = fixture.end(of: request)
        #expect(end.outcome == .exited(0) && end.errors == [])
        let account = getpwuid(geteuid())!
        let user = String(cString: account.pointee.pw_name)
        let id = "\(getuid()) \(geteuid()) \(geteuid())"
        let group = "\(getgid()) \(getegid()) \(getegid())"
        var members = [gid_t](repeating: 0, count: 1024)
        let count = getgroups(1024, &members)
        let expected =
            [
                "argument \(folder)/probe", "argument a b", "mask 0", "nice 0", slice, "leads 1 1",
                "umask 22", "descriptor 0 device", "descriptor 1 pipe", "descriptor 2 pipe",
                "variable PATH=/bin", "variable HOME=\(String(cString: account.pointee.pw_dir))",
                "variable SHELL=\(String(cString: account.pointee.pw_shell))",
                "variable USER=\(user)", "variable LOGNAME=\(user)", "variable WHOM=a b",
                "variable TIMERD_JOB=probe", "variable TIMERD_MISSED=2",
                "variable TIMERD_RUN_ID=\(request.id)", "variable TIMERD_ACTIVE_SECONDS=90",
                "variable TIMERD_SCHEDULED=\(request.id.firing.scheduled.rfc3339Micros)", "in /tmp",
                "user \(id) group \(group)", "no-new-privs 0 dumpable 1 death-signal-free",
            ] + before + members.prefix(Int(count)).map { "member \($0)" }
        #expect(end.lines.sorted() == expected.sorted())
    }

    /// A shell that only refuses logins would be started by flock(1), script(1) and ssh(1).
    @Test(arguments: [
        ("/usr/sbin/nologin", false), ("/sbin/nologin", false), ("/usr/bin/nologin", false),
        ("/bin/nologin", false), ("/bin/false", false), ("/usr/bin/false", false),
        ("/bin/true", false), ("/usr/bin/true", false), ("//usr//sbin/nologin", false), ("", false),
        ("/bin/sh", true), ("/usr/bin/bash", true), ("/opt/bin/nologin", true),
        ("/usr/sbin/false", true), ("/usr/lib/git-core/git-shell", true),
    ])
    func onlyAShellThatRunsCommandsIsSet(shell: String, isSet: Bool) {
        let account = Account(name: "me", home: "/", shell: shell)
        #expect(account.variables["SHELL"] == (isSet ? shell : nil))
    }

    /// During a burst of starts only the runner's thread has a higher priority, and the runs do not
    /// inherit it.
    @Test func inABurstARunHasNoPriorityOverOthers() throws {
        let folder = try build()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let slice = try commonSlice(folder)
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        // Enough for two loop iterations; the second one has many starts.
        let requests = (0..<100).map { number in
            fixture.request(.arguments(["\(folder)/probe"])) { $0.nice = number % 2 == 0 ? 0 : 5 }
        }
        fixture.runner.start(requests)
        for (number, request) in requests.enumerated() {
            let lines = fixture.end(of: request).lines
            let nice = "nice \(number % 2 == 0 ? 0 : 5)"
            #expect(lines.contains(nice) && lines.contains(slice), "\(number): \(lines)")
        }
    }

    @Test func aRunHasTheDeclaredAttributes() throws {
        let folder = try build()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let slice = try commonSlice(folder)
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let request = fixture.request(.arguments(["\(folder)/probe"])) {
            $0.umask = 0o027
            $0.nice = 5
            $0.limits = [
                .nofile: 100, .core: .some(0), .fsize: 1 << 30, .cpu: 60, .as: 8 << 30,
            ]
        }
        let lines = fixture.run(request).lines
        for line in [
            "umask 27", "nice 5", slice, "limit \(RLIMIT_NOFILE.rawValue) 100 100",
            "limit \(RLIMIT_CORE.rawValue) 0 0", "limit \(RLIMIT_CPU.rawValue) 60 60",
            "limit \(RLIMIT_FSIZE.rawValue) \(1 << 30) \(1 << 30)",
            "limit \(RLIMIT_AS.rawValue) \(8 << 30) \(8 << 30)",
        ] { #expect(lines.contains(line), "\(line) is not in \(lines)") }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func aRunHasTheDeclaredUser_withItsGroupsAndNoOthers() throws {
        let folder = try build()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.run(
            fixture.request(.arguments(["\(folder)/probe"])) { $0.user = "nobody" })
        #expect(end.outcome == .exited(0))
        let entry = getpwnam("nobody")!
        let uid = entry.pointee.pw_uid
        let gid = entry.pointee.pw_gid
        #expect(end.lines.contains("user \(uid) \(uid) \(uid) group \(gid) \(gid) \(gid)"))
        #expect(end.lines.filter { $0.hasPrefix("member") } == ["member \(gid)"])
        #expect(end.lines.contains("variable USER=nobody"))
        #expect(end.lines.contains("variable HOME=\(String(cString: entry.pointee.pw_dir))"))
        let grouped = fixture.run(
            fixture.request(.arguments(["\(folder)/probe"])) {
                $0.user = "nobody"
                $0.group = "adm"
            })
        let adm = getgrnam("adm")!.pointee.gr_gid
        #expect(grouped.lines.contains("user \(uid) \(uid) \(uid) group \(adm) \(adm) \(adm)"))
        // The user of the parent has not changed.
        #expect(geteuid() == 0 && getuid() == 0)
    }

    @Test(arguments: [
        ("nosuchuser", "spawn-failed(ENOENT, look up the user \"nosuchuser\")"),
        ("0", "spawn-failed(EINVAL, look up the user \"0\": not a valid user name)"),
        ("65534", "spawn-failed(EINVAL, look up the user \"65534\": not a valid user name)"),
        ("-1", "spawn-failed(EINVAL, look up the user \"-1\": not a valid user name)"),
        ("0x0", "spawn-failed(EINVAL, look up the user \"0x0\": not a valid user name)"),
        ("+0", "spawn-failed(EINVAL, look up the user \"+0\": not a valid user name)"),
        ("", "spawn-failed(EINVAL, look up the user \"\": not a valid user name)"),
    ])
    func anUnknownUserFailsTheRun(user: String, outcome: String) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        #expect(fixture.shell("true") { $0.user = user }.outcome.description == outcome)
        let group = fixture.shell("true") { $0.group = user }.outcome.description
        let expected = outcome.replacing("the user", with: "the group")
            .replacing("valid user", with: "valid group")
        #expect(group == expected)
    }

    @Test func aRunnerThatIsNotRootCanOnlyUseItsOwnUser() throws {
        let account = Account(name: "me", home: "/", shell: "/bin/sh")
        let own = String(cString: getpwuid(geteuid())!.pointee.pw_name)
        let found = try Account.resolve(user: own, group: nil, current: account)
        #expect(found.name == own)
        #expect((found.identity != nil) == (geteuid() == 0))
    }
}
