// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// Jobs keep running without the scheduler. Also most of what can happen to the runner.
@Suite(.ownThreads) struct RunnerLifeTests {
    /// A daemon whose jobs' commands may name its `FOLDER`.
    func make(_ jobs: String) throws -> LiveDaemon {
        let daemon = try LiveDaemon(jobs)
        try daemon.write(jobs.replacing("FOLDER", with: daemon.folder))
        return daemon
    }

    func wait(_ seconds: Double = 30, until isDone: () throws -> Bool) rethrows -> Bool {
        let deadline = LiveDaemon.now() + seconds
        while LiveDaemon.now() < deadline {
            if try isDone() { return true }
            usleep(20_000)
        }
        return try isDone()
    }

    func lives(_ pid: Int32) -> Bool {
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
        #expect(daemon.waitForLog("has not ended"))
        _ = daemon.kill()
        #expect(wait(10) { !lives(pid) })
        let late = LiveDaemon.now() - up.at - 3
        #expect(late > -0.2 && late < 1.5, "\(late) s late")
        try daemon.start()
        #expect(try wait { try daemon.show("a").last?.outcome == "timed-out" })
        #expect(daemon.stop() == 0)
    }

    @Test func aDefinitionTheRunnerDoesNotFindIsNotRun() throws {
        let daemon = try make("[job.a]\nevery = \"1h\"\nFIRE\n")
        try daemon.start()
        // When it has executed a job, the runner has read the configuration, which it does in the
        // background.
        func runs() throws {
            _ = try daemon.ask(.command(.run, Job.Name("a")!))
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
        _ = try daemon.ask(.command(.run, Job.Name("a")!))
        #expect(try wait { try daemon.show("a").last?.outcome != "exited(0)" })
        let outcome = try #require(try daemon.show("a").last?.outcome)
        #expect(outcome.hasPrefix("spawn-failed(ESTALE, find the definition"), "\(outcome)")
        #expect(try daemon.ask(.reload()).status == 200)
        try daemon.write("[job.a]\nevery = \"1h\"\nFIRE\n")
        #expect(try daemon.ask(.reload()).status == 200)
        _ = try daemon.ask(.command(.run, Job.Name("a")!))
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
            skip-exit-codes = 75
            [job.b]
            every = "1h"
            shell = "exec 2>/dev/null; echo up 0 > FOLDER/fired; echo says; trap 'echo bye; exit 1' TERM; while :; do sleep 0.1; done"
            """)
        try daemon.start()
        for (number, code) in [0, 3, 7, 75].enumerated() {
            try "\(code)\n".write(
                toFile: "\(daemon.folder)/code", atomically: true, encoding: .utf8)
            _ = try daemon.ask(.command(.run, Job.Name("a")!))
            #expect(
                try wait {
                    try daemon.timerctl("history", "--json").text.count("\"id\":") == number + 1
                })
        }
        let all = try daemon.timerctl("history", "a")
        let results = all.text.split(separator: "\n").filter { $0.hasPrefix("a ") }
        #expect(results.count == 4)
        #expect(results[1].contains("exit 7") && results[3].contains("succeeded"))
        #expect(results[0].contains("skipped: exit 75"))
        let why = try daemon.timerctl("why", "a").text
        #expect(why.contains(", was skipped: exit 75, after "))
        let waited = try daemon.timerctl("run", "a", "--wait")
        #expect(waited.status == 75 && waited.text.contains("one"))
        #expect(all.text.contains("    | one\n") && all.text.contains("    | two\n"))
        let failed = try daemon.timerctl("history", "--failed", "--since", "1h", "--json").text
        #expect(failed.contains("exited(3)") && failed.count("\"id\":") == 1)
        let log = try daemon.timerctl("log", "a", "-o", "cat").text
        #expect(log.split(separator: "\n").sorted() == ["one", "two"])

        // An active one.
        let nothing = try daemon.timerctl("kill", "b")
        #expect(nothing.status == 0)
        #expect(nothing.text == "b: nothing to do: no run of it is running\n")
        _ = try daemon.ask(.command(.run, Job.Name("b")!))
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
}

extension String {
    /// How often it contains the text.
    func count(_ text: String) -> Int { components(separatedBy: text).count - 1 }
}
