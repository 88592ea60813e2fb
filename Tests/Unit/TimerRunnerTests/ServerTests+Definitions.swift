// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// Which definitions the runner uses, and what it refuses to run.
extension ServerTests {
    /// A compromised scheduler sets nothing for a job that its configuration does not allow.
    @Test func onlyTheVariablesThatTheJobAllowsAreSet() throws {
        let fixture = try ServerFixture { _ in }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        var job = job("test \"$A\" = 'a b' && test -z \"$B$LD_PRELOAD\" || exit 4")
        // Even if the configuration could name it.
        job.execution.runVariables = ["A", "LD_PRELOAD"]
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let cases: [([String: String], String)] = [
            (["A": "a b"], "exited(0)"), ([:], "exited(4)"),
            (["B": "1"], #"spawn-failed(EPERM, run-environment of the job does not allow "B")"#),
            (
                ["A": "a b", "LD_PRELOAD": "/x"],
                #"spawn-failed(EPERM, run-environment of the job does not allow "LD_PRELOAD")"#
            ),
            (["A": "a\0"], "spawn-failed(EPERM, the value of A has a NUL character)"),
        ]
        for (number, (values, expected)) in cases.enumerated() {
            var run = run(job, number)
            run.firing.cause = .requested(by: .user("ada"), variables: RunVariables(values))
            client.start([run])
            #expect(outcome(events.end(of: run)) == expected)
        }
        client.close()
        fixture.stop()
    }

    /// A scheduler that an attacker controls can send any words: the runner refuses those that its own
    /// configuration does not allow, and passes the others to the shell as arguments and not as text.
    @Test func onlyTheWordsThatTheJobAllowsAreAppended() throws {
        let fixture = try ServerFixture { _ in }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        var job = job(
            #"""
            test "$0" = /bin/sh || exit 5
            case "$#:$1" in 0:) exit 10;; 1:full) exit 11;; '2:$(kill $$); "x') exit 12;; esac
            exit 4
            """#)
        let odd = #"$(kill $$); "x"#
        job.execution.runArguments = ["full", odd]
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let cases: [([String], String)] = [
            ([], "exited(10)"), (["full"], "exited(11)"), ([odd, "full"], "exited(12)"),
            (["-c"], #"spawn-failed(EPERM, run-arguments of the job does not allow "-c")"#),
            (["full", "full"], #"spawn-failed(EPERM, has the argument "full" twice)"#),
        ]
        for (number, (words, expected)) in cases.enumerated() {
            var run = run(job, number)
            run.firing.cause = .requested(by: .user("ada"), arguments: RunArguments(words))
            client.start([run])
            #expect(outcome(events.end(of: run)) == expected)
        }
        client.close()
        fixture.stop()
    }

    /// The rules for users take effect when the files are read, whatever the scheduler knows.
    @Test func onlyUsersAllowedByTheConfigurationRun() throws {
        let changed = Mutex(false)
        let fixture = try ServerFixture { settings in
            settings.hasChanged = { changed.withLock { $0 } }
            settings.didApply = {
                var rules = RunnerServer.RunRules()
                if changed.withLock({ $0 }) {
                    rules.allowedUsers = AllowedUsers(users: ["a-user"], groups: [])
                }
                return rules
            }
        }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let job = job("exit 3", "kept")
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        client.start([run(job)])
        #expect(outcome(events.end(of: run(job))) == "exited(3)")
        changed.withLock { $0 = true }
        client.start([run(job, 1)])
        #expect(
            outcome(events.end(of: run(job, 1)))
                == "spawn-failed(EPERM, run as \(Account.current().name): allowed-users is set, so the job "
                + "must name its user)")
        client.close()
        fixture.stop()
    }

    @Test func runsDefinitionsThatItReadItself_andReadsAgainForUnknownOnes() throws {
        let fixture = try ServerFixture()
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let first = job("exit 3")
        fixture.configuration.jobs.withLock { $0 = [first.name: Definition(first)] }
        client.start((0..<3).map { run(first, $0) })
        for number in 0..<3 { #expect(outcome(events.end(of: run(first, number))) == "exited(3)") }
        // Once for all three, and perhaps when the client connected, when there were no
        // definitions.
        #expect(fixture.configuration.reads.withLock { $0 } <= 2)

        // A definition that an attacker would like it to run.
        client.start([run(job("exit 4"), 3)])
        #expect(
            outcome(events.end(of: run(first, 3))).hasPrefix(
                "spawn-failed(ESTALE, find the definition"))
        let second = job("exit 5")
        fixture.configuration.jobs.withLock { $0 = [second.name: Definition(second)] }
        client.start([run(second, 4)])
        #expect(outcome(events.end(of: run(second, 4))) == "exited(5)")
        fixture.configuration.jobs.withLock { $0 = [:] }
        client.start([run(first, 5)])
        #expect(
            outcome(events.end(of: run(first, 5))).hasPrefix("spawn-failed(ENOENT, find the job"))
        client.close()
        fixture.stop()
    }

    @Test func readsChanges_beforeARunIsDue() throws {
        let fixture = try ServerFixture()
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let job = job("exit 3")
        fixture.waitForReadings(1)
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        client.refresh()
        fixture.waitForReadings(2)
        client.start([run(job)])
        #expect(outcome(events.end(of: run(job))) == "exited(3)")
        #expect(fixture.configuration.reads.withLock { $0 } == 2)
        client.close()
        fixture.stop()
    }

    /// With very many jobs this takes a while. Runs with known definitions start at once, and runs
    /// of changed jobs wait only for the reading.
    @Test func startsDoNotWaitForTheConfigurationToBeRead() throws {
        let isSlow = Mutex(false)
        let mayGoOn = DispatchSemaphore(value: 0)
        let fixture = try ServerFixture { settings in
            let read = settings.definitions
            settings.definitions = { last in
                if isSlow.withLock({ $0 }) { mayGoOn.wait() }
                return read(last)
            }
        }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let (known, changed) = (job("exit 3"), job("exit 4"))
        fixture.configuration.jobs.withLock { $0 = [known.name: Definition(known)] }
        client.start([run(known)])
        #expect(outcome(events.end(of: run(known))) == "exited(3)")
        isSlow.withLock { $0 = true }
        fixture.configuration.jobs.withLock { $0 = [changed.name: Definition(changed)] }
        client.refresh()
        // This run waits, and so do the commands for it.
        client.start([run(changed, 2)])
        client.suspend(run(changed, 2).id)
        client.resume(run(changed, 2).id)
        client.start([run(known, 3)])
        #expect(outcome(events.end(of: run(known, 3))) == "exited(3)")
        #expect(
            events.events.allSatisfy {
                if case .ended(run(changed, 2).id, _) = $0 { false } else { true }
            })
        mayGoOn.signal()
        #expect(outcome(events.end(of: run(changed, 2))) == "exited(4)")
        // Until the scheduler reports that the reload is finished.
        client.start([run(known, 4)])
        #expect(outcome(events.end(of: run(known, 4))) == "exited(3)")
        client.forgetFormer()
        isSlow.withLock { $0 = false }
        client.start([run(known, 5)])
        #expect(outcome(events.end(of: run(known, 5))).hasPrefix("spawn-failed(ESTALE"))
        client.close()
        fixture.stop()
    }

    /// The runner reads a configuration that the scheduler refused, and nothing is lost by that.
    @Test func severalReadingsWithoutAReloadKeepTheCurrentDefinitions() throws {
        let fixture = try ServerFixture()
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let jobs = (3...6).map { job("exit \($0)") }
        fixture.configuration.jobs.withLock { $0 = [jobs[0].name: Definition(jobs[0])] }
        client.start([run(jobs[0])])
        _ = events.end(of: run(jobs[0]))
        for number in 1...3 {
            let reads = fixture.configuration.reads.withLock { $0 }
            fixture.configuration.jobs.withLock {
                $0 = [jobs[number].name: Definition(jobs[number])]
            }
            client.refresh()
            fixture.waitForReadings(reads + 1)
            client.start([run(jobs[0], 10 + number)])
            #expect(outcome(events.end(of: run(jobs[0], 10 + number))) == "exited(3)")
        }
        client.start([run(jobs[3], 20)])
        #expect(outcome(events.end(of: run(jobs[3], 20))) == "exited(6)")
        client.close()
        fixture.stop()
    }
}
