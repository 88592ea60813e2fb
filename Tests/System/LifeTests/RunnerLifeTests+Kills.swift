// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// The scheduler or the runner is killed while runs are active.
extension RunnerLifeTests {
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
        // A kill between the release of a run and its sending loses the run: it is never sent again.
        try daemon.start()
        let file = "\(daemon.folder)/starts"
        func begun() -> Int {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").count
        }
        #expect(wait(60) { begun() == 100 }, "\(begun()) have begun")
        _ = daemon.kill()
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
        _ = try daemon.ask(.command(.run, Job.Name("b")!))
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 10)?.text == "b 0")
        try "go\n".write(toFile: "\(daemon.folder)/go", atomically: false, encoding: .utf8)
        #expect(try wait { try daemon.show("a").last?.outcome == "lost(runner)" })
        #expect(daemon.log.split(separator: "\n").count { $0.contains("is lost: the runner") } == 1)
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
        #expect(daemon.log.split(separator: "\n").count { $0.contains("is lost: the runner") } == 2)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 0.5) == nil)
        #expect(daemon.stop() == 0)
    }
}
