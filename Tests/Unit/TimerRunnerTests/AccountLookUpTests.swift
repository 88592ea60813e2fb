// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import HostFiles
@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The users of runs come from a server that may not answer.
@Suite struct AccountLookUpTests {
    @Test(arguments: [
        ("", true), ("passwd: files\ngroup: files systemd\n", true), ("passwd:files\n", true),
        ("passwd: files sss\n", false), ("group:  files  ldap", false), ("hosts: dns\n", true),
        ("#passwd: sss\n # group: sss\npasswd: files\n", true), ("passwd: files # sss\n", false),
        ("hosts: dns\r\npasswd: files sss\r\n", false), ("passwd: files\r\ngroup: db\r\n", true),
        ("initgroups: files sss\n", false),
        ("passwd: files [NOTFOUND=return] systemd\n", true),
        ("passwd: files [!UNAVAIL=return SUCCESS=merge] nis\n", false), ("passwd: compat\n", false),
        (" passwd : files\n", true), ("passwd sss\n", false), ("passwd : x sss\n", false),
        ("passwd: [", true),
    ])
    func onlyLocalSourcesAreAskedAtOnce(text: String, areLocal: Bool) {
        #expect(UserSources.areLocal(in: Array(text.utf8)) == areLocal)
    }

    @Test func aChangedFileIsReadAgain() throws {
        let path = "/tmp/timerd-sources-\(UUID().uuidString)"
        defer { unlink(path) }
        let sources = UserSources(path: path)
        #expect(sources.areLocal, "without the file, the source is: files")
        for (text, areLocal) in [("passwd: sss\n", false), ("passwd: files\n", true)] {
            // A new file each, so that its attributes differ.
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            #expect(sources.areLocal == areLocal)
            #expect(sources.areLocal == areLocal, "the second time it is remembered")
        }
    }

    /// Opens when the test lets it.
    private final class Gate: Sendable {
        private let isOpen = DispatchSemaphore(value: 0)
        let arrived = DispatchSemaphore(value: 0)
        let count = Mutex(0)

        func pass() {
            count.withLock { $0 += 1 }
            arrived.signal()
            isOpen.wait()
            isOpen.signal()
        }

        func open() { isOpen.signal() }
    }

    private static let me = Account.current()

    private func fixture(_ gate: Gate) throws -> RunnerFixture {
        try RunnerFixture(
            hasLocalUsers: false,
            findAccount: { user, _, current throws(Spawner.Failure) in
                if user == "slow" { gate.pass() }
                if user == "none" { throw Spawner.failure(ENOENT, "look up the user \"none\"") }
                return current
            })
    }

    /// A run waits until its user is looked up. A run of another user does not wait, and neither
    /// does a run without a user.
    @Test func aServerThatDoesNotAnswerDelaysOnlyItsRuns() throws {
        let gate = Gate()
        let fixture = try fixture(gate)
        let slow = fixture.request(.shell("echo slow")) { $0.user = "slow" }
        fixture.runner.start([slow])
        gate.arrived.wait()
        for user in [nil, "quick"] {
            let request = fixture.request(.shell("echo $TIMERD_MISSED")) { $0.user = user }
            #expect(fixture.run(request).outcome == .exited(0))
        }
        let missing = fixture.run(fixture.request(.shell("true")) { $0.user = "none" })
        #expect(missing.outcome == Spawner.failure(ENOENT, "look up the user \"none\"").outcome)
        #expect(fixture.ends == 3)
        gate.open()
        #expect(fixture.end(of: slow).outcome == .exited(0))
        #expect(fixture.lines(of: slow) == ["slow"])
        #expect(fixture.runner.load.starts == 0 && fixture.runner.load.startBytes == 0)
        fixture.runner.shutdown(grace: .zero)
    }

    /// A run with files starts when its user is known and then its files are read.
    @Test func filesAreReadAfterTheLookUp() throws {
        let path = "/tmp/timerd-variables-\(UUID().uuidString)"
        try "WORD=read\n".write(toFile: path, atomically: true, encoding: .utf8)
        defer { unlink(path) }
        let gate = Gate()
        gate.open()
        let fixture = try fixture(gate)
        let request = fixture.request(.shell("echo $WORD")) {
            ($0.user, $0.environmentFile) = ("slow", path)
        }
        #expect(fixture.run(request).lines == ["read"])
        // It is refused, since its job does not allow the variable; its memory is given back.
        var refused = fixture.request(.shell("true")) {
            ($0.user, $0.environmentFile) = ("slow", path)
        }
        refused.variables = RunVariables(["WORD": "x"])
        #expect(fixture.run(refused).outcome.description.hasPrefix("spawn-failed(EPERM"))
        refused.id.attempt += 1
        (refused.variables, refused.arguments) = (RunVariables(), RunArguments(["word"]))
        #expect(fixture.run(refused).outcome.description.hasPrefix("spawn-failed(EPERM"))
        #expect(fixture.runner.load.starts == 0 && fixture.runner.load.startBytes == 0)
        fixture.runner.shutdown(grace: .zero)
    }

    /// It ends at once, although the look-up does not, and what is found later starts nothing.
    @Test(arguments: [false, true]) func aRunCanBeStoppedMeanwhile(byShutdown: Bool) throws {
        let gate = Gate()
        let fixture = try fixture(gate)
        var slow = fixture.request(.shell("echo slow")) { $0.user = "slow" }
        slow.variables = RunVariables(["WORD": String(repeating: "x", count: 1000)])
        fixture.runner.start([slow])
        gate.arrived.wait()
        if byShutdown {
            fixture.runner.shutdown(grace: .zero)
            gate.open()
            #expect(fixture.ends == 0, "it never started, and the next runner starts it")
            return
        }
        fixture.runner.signal(slow.id, SIGUSR1)
        fixture.runner.end(slow.id, grace: .seconds(5))
        #expect(fixture.end(of: slow).outcome == .stopped)
        gate.open()
        #expect(
            fixture.run(fixture.request(.shell("true")) { $0.user = "slow" }).outcome == .exited(0))
        #expect(fixture.ends == 2 && fixture.lines(of: slow) == [])
        let load = fixture.runner.load
        #expect(load.starts == 0 && load.startBytes == 0 && load.commands == 0)
        fixture.runner.shutdown(grace: .zero)
    }

    /// A run that was stopped and forgotten is requested again, with another user, before the first
    /// look-up is answered.
    @Test func whatIsFoundForAnEarlierRequestIsNotUsed() throws {
        let gates = ["first": Gate(), "second": Gate()]
        let fixture = try RunnerFixture(
            hasLocalUsers: false,
            findAccount: { user, _, current throws(Spawner.Failure) in
                var account = current
                account.name = user ?? ""
                gates[user ?? ""]?.pass()
                return account
            })
        let first = fixture.request(.shell("echo $USER")) { $0.user = "first" }
        fixture.runner.start([first])
        gates["first"]?.arrived.wait()
        fixture.runner.end(first.id, grace: .zero)
        #expect(fixture.end(of: first).outcome == .stopped)
        fixture.runner.forget(first.id)
        var definition = first.definition
        definition.execution.user = "second"
        let second = RunRequest(id: first.id, definition: definition, missed: 0, active: .zero)
        fixture.runner.start([second])
        gates["second"]?.arrived.wait()
        gates["first"]?.open()
        // The thread of the first look-up has answered when it takes the next one.
        #expect(
            fixture.run(fixture.request(.shell("true")) { $0.user = "first" }).outcome == .exited(0)
        )
        #expect(fixture.ends == 2)
        gates["second"]?.open()
        fixture.wait(forEnds: 3)
        #expect(fixture.lines(of: second) == ["second"])
        #expect(fixture.runner.load.starts == 0 && fixture.runner.load.startBytes == 0)
        fixture.runner.shutdown(grace: .zero)
    }

    /// The threads of other users stay free, and the last of the same user is served later.
    @Test func oneUserTakesFewThreads() {
        let gate = Gate()
        let lookUps = AccountLookUps()
        let done = DispatchSemaphore(value: 0)
        for number in 1...AccountLookUps.perKey + 1 {
            lookUps.find(key("slow"), until: .max) {
                gate.pass()
                return .success(Self.me)
            } done: { _ in
                done.signal()
            }
            if number <= AccountLookUps.perKey { gate.arrived.wait() }
        }
        let other = DispatchSemaphore(value: 0)
        lookUps.find(key("other"), until: .max) {
            .success(Self.me)
        } done: { _ in
            other.signal()
        }
        other.wait()
        #expect(gate.count.withLock(\.self) == AccountLookUps.perKey)
        gate.open()
        for _ in 1...AccountLookUps.perKey + 1 { done.wait() }
        #expect(gate.count.withLock(\.self) == AccountLookUps.perKey + 1)
    }

    /// After its time the run fails, and says for what it waited.
    @Test func aLookUpHasATimeLimit() throws {
        let gate = Gate()
        let fixture = try fixture(gate)
        let slow = fixture.request(.shell("true")) { ($0.user, $0.group) = ("slow", "staff") }
        let began = RunnerClock.awake()
        let end = fixture.run(slow)
        #expect(
            end.outcome
                == .spawnFailed(
                    errno: "ETIMEDOUT",
                    what: "look up the user \"slow\" and the group \"staff\" within 10 seconds"))
        #expect(RunnerClock.awake() - began >= Spawner.timeout.wholeNanoseconds)
        gate.open()
        fixture.runner.shutdown(grace: .zero)
    }

    /// However many runs wait for a server, it is asked by a limited number of threads, and what
    /// waited too long is forgotten.
    @Test func theThreadsAreLimited_andWhatWaitedTooLongIsForgotten() {
        let gate = Gate()
        let lookUps = AccountLookUps()
        let done = Mutex<[Int]>([])
        let last = DispatchSemaphore(value: 0)
        let now = RunnerClock.awake()
        let many = AccountLookUps.threadsMax + 4
        let found = DispatchSemaphore(value: 0)
        for index in 0..<many {
            lookUps.find(key("user\(index)"), until: .max) {
                gate.pass()
                return .success(Self.me)
            } done: { _ in
                found.signal()
            }
        }
        for _ in 0..<AccountLookUps.threadsMax { gate.arrived.wait() }
        for (index, until) in [now - 1, now - 1, .max, .max].enumerated() {
            lookUps.find(key("late"), until: until) {
                .success(Self.me)
            } done: { _ in
                done.withLock { $0.append(index) }
                if index == 3 { last.signal() }
            }
        }
        #expect(gate.count.withLock(\.self) == AccountLookUps.threadsMax)
        gate.open()
        last.wait()
        for _ in 0..<many { found.wait() }
        #expect(done.withLock(\.self) == [2, 3])
        #expect(gate.count.withLock(\.self) == many)
    }

    private func key(_ user: String) -> AccountLookUps.Key {
        var definition = Definition(.shell("true"))
        definition.execution.user = user
        let firing = Firing.ID(
            job: Job.Name("a")!, scheduled: WallInstant(microsecondsSinceEpoch: 0))
        return AccountLookUps.Key(
            RunRequest(
                id: Run.ID(firing: firing), definition: definition, missed: 0, active: .zero))
    }
}
