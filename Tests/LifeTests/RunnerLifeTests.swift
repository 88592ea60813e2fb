// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// Jobs keep running without the scheduler. Also most of what can happen to the runner.
@Suite struct RunnerLifeTests {
    /// A daemon whose jobs' commands may name its `FOLDER`.
    private func make(_ jobs: String) throws -> LiveDaemon {
        let daemon = try LiveDaemon(jobs)
        try daemon.write(jobs.replacing("FOLDER", with: daemon.folder))
        return daemon
    }

    private func wait(_ seconds: Double = 30, until isDone: () throws -> Bool) rethrows -> Bool {
        let deadline = LiveDaemon.now() + seconds
        while LiveDaemon.now() < deadline {
            if try isDone() { return true }
            usleep(20_000)
        }
        return try isDone()
    }

    private func lives(_ pid: Int32) -> Bool {
        let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return status.map { !$0.contains(") Z ") } ?? false
    }

    @Test func aRunContinuesWithoutTheDaemon_andItsEndIsRecordedByTheNextOne() throws {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            first = "0s"
            shell = "echo up $$ > FOLDER/fired; read go < FOLDER/go; echo last words; exit 3"
            """)
        mkfifo("\(daemon.folder)/go", 0o600)
        try daemon.start()
        #expect(daemon.nextFiring(until: daemon.ready + 10)?.text.hasPrefix("up ") == true)
        _ = daemon.kill()
        // It ends while there is no scheduler.
        try "go\n".write(toFile: "\(daemon.folder)/go", atomically: false, encoding: .utf8)
        LiveDaemon.pass(until: LiveDaemon.now() + 0.3)
        try daemon.start()
        #expect(try wait { try daemon.show("a").last != nil })
        let last = try #require(try daemon.show("a").last)
        #expect(last.outcome == "exited(3)")
        #expect(daemon.waitForLog("last words"))
        #expect(try #require(last.elapsedUsec) < 20_000_000 && last.userUsec != nil)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 0.5) == nil, "it ran twice")
        #expect(daemon.stop() == 0)
        #expect(wait(10) { daemon.runner() == nil }, "a clean stop ends the runner")
    }

    @Test func aRunThatLivesStillForbidsAnother_andItsTimeIsUpOnTimeWithoutAScheduler() throws {
        let daemon = try make(
            """
            [job.a]
            every = "1s"
            timeout = "3s"
            shell = "echo up $$ > FOLDER/fired; sleep 600"
            """)
        try daemon.start()
        let up = try #require(daemon.nextFiring(until: daemon.ready + 10))
        let pid = try #require(up.text.split(separator: " ").last.flatMap { Int32($0) })
        _ = daemon.kill()
        try daemon.start()
        #expect(daemon.waitForLog("is still running"))
        _ = daemon.kill()
        #expect(wait(10) { !lives(pid) })
        let late = LiveDaemon.now() - up.at - 3
        #expect(late > -0.2 && late < 1.5, "\(late) s late")
        try daemon.start()
        #expect(try wait { try daemon.show("a").last?.outcome == "timed-out" })
        #expect(daemon.stop() == 0)
    }

    /// Each run once, each line of output at least once, and each end as it was.
    @Test func aHundredKillsOfTheSchedulerTouchNoneOfAHundredJobs() throws {
        var jobs = ""
        for number in 0..<100 {
            jobs += """
                [job.j\(number)]
                every = "1h"
                first = "0s"
                shell = '''
                echo $TIMERD_RUN_ID >> FOLDER/starts
                n=0; while [ $n -lt 30 ]; do echo line-$TIMERD_JOB-$n-; n=$((n+1)); sleep 1; done
                [ \(number % 10) = 9 ] && kill -USR1 $$
                exit \(number % 10)'''

                """
        }
        let daemon = try make("[daemon]\nmax-concurrent = 200\n" + jobs)
        var random = SeededRandom()
        let began = LiveDaemon.now()
        for _ in 0..<100 {
            try daemon.start()
            LiveDaemon.pass(until: LiveDaemon.now() + Double.random(in: 0..<0.25, using: &random))
            _ = daemon.kill()
            if random.int(below: 5) == 0 {
                LiveDaemon.pass(until: LiveDaemon.now() + Double.random(in: 0..<1, using: &random))
            }
        }
        print("kills: 100 in \(LiveDaemon.now() - began) s")
        try daemon.start()
        var names: [String] = []
        for number in 0..<100 {
            let name = "j\(number)"
            names.append(name)
            #expect(try wait(90) { try daemon.show(name).last != nil }, "\(name) never ended")
            let last = try #require(try daemon.show(name).last)
            let digit = number % 10
            #expect(last.outcome == (digit == 9 ? "signalled(SIGUSR1)" : "exited(\(digit))"))
            let elapsed = try #require(last.elapsedUsec)
            #expect(elapsed > 29_000_000 && elapsed < 60_000_000, "\(name) took \(elapsed) us")
            #expect(last.userUsec != nil && last.systemUsec != nil)
        }
        let starts = try String(contentsOfFile: "\(daemon.folder)/starts", encoding: .utf8)
            .split(separator: "\n")
        #expect(starts.count == 100 && Set(starts).count == 100)
        #expect(daemon.stop() == 0)
        var counts: [Substring: Int] = [:]
        for line in daemon.log.split(separator: "\n") {
            if let place = line.range(of: "| line-") {
                counts[line[place.upperBound...], default: 0] += 1
            }
        }
        for name in names {
            for number in 0..<30 {
                #expect(counts["\(name)-\(number)-", default: 0] > 0, "\(name): line \(number)")
            }
        }
        print("lines: \(counts.count) different, \(counts.values.reduce(0, +)) in all")
    }

    @Test func runsOfAKilledRunnerAreFoundAgain_andEndLost_andLaterRunsStart() throws {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            first = "0s"
            shell = "echo up $$ > FOLDER/fired; read go < FOLDER/go"
            [job.b]
            every = "1h"
            FIRE
            """)
        mkfifo("\(daemon.folder)/go", 0o600)
        try daemon.start()
        let up = try #require(daemon.nextFiring(until: daemon.ready + 10))
        let pid = try #require(up.text.split(separator: " ").last.flatMap { Int32($0) })
        let first = try #require(daemon.runner())
        kill(first, SIGKILL)
        #expect(daemon.waitForLog("Connected to a new runner, which continues"))
        #expect(lives(pid) && daemon.runner() != first)
        #expect(try daemon.show("a").running.count == 1)
        _ = try daemon.ask(.order(.run, Job.Name("b")!))
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 10)?.text == "b 0")
        try "go\n".write(toFile: "\(daemon.folder)/go", atomically: false, encoding: .utf8)
        #expect(try wait { try daemon.show("a").last?.outcome == "lost(runner)" })
        #expect(daemon.log.split(separator: "\n").count { $0.contains("is lost(runner)") } == 1)
        #expect(daemon.stop() == 0)
    }

    /// They exist while the run is active, whatever happens to the runner, and no longer.
    @Test func theCredentialsOfARunStayWhenTheRunnerIsKilled_andEndWithTheRun() throws {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            first = "0s"
            shell = "echo $CREDENTIALS_DIRECTORY > FOLDER/fired; read go < FOLDER/go"
            credentials = { token = "FOLDER/token" }
            """)
        mkfifo("\(daemon.folder)/go", 0o600)
        try "secret".write(toFile: "\(daemon.folder)/token", atomically: true, encoding: .utf8)
        chmod("\(daemon.folder)/token", 0o600)
        try daemon.start()
        let path = try #require(daemon.nextFiring(until: daemon.ready + 60)).text
        func hasIt() -> Bool {
            (try? String(contentsOfFile: "\(path)/token", encoding: .utf8)) == "secret"
        }
        #expect(path.hasPrefix("/") && hasIt(), "\(path)")
        kill(try #require(daemon.runner()), SIGKILL)
        #expect(daemon.waitForLog("Connected to a new runner, which continues"))
        #expect(hasIt())
        try "go\n".write(toFile: "\(daemon.folder)/go", atomically: false, encoding: .utf8)
        #expect(try wait(60) { try daemon.show("a").last?.outcome == "lost(runner)" })
        #expect(
            access(path, F_OK) != 0
                && access((path as NSString).deletingLastPathComponent, F_OK) == 0)
        #expect(daemon.stop() == 0)
    }

    @Test func bothKilledWithTheirJobs_isSaidOnceForEach() throws {
        let daemon = try make(
            """
            [defaults]
            concurrency = "allow"
            [job.a]
            every = "1h"
            first = "0s"
            shell = "echo up $$ > FOLDER/fired; exec sleep 600"
            [job.b]
            every = "1h"
            first = "0s"
            shell = "echo up $$ > FOLDER/fired; exec sleep 600"
            """)
        try daemon.start()
        var pids: [Int32] = []
        for _ in 0..<2 {
            let up = try #require(daemon.nextFiring(until: daemon.ready + 10))
            pids.append(try #require(up.text.split(separator: " ").last.flatMap { Int32($0) }))
        }
        let runner = try #require(daemon.runner())
        _ = daemon.kill()
        kill(runner, SIGKILL)
        for pid in pids { kill(pid, SIGKILL) }
        try daemon.start()
        #expect(try wait { try daemon.show("b").last?.outcome == "lost(runner)" })
        #expect(try wait { try daemon.show("a").last?.outcome == "lost(runner)" })
        #expect(daemon.log.split(separator: "\n").count { $0.contains("is lost(runner)") } == 2)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 0.5) == nil)
        #expect(daemon.stop() == 0)
    }

    @Test func aDefinitionTheRunnerDoesNotFindIsNotRun() throws {
        let daemon = try make("[job.a]\nevery = \"1h\"\nFIRE\n")
        try daemon.start()
        // When it has executed a job, the runner has read the configuration, which it does in the
        // background.
        func runs() throws {
            _ = try daemon.ask(.order(.run, Job.Name("a")!))
            #expect(daemon.nextFiring(until: LiveDaemon.now() + 60)?.text == "a 0")
            #expect(
                try wait(60) {
                    let job = try daemon.show("a")
                    return job.running.isEmpty && job.last?.outcome == "exited(0)"
                })
        }
        try runs()
        // The file was changed but not reloaded: as long as the runner is the same, the old
        // definition is used.
        try daemon.write("[job.a]\nevery = \"1h\"\nshell = \"echo other 0 > FOLDER/fired\"\n")
        try runs()
        // A new runner knows only the present definition, which is not the one that fired.
        kill(try #require(daemon.runner()), SIGKILL)
        _ = try daemon.ask(.order(.run, Job.Name("a")!))
        #expect(try wait { try daemon.show("a").last?.outcome != "exited(0)" })
        let outcome = try #require(try daemon.show("a").last?.outcome)
        #expect(outcome.hasPrefix("spawn-failed(ESTALE, find the definition"), "\(outcome)")
        #expect(try daemon.ask(.reload).status == 200)
        try daemon.write("[job.a]\nevery = \"1h\"\nFIRE\n")
        #expect(try daemon.ask(.reload).status == 200)
        _ = try daemon.ask(.order(.run, Job.Name("a")!))
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 10)?.text == "a 0")
        #expect(daemon.stop() == 0)
    }

    /// More than may be active at once, and more than are written at a time.
    @Test func ofManyThatComeDueTogetherEachIsBegunOnce() throws {
        let count = 300
        let jobs = (0..<count).map { number in
            "[job.j\(number)]\nafter = \"1s\"\nshell = \"echo $TIMERD_RUN_ID >> FOLDER/starts\"\n"
        }
        let daemon = try make("[daemon]\nmax-concurrent = 200\n" + jobs.joined())
        try daemon.start()
        #expect(
            try wait {
                let history = try daemon.timerctl("history", "--json", "--limit", "1000").text
                return history.count("exited(0)") == count
            })
        let starts = try String(contentsOfFile: "\(daemon.folder)/starts", encoding: .utf8)
            .split(separator: "\n")
        #expect(starts.count == count && Set(starts).count == count)
        #expect(daemon.stop() == 0)
    }

    @Test func aRunIsInTheHistory_andItsOutputInTheLog() throws {
        let daemon = try make(
            """
            [job.a]
            every = "1h"
            shell = "echo one; echo two >&2; exit $(cat FOLDER/code)"
            success-exit-codes = [0, 7]
            [job.b]
            every = "1h"
            shell = "exec 2>/dev/null; echo up 0 > FOLDER/fired; echo says; trap 'echo bye; exit 1' TERM; while :; do sleep 0.1; done"
            """)
        try daemon.start()
        for (number, code) in [0, 3, 7].enumerated() {
            try "\(code)\n".write(
                toFile: "\(daemon.folder)/code", atomically: true, encoding: .utf8)
            _ = try daemon.ask(.order(.run, Job.Name("a")!))
            #expect(
                try wait {
                    try daemon.timerctl("history", "--json").text.count("\"id\":") == number + 1
                })
        }
        let all = try daemon.timerctl("history", "a")
        let results = all.text.split(separator: "\n").filter { $0.hasPrefix("a ") }
        #expect(results.count == 3)
        #expect(results[0].contains("exited(7)") && results[2].contains("exited(0)"))
        #expect(all.text.contains("    | one\n") && all.text.contains("    | two\n"))
        let failed = try daemon.timerctl("history", "--failed", "--since", "1h", "--json").text
        #expect(failed.contains("exited(3)") && failed.count("\"id\":") == 1)
        let log = try daemon.timerctl("log", "a", "-o", "cat").text
        #expect(log.split(separator: "\n").sorted() == ["one", "two"])

        // An active one.
        let nothing = try daemon.timerctl("kill", "b")
        #expect(nothing.status == 0)
        #expect(nothing.text == "b: nothing to do: no run of it is running\n")
        _ = try daemon.ask(.order(.run, Job.Name("b")!))
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 10)?.text == "up 0")
        #expect(try wait { try daemon.timerctl("log", "b", "-o", "cat").text == "says\n" })
        let run = try #require(try daemon.show("b").running.first?.id)
        #expect(try daemon.timerctl("kill", run, "--signal", "WINCH").status == 0)
        #expect(try daemon.show("b").running.count == 1)
        #expect(try daemon.timerctl("kill", "b").text == "\(run): is being stopped\n")
        #expect(try wait { try daemon.show("b").last?.outcome == "stopped" })
        #expect(daemon.waitForLog("b: run now, requested by "))
        #expect(daemon.waitForLog("b: SIGWINCH sent to run \(run), requested by "))
        #expect(daemon.waitForLog("b: run \(run) is being stopped, requested by "))
        let kept = try daemon.timerctl("log", "b", "--run", run, "-o", "cat").text
        #expect(kept == "says\nbye\n")
        #expect(try daemon.timerctl("log", "nosuch").status == 4)
        #expect(daemon.stop() == 0)
    }

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

extension String {
    /// How often it contains the text.
    fileprivate func count(_ text: String) -> Int { components(separatedBy: text).count - 1 }
}
