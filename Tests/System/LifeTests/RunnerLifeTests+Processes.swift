// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// The processes of runs: their parent, their control group, and what they inherit.
extension RunnerLifeTests {
    /// Signals do not reach a process that leaves the session of its run, but the runner kills it
    /// at the end.
    @Test func processesThatARunLeavesBehindBecomeTheRunnersChildren_andNoneBecomesAZombie() throws
    {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            first = "0s"
            shell = "setsid sh -c 'echo up $$ > FOLDER/fired; read go < FOLDER/go' & exit 0"
            """)
        mkfifo("\(daemon.folder)/go", 0o600)
        try daemon.start()
        let up = try #require(daemon.nextFiring(until: daemon.ready + 10))
        let pid = try #require(up.text.split(separator: " ").last.flatMap { Int32($0) })
        let runner = try #require(daemon.runner())
        #expect(try wait { try daemon.show("a").last?.outcome == "exited(0)" })
        func parent(_ pid: Int32) -> Int32? {
            let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            return stat?.split(separator: ")").last?.split(separator: " ").dropFirst().first
                .flatMap { Int32($0) }
        }
        #expect(parent(pid) == runner)
        try "go\n".write(toFile: "\(daemon.folder)/go", atomically: false, encoding: .utf8)
        #expect(wait { parent(pid) == nil }, "it is a zombie")
        #expect(daemon.stop() == 0)
    }

    /// - Parameter limit: as prlimit(1) wants it.
    private func limitDescriptors(of process: Int32, to limit: String) throws {
        let tool = try Process.run(
            URL(fileURLWithPath: "/usr/bin/prlimit"),
            arguments: ["--pid", "\(process)", "--nofile=\(limit)"])
        tool.waitUntilExit()
        #expect(tool.terminationStatus == 0)
    }

    /// A process needs no pidfd until it is signalled, and if there is no descriptor for one then,
    /// its process group is found by its number, also when its leader has ended.
    @Test(arguments: [true, false])
    func aRunIsTerminatedWithAllItsProcesses_evenWithoutADescriptor(isLeft: Bool) throws {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            first = "0s"
            kill-timeout = "1s"
            shell = '''
            trap 'exit 7' TERM
            sh -c 'trap : TERM; echo up $$ > FOLDER/fired; while :; do sleep 1; done' &
            wait'''
            """)
        try daemon.start()
        let up = try #require(daemon.nextFiring(until: daemon.ready + 60))
        let pid = try #require(up.text.split(separator: " ").last.flatMap { Int32($0) })
        let runner = try #require(daemon.runner())
        let descriptors = "/proc/\(runner)/fd"
        let files = FileManager.default
        let open = try files.contentsOfDirectory(atPath: descriptors)
        let targets = open.compactMap {
            try? files.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)")
        }
        #expect(targets.count > 3 && !targets.contains { $0.contains("pidfd") }, "\(targets)")
        let numbers = Set(open.compactMap { Int($0) })
        // poll(2) fails with more descriptors than the limit, and the runner polls four.
        let next = (8...).first { !numbers.contains($0) }!
        if !isLeft { try limitDescriptors(of: runner, to: "\(next):") }
        #expect(try daemon.timerctl("kill", "a").status == 0)
        #expect(try wait { try daemon.show("a").last?.outcome == "stopped" })
        #expect(!lives(pid))
        try limitDescriptors(of: runner, to: "1024:")
        #expect(daemon.stop() == 0)
    }

    private static var mayDivideItsControlGroup: Bool {
        let own = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)
        let mounts = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
        guard let line = own?.split(separator: "\n").first(where: { $0.hasPrefix("0::") }),
            let mount = mounts?.split(separator: "\n").first(where: { $0.contains(" - cgroup2 ") })
        else { return false }
        let probe = "\(mount.split(separator: " ")[4])\(line.dropFirst(3))/timerd-probe-\(getpid())"
        guard mkdir(probe, 0o755) == 0 else { return false }
        let canKill = access("\(probe)/cgroup.kill", W_OK) == 0
        return rmdir(probe) == 0 && canKill
    }

    private static var hasTools: Bool {
        ["/usr/bin/taskset", "/usr/bin/ionice"].allSatisfy { (path: String) in
            access(path, X_OK) == 0
        }
    }

    /// Settings that an administrator or service manager gives the runner are not inherited by its
    /// jobs, which have the usual ones.
    @Test(.enabled(if: hasTools && geteuid() == 0, "needs root, taskset and ionice"))
    func aRunInheritsNoTreatmentOfTheRunner() throws {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            first = "0s"
            shell = "sh FOLDER/show > FOLDER/fired; sleep 600"
            """)
        try """
        echo $(cat /proc/self/oom_score_adj) $(cat /proc/self/timerslack_ns) $(ionice -p $$) \
            $(taskset -p $$ | sed 's/.*: //')
        """.write(toFile: "\(daemon.folder)/show", atomically: false, encoding: .utf8)
        let runner = Process()
        runner.executableURL = URL(fileURLWithPath: "/bin/sh")
        runner.arguments = [
            "-c",
            "echo 300 >/proc/self/oom_score_adj; echo 9000000 >/proc/self/timerslack_ns; "
                + "exec ionice -c 3 taskset -c 0 \"$@\"", "sh",
            "\(LiveDaemon.programs)/timerd-runner", "--detach", "--config", daemon.config,
            "--runtime", "\(daemon.folder)/run",
        ]
        try runner.run()
        runner.waitUntilExit()
        #expect(runner.terminationStatus == 0)
        let pid = try #require(daemon.runner())
        func text(_ file: String) -> String? {
            (try? String(contentsOfFile: "/proc/\(pid)/\(file)", encoding: .utf8))?
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        #expect(text("oom_score_adj") == "300" && text("timerslack_ns") == "9000000")
        try daemon.start()
        let fired = try #require(daemon.nextFiring(until: daemon.ready + 60))
        let words = fired.text.split(separator: " ").map(String.init)
        #expect(words.prefix(3) == ["0", "50000", "none:"], "\(fired.text)")
        // More processors than the one of the runner, unless this process has no more itself.
        let processors = words.last.flatMap { UInt64($0, radix: 16) }?.nonzeroBitCount ?? 0
        #expect(processors >= ProcessInfo.processInfo.activeProcessorCount, "\(fired.text)")
        #expect(daemon.stop() == 0)
    }

    private static func group(of pid: Int32) throws -> String {
        let text = try String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8)
        return text.split(separator: "\n").first { $0.hasPrefix("0::") }.map(String.init) ?? ""
    }

    /// Beside the groups of its runs, also if it existed at the start already, as with
    /// DelegateSubgroup= of systemd 254.
    @Test(.enabled(if: mayDivideItsControlGroup, "no control group of version 2 to divide"))
    func theRunnerHasAControlGroupOfItsOwn() throws {
        for isThere in [false, true] {
            let daemon = try make(
                """
                [job.a]
                every = "1h"
                first = "0s"
                shell = "echo up $$ > FOLDER/fired; sleep 600"
                """)
            let own = try Self.group(of: getpid())
            let mounts = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
            let mount = try #require(
                mounts.split(separator: "\n").first { $0.contains(" - cgroup2 ") }?
                    .split(separator: " ")[4])
            let leaf = "\(mount)\(own.dropFirst(3))/timerd-runner/cgroup.procs"
            let runner = Process()
            runner.executableURL = URL(fileURLWithPath: "/bin/sh")
            runner.arguments = [
                "-c", isThere ? "echo 0 >\(leaf) && exec \"$@\"" : "exec \"$@\"", "sh",
                "\(LiveDaemon.programs)/timerd-runner", "--detach", "--control-groups", "--config",
                daemon.config, "--runtime", "\(daemon.folder)/run",
            ]
            try runner.run()
            runner.waitUntilExit()
            #expect(runner.terminationStatus == 0)
            try daemon.start()
            let up = try #require(daemon.nextFiring(until: daemon.ready + 60))
            let pid = try #require(up.text.split(separator: " ").last.flatMap { Int32($0) })
            let base = own == "0::/" ? "0::" : own
            #expect(try Self.group(of: try #require(daemon.runner())) == "\(base)/timerd-runner")
            #expect(try Self.group(of: pid).hasPrefix("\(base)/timerd-run-"))
            #expect(daemon.stop() == 0)
        }
    }

    @Test(.enabled(if: mayDivideItsControlGroup, "no control group of version 2 to divide"))
    func withControlGroupsNoProcessEscapes() throws {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            first = "0s"
            timeout = "1s"
            kill-timeout = "1s"
            shell = "setsid sh -c 'trap : TERM; echo up $$ > FOLDER/fired; sleep 600' & sleep 600"
            """)
        let runner = Process()
        runner.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerd-runner")
        runner.arguments = [
            "--detach", "--control-groups", "--config", daemon.config, "--runtime",
            "\(daemon.folder)/run",
        ]
        try runner.run()
        runner.waitUntilExit()
        #expect(runner.terminationStatus == 0)
        try daemon.start()
        let up = try #require(daemon.nextFiring(until: daemon.ready + 10))
        let pid = try #require(up.text.split(separator: " ").last.flatMap { Int32($0) })
        let own = try String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8)
        #expect(own.contains("/timerd-run-"))
        #expect(try wait { try daemon.show("a").last?.outcome == "timed-out" })
        #expect(wait { !lives(pid) })
        #expect(daemon.stop() == 0)
    }
}
