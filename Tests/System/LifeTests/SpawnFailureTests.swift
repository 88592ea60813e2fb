// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// Runs whose process cannot be started: system calls of the real runner are made to fail.
@Suite(
    .ownThreads, .serialized,
    .enabled(
        if: access("/usr/bin/strace", X_OK) == 0 && geteuid() == 0,
        "strace makes the calls fail, and only root may look into a process that is not its child"))
struct SpawnFailureTests {
    /// strace on a runner, until it is detached.
    private final class Fault {
        private let process = Process()
        private let log = "/tmp/timerd-strace-\(UUID().uuidString)"

        init(_ call: String, _ error: String, in runner: Int32) throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
            process.arguments = [
                "-f", "-p", "\(runner)", "-o", log, "-e", "trace=\(call)", "-e",
                "inject=\(call):\(error)",
            ]
            process.standardError = FileHandle.nullDevice
            try process.run()
            // strace must be attached to every thread.
            let deadline = LiveDaemon.now() + 20
            while LiveDaemon.now() < deadline, !Self.isTraced(runner) { usleep(10_000) }
            #expect(Self.isTraced(runner))
        }

        deinit { unlink(log) }

        /// Whether the output of strace contains this.
        func says(_ text: String) -> Bool {
            (try? String(contentsOfFile: log, encoding: .utf8))?.contains(text) == true
        }

        func end() {
            // strace may have its signals blocked, because the queue that started it has. The
            // traced process continues without it.
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        private static func isTraced(_ runner: Int32) -> Bool {
            let folder = "/proc/\(runner)/task"
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return threads.allSatisfy { thread in
                let status = try? String(
                    contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)
                return status?.contains("TracerPid:\t0\n") == false
            }
        }
    }

    private func wait(until isDone: () throws -> Bool) rethrows -> Bool {
        let deadline = LiveDaemon.now() + 30
        while LiveDaemon.now() < deadline {
            if try isDone() { return true }
            usleep(20_000)
        }
        return try isDone()
    }

    /// Each attempt fails with the name of the error and waits for its delay, and if something is
    /// used up it is tried again for a moment first. Afterwards all is as before.
    @Test(arguments: [
        (
            "clone", "EAGAIN",
            "clone: the service (TasksMax=) or the machine has as many processes as it may, for 5 seconds"
        ), ("clone", "ENOMEM", "clone, for 5 seconds"),
        ("pipe2", "EMFILE", "make a pipe, for 5 seconds"),
        ("epoll_ctl", "ENOSPC", "watch a pipe, for 5 seconds"),
        ("setsid", "EPERM", "setsid"), ("rt_sigaction", "EINVAL", "reset the signals"),
        ("dup3", "EBUSY", "set up the descriptors"), ("chdir", "EIO", "chdir /"),
        ("prlimit64", "EPERM", "set the limit of open files"),
        ("setgroups", "EPERM", "set the groups of nobody"),
        ("setresgid", "EAGAIN", "set the group of nobody, for 5 seconds"),
        ("setresuid", "EAGAIN", "switch to the user nobody, for 5 seconds"),
        ("sched_setattr,setpriority", "EINVAL", "set the nice value 0"),
        ("execve", "ENOMEM", "exec /bin/true, for 5 seconds"),
        ("execve", "ETXTBSY", "exec /bin/true"), ("execve", "ELIBBAD", "exec /bin/true"),
    ])
    func aStepThatFailsIsNamed_andTheRetryPolicyApplies(
        call: String, error: String, step: String
    ) throws {
        let daemon = try LiveDaemon(
            """
            [job.a]
            every = "1h"
            command = ["/bin/true"]
            user = "nobody"
            working-directory = "/"
            retries = 2
            retry-delay = "300ms"
            retry-backoff = 1.0
            """)
        try daemon.start()
        let runner = try #require(daemon.runner())
        func runs() throws -> [RunStatus] {
            let reply = try ControlClient(path: daemon.socket).send(.history(HistoryQuery()))
            return try ControlJSON.decode(HistoryReply.self, from: reply.body).runs
        }
        let fault = try Fault(call, "error=\(error)", in: runner)
        _ = try daemon.ask(.command(.run, Job.Name("a")!))
        #expect(try wait { try runs().count == 3 })
        fault.end()
        let failed = try runs()
        #expect(failed.allSatisfy { $0.outcome == "spawn-failed(\(error), \(step))" })
        #expect(failed.map(\.id).map { $0.last } == ["3", "2", "1"])
        let ends = failed.map { WallInstant(rfc3339: $0.ended ?? "")! }
        #expect(ends[0] - ends[1] >= .milliseconds(290) && ends[1] - ends[2] >= .milliseconds(290))
        #expect(daemon.runner() == runner)
        _ = try daemon.ask(.command(.run, Job.Name("a")!))
        #expect(try wait { try runs().first?.outcome == "exited(0)" })
        #expect(daemon.stop() == 0)
    }

    private func standsStill(childOf runner: Int32) -> Bool {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.contains { process in
            let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            let fields = stat?.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && fields[0].uppercased() == "T" && fields[1] == "\(runner)"
        }
    }

    /// A file server that does not answer, or a user who suspends the process that is about to
    /// become the job, delays no other job: the start fails after a time limit.
    @Test func aStartThatHangsIsGivenUp_andTheOthersGoOn() throws {
        let daemon = try LiveDaemon(
            """
            [job.a]
            every = "1h"
            command = ["/bin/true"]
            user = "nobody"
            working-directory = "/"
            """)
        try daemon.start()
        let runner = try #require(daemon.runner())
        // The process has the user nobody already when it enters its directory.
        let fault = try Fault("chdir", "signal=STOP", in: runner)
        let before = LiveDaemon.now()
        _ = try daemon.ask(.command(.run, Job.Name("a")!))
        // It is suspended only for strace, and would continue without it.
        #expect(wait { fault.says("stopped by SIGSTOP") })
        fault.end()
        #expect(standsStill(childOf: runner))
        #expect(try wait { try daemon.show("a").last != nil })
        let took = LiveDaemon.now() - before
        #expect(
            try daemon.show("a").last?.outcome
                == "spawn-failed(ETIMEDOUT, run /bin/true within 10 seconds in /)")
        #expect(took > 9 && took < 25, "\(took) s")
        _ = try daemon.ask(.command(.run, Job.Name("a")!))
        #expect(try wait { try daemon.show("a").last?.outcome == "exited(0)" })
        #expect(daemon.stop() == 0)
    }
}
