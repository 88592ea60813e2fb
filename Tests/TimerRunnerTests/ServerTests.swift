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

/// A runner behind a socket, with a configuration that can be changed.
final class Desk: Sendable {
    final class Configuration: Sendable {
        let jobs = Mutex<RunnerServer.Definitions>([:])
        let reads = Mutex(0)
        let said = Mutex<[String]>([])
    }

    let folder: String
    let configuration = Configuration()
    let server: RunnerServer
    private let finished = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - folder: the folder of an earlier one; nil for a new one.
    ///   - change: changes the default settings.
    init(
        in folder: String? = nil, _ change: (inout RunnerServer.Settings) -> Void = { _ in }
    ) throws {
        self.folder = folder ?? "/tmp/timerd-desk-\(UUID().uuidString)"
        let folder = self.folder
        mkdir(folder, 0o755)
        unlink("\(folder)/s")
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        _ = Self.withAddress("\(folder)/s") { bind(socket, $0, $1) }
        chmod("\(folder)/s", 0o777)
        mkdir("\(folder)/registry", 0o700)
        let registry = open("\(folder)/registry", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(registry) }
        let configuration = configuration
        var settings = RunnerServer.Settings(
            socket: socket, users: [], registry: registry,
            definitions: {
                configuration.reads.withLock { $0 += 1 }
                return .success(configuration.jobs.withLock { $0 })
            }, say: { text in configuration.said.withLock { $0.append(text) } })
        change(&settings)
        server = try RunnerServer(settings)
        let (server, finished) = (server, finished)
        Thread.detachNewThread {
            server.run()
            finished.signal()
        }
    }

    func stop(keepsFolder: Bool = false) {
        server.end(grace: .zero)
        #expect(endsByItself(within: 30))
        if !keepsFolder { try? FileManager.default.removeItem(atPath: folder) }
    }

    /// Whether it ends within this time without being stopped, or has ended before.
    func endsByItself(within seconds: Double) -> Bool {
        guard finished.wait(timeout: .now() + seconds) == .success else { return false }
        finished.signal()
        return true
    }

    var socket: String { "\(folder)/s" }

    /// A connection like that of a scheduler; -1 if it fails.
    func connect() -> Int32 {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard Self.withAddress("\(folder)/s", { Glibc.connect(socket, $0, $1) }) == 0 else {
            close(socket)
            return -1
        }
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        return socket
    }

    func client(
        timeout: Duration = .seconds(10), announcedBy path: String? = nil,
        _ handler: @escaping RunnerClient.Handler
    ) throws -> RunnerClient {
        let client = try RunnerClient(timeout: timeout, announcedBy: path) { [self] in
            let socket = connect()
            return socket >= 0 ? .success(socket) : .failure(.init("no process listens"))
        }
        client.begin(adopting: Set(client.holdings.map(\.run)), handler)
        return client
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

/// The events of a client, and a condition to wait for them.
final class Ear: Sendable {
    private let heard = Mutex<[RunnerEvent]>([])
    private let more = DispatchSemaphore(value: 0)
    let seesAll: Bool

    init(seesAll: Bool = true) { self.seesAll = seesAll }

    func take(_ news: RunnerClient.Event, _ seen: @Sendable () -> Void) {
        switch news {
        case .event(let event):
            heard.withLock { $0.append(event) }
            if seesAll { seen() }
        case .away(_, let wasAnnounced): aways.withLock { $0.append(wasAnnounced) }
        case .back: break
        }
        more.signal()
    }

    /// Whether the end of the runner was announced, for each lost connection.
    private let aways = Mutex<[Bool]>([])

    /// Waits for a lost connection, and returns whether it was announced.
    func firstAway() -> Bool? {
        while aways.withLock(\.isEmpty) {
            guard more.wait(timeout: .now() + 60) == .success else { return nil }
        }
        return aways.withLock(\.first)
    }

    var events: [RunnerEvent] { heard.withLock { $0 } }

    func wait(until isDone: ([RunnerEvent]) -> Bool) {
        while !isDone(events) {
            guard more.wait(timeout: .now() + 30) == .success else {
                Issue.record("no more events: \(events.suffix(5))")
                return
            }
        }
    }

    func end(of run: Run) -> RunnerEvent? {
        wait { $0.contains { if case .ended(run.id, _) = $0 { true } else { false } } }
        return events.first { if case .ended(run.id, _) = $0 { true } else { false } }
    }
}

@Suite struct ServerTests {
    private func job(_ line: String, _ name: String = "probe") -> Job {
        Job(name: Job.Name(name)!, command: .shell(line), schedule: .every(.seconds(1)))
    }

    private func run(_ job: Job, _ number: Int = 0) -> Run {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        let firing = Firing.ID(job: job.name, scheduled: scheduled)
        return Run(firing: Firing(id: firing, missed: 0, active: .zero), job: job)
    }

    private func outcome(_ event: RunnerEvent?) -> String {
        if case .ended(_, let end) = event { end.outcome.description } else { "\(event as Any)" }
    }

    /// A deleted job is not run any more, even if the scheduler was not told to reload, or ignores
    /// it; a changed job runs as it fired until the reload.
    @Test func aJobDeletedFromTheConfigurationIsNotRun() throws {
        let changed = Mutex(false)
        let desk = try Desk { $0.hasChanged = { changed.withLock { $0 } } }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let (kept, deleted) = (job("exit 3", "kept"), job("exit 4", "deleted"))
        desk.configuration.jobs.withLock {
            $0 = [kept.name: Definition(kept), deleted.name: Definition(deleted)]
        }
        client.start([run(kept), run(deleted)])
        #expect(outcome(ear.end(of: run(kept))) == "exited(3)")
        #expect(outcome(ear.end(of: run(deleted))) == "exited(4)")
        desk.configuration.jobs.withLock { $0 = [kept.name: Definition(job("exit 5", "kept"))] }
        changed.withLock { $0 = true }
        client.start([run(kept, 1)])
        #expect(outcome(ear.end(of: run(kept, 1))) == "exited(3)")
        client.start([run(deleted, 1)])
        #expect(
            outcome(ear.end(of: run(deleted, 1)))
                == "spawn-failed(ENOENT, find the job in the current configuration)")
        client.close()
        desk.stop()
    }

    /// Files that change, of which one is being written: in it the jobs are missing for a moment.
    private final class ChangingFiles: Sendable {
        /// What `unchangedFor` returns.
        let age = Mutex(Duration.zero)
        let changed = Mutex(false)

        func desk(_ limits: RunnerLimits = RunnerLimits()) throws -> Desk {
            try Desk { settings in
                settings.limits = limits
                settings.hasChanged = { self.changed.withLock { $0 } }
                settings.unchangedFor = { self.age.withLock { $0 } }
            }
        }
    }

    private static let notFound =
        "spawn-failed(ENOENT, find the job in the current configuration)"

    /// The file is read again and again, each time a little later, until it has not changed for long enough.
    @Test func aRunWhoseJobIsMissingInAFileThatIsBeingWrittenStartsOnceItIsThere() throws {
        let files = ChangingFiles()
        var limits = RunnerLimits()
        limits.settleTime = .milliseconds(20)
        limits.settleTimeMax = .seconds(3600)
        let desk = try files.desk(limits)
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let (kept, other) = (job("exit 3", "kept"), job("exit 4", "other"))
        let all = [kept.name: Definition(kept), other.name: Definition(other)]
        desk.configuration.jobs.withLock { $0 = all }
        client.start([run(kept)])
        #expect(outcome(ear.end(of: run(kept))) == "exited(3)")
        desk.configuration.jobs.withLock { $0 = [other.name: Definition(other)] }
        files.changed.withLock { $0 = true }
        client.start([run(kept, 1)])
        // Others do not wait for it, and what is told to it waits as well.
        client.start([run(other)])
        #expect(outcome(ear.end(of: run(other))) == "exited(4)")
        let reads = desk.configuration.reads.withLock { $0 }
        while desk.configuration.reads.withLock({ $0 }) < reads + 3 { usleep(1000) }
        func ends() -> Int {
            ear.events.count { if case .ended(run(kept, 1).id, _) = $0 { true } else { false } }
        }
        #expect(ends() == 0)
        desk.configuration.jobs.withLock { $0 = all }
        #expect(outcome(ear.end(of: run(kept, 1))) == "exited(3)")
        // It is known from then on, without a reload.
        client.start([run(kept, 2)])
        #expect(outcome(ear.end(of: run(kept, 2))) == "exited(3)")
        #expect(ends() == 1)
        client.close()
        desk.stop()
    }

    /// A scheduler that was taken over must not run what the files do not say, however long it waits.
    @Test func aRunWhoseJobIsMissingIsRefused_onceTheFileIsLeftAlone_orWasWrittenForTooLong() throws
    {
        for isLeftAlone in [true, false] {
            let files = ChangingFiles()
            var limits = RunnerLimits()
            limits.settleTime = .milliseconds(20)
            limits.settleTimeMax = isLeftAlone ? .seconds(3600) : .milliseconds(200)
            let desk = try files.desk(limits)
            let ear = Ear()
            let client = try desk.client { ear.take($0, $1) }
            let kept = job("exit 3", "kept")
            files.changed.withLock { $0 = true }
            client.start([run(kept)])
            if isLeftAlone {
                while desk.configuration.reads.withLock({ $0 }) < 4 { usleep(1000) }
                files.age.withLock { $0 = .milliseconds(20) }
            }
            #expect(outcome(ear.end(of: run(kept))) == Self.notFound)
            client.close()
            desk.stop()
        }
    }

    /// Another scheduler is answered once nothing is left of the requests of the one before it.
    @Test func theNextSchedulerDoesNotWaitForAFileThatIsBeingWritten() throws {
        let files = ChangingFiles()
        var limits = RunnerLimits()
        limits.settleTime = .milliseconds(50)
        limits.settleTimeMax = .seconds(3600)
        let desk = try files.desk(limits)
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let kept = job("exit 3", "kept")
        files.changed.withLock { $0 = true }
        client.start([run(kept)])
        while desk.configuration.reads.withLock({ $0 }) < 2 { usleep(1000) }
        client.close()
        let other = Ear()
        let next = try desk.client { other.take($0, $1) }
        #expect(outcome(other.end(of: run(kept))) == Self.notFound)
        next.close()
        desk.stop()
    }

    /// A scheduler that was taken over sets nothing for a job that its configuration does not allow.
    @Test func onlyTheVariablesThatTheJobAllowsAreSet() throws {
        let desk = try Desk { _ in }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        var job = job("test \"$A\" = 'a b' && test -z \"$B$LD_PRELOAD\" || exit 4")
        // Even if the configuration could name it.
        job.execution.runVariables = ["A", "LD_PRELOAD"]
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
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
            #expect(outcome(ear.end(of: run)) == expected)
        }
        client.close()
        desk.stop()
    }

    /// The rules for users take effect when the files are read, whatever the scheduler knows.
    @Test func onlyUsersAllowedByTheConfigurationRun() throws {
        let changed = Mutex(false)
        let desk = try Desk { settings in
            settings.hasChanged = { changed.withLock { $0 } }
            settings.didApply = {
                var rules = RunnerServer.RunRules()
                if changed.withLock({ $0 }) {
                    rules.allowedUsers = AllowedUsers(users: ["a-user"], groups: [])
                }
                return rules
            }
        }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let job = job("exit 3", "kept")
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        client.start([run(job)])
        #expect(outcome(ear.end(of: run(job))) == "exited(3)")
        changed.withLock { $0 = true }
        client.start([run(job, 1)])
        #expect(
            outcome(ear.end(of: run(job, 1)))
                == "spawn-failed(EPERM, run as \(Account.current().name): allowed-users is set, so the job "
                + "must name its user)")
        client.close()
        desk.stop()
    }

    /// Reading very many jobs takes a while: a run waits for that only if the file of its job has
    /// changed.
    @Test func whileChangedFilesAreReadTheRunsOfOthersStart() throws {
        let changed = Mutex(false)
        let gate = DispatchSemaphore(value: 0)
        let (kept, deleted) = (job("exit 3", "kept"), job("exit 4", "deleted"))
        let desk = try Desk { settings in
            let read = settings.definitions
            settings.definitions = {
                if changed.withLock({ $0 }) { gate.wait() }
                return read()
            }
            settings.hasChanged = { changed.withLock { $0 } }
            settings.isAffected = { $0 == deleted.name }
        }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        desk.configuration.jobs.withLock {
            $0 = [kept.name: Definition(kept), deleted.name: Definition(deleted)]
        }
        client.start([run(kept), run(deleted)])
        #expect(outcome(ear.end(of: run(kept))) == "exited(3)")
        #expect(outcome(ear.end(of: run(deleted))) == "exited(4)")
        desk.configuration.jobs.withLock { $0[deleted.name] = nil }
        changed.withLock { $0 = true }
        client.start([run(deleted, 1), run(kept, 1)])
        #expect(outcome(ear.end(of: run(kept, 1))) == "exited(3)")
        client.start([run(kept, 2)])
        #expect(outcome(ear.end(of: run(kept, 2))) == "exited(3)")
        #expect(
            !ear.events.contains {
                if case .ended(run(deleted, 1).id, _) = $0 { true } else { false }
            })
        changed.withLock { $0 = false }
        for _ in 0..<3 { gate.signal() }
        #expect(
            outcome(ear.end(of: run(deleted, 1)))
                == "spawn-failed(ENOENT, find the job in the current configuration)")
        client.close()
        desk.stop()
    }

    /// One-off jobs that are due at once come one after the other, and a check of the files is used
    /// for a while: the job is not in what was read, and the files count as unchanged.
    @Test func aJobThatIsAddedWhileTheFilesAreReadIsRun() throws {
        let changed = Mutex(false)
        let looks = Mutex(0)
        let (isRead, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (edited, added) = (job("exit 3", "edited"), job("exit 4", "added"))
        let desk = try Desk { settings in
            let read = settings.definitions
            settings.definitions = {
                let found = read()
                if changed.withLock({ $0 }) {
                    isRead.signal()
                    gate.wait()
                }
                return found
            }
            settings.hasChanged = {
                looks.withLock { $0 += 1 }
                return changed.withLock { $0 }
            }
            settings.isAffected = { $0 == edited.name }
            settings.unchangedFor = { .seconds(3600) }
        }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        desk.configuration.jobs.withLock { $0 = [edited.name: Definition(edited)] }
        client.start([run(edited)])
        #expect(outcome(ear.end(of: run(edited))) == "exited(3)")
        // What runs is what the scheduler has loaded, until it reloads.
        let edit = Definition(job("exit 5", "edited"))
        desk.configuration.jobs.withLock { $0 = [edited.name: edit] }
        changed.withLock { $0 = true }
        client.start([run(edited, 1)])
        isRead.wait()
        changed.withLock { $0 = false }
        desk.configuration.jobs.withLock { $0[added.name] = Definition(added) }
        let before = looks.withLock { $0 }
        client.start([run(added)])
        while looks.withLock({ $0 }) == before { usleep(1000) }
        gate.signal()
        #expect(outcome(ear.end(of: run(added))) == "exited(4)")
        #expect(outcome(ear.end(of: run(edited, 1))) == "exited(3)")
        client.start([run(edited, 2)])
        #expect(outcome(ear.end(of: run(edited, 2))) == "exited(3)")
        client.close()
        desk.stop()
    }

    /// No scheduler is connected, so that nothing else wakes the thread.
    @Test func aRunnerWhoseLastRunEndsWithoutASchedulerIsNotNeeded() throws {
        let desk = try Desk { $0.idleMax = .milliseconds(100) }
        let gate = "\(desk.folder)/gate"
        mkfifo(gate, 0o600)
        let ear = Ear(seesAll: false)
        let jobs = [job("echo up; read go <\(gate)"), job("true")]
        let runs = [run(jobs[0]), run(jobs[1], 1)]
        let client = try desk.client { ear.take($0, $1) }
        for (run, job) in zip(runs, jobs) {
            desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
            client.start([run])
            ear.wait { $0.contains { if case .began(run.id, _, _) = $0 { true } else { false } } }
        }
        client.close()
        #expect(!desk.endsByItself(within: 0.5))
        try "go\n".write(to: URL(fileURLWithPath: gate), atomically: false, encoding: .utf8)
        #expect(desk.endsByItself(within: 10))
        desk.stop()
    }

    /// After an upgrade it logs this when a scheduler connects, and ends for the next runner
    /// without affecting a run, whether the scheduler is still connected or not.
    @Test(arguments: [true, false])
    func aRunnerWhoseProgramWasReplacedEndsOnceNoRunIsActive(isConnected: Bool) throws {
        let replaced = Mutex(false)
        let desk = try Desk { $0.isReplaced = { replaced.withLock { $0 } } }
        let gate = "\(desk.folder)/gate"
        mkfifo(gate, 0o600)
        let job = job("read go <\(gate); exit 3")
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let before = Ear()
        let first = try desk.client { before.take($0, $1) }
        first.start([run(job)])
        before.wait { $0.contains { if case .began = $0 { true } else { false } } }
        first.close()
        #expect(desk.configuration.said.withLock { $0 } == [])
        replaced.withLock { $0 = true }
        let ear = Ear()
        let second = try desk.client { ear.take($0, $1) }
        #expect(desk.configuration.said.withLock { $0.first?.contains("was replaced") } == true)
        if !isConnected { second.close() }
        #expect(!desk.endsByItself(within: 0.3))
        let opened = open(gate, O_WRONLY | O_CLOEXEC)
        #expect(write(opened, "go\n", 3) == 3)
        close(opened)
        if isConnected { #expect(outcome(ear.end(of: run(job))) == "exited(3)") }
        #expect(desk.endsByItself(within: 60))
        #expect(desk.configuration.said.withLock { $0.count } == 1)
        if isConnected {
            #expect(ear.firstAway() == true, "it reports that it ends")
            second.close()
        }
        desk.stop()
    }

    /// Requests to a runner that is ending are handled by the next one, once.
    @Test func aRunRequestedFromAReplacedRunnerIsStartedByTheNextOne() throws {
        let desk = try Desk { $0.isReplaced = { true } }
        let job = job("exit 3")
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let ear = Ear()
        let client = try desk.client(timeout: .seconds(60)) { ear.take($0, $1) }
        client.start((0..<20).map { run(job, $0) })
        #expect(desk.endsByItself(within: 60))
        let next = try Desk(in: desk.folder)
        next.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        for number in 0..<20 {
            #expect(outcome(ear.end(of: run(job, number))) == "exited(3)")
        }
        client.close()
        desk.stop(keepsFolder: true)
        next.stop()
    }

    @Test(arguments: [
        ("55d0-55d1 r-xp 00000000 08:01 42  /usr/bin/timerd-runner (deleted)", true),
        ("55d0-55d1 r-xp 00000000 08:01 42  /usr/lib/a library.so (deleted)", true),
        ("55d0-55d1 r--p 00000000 08:01 42  /usr/bin/timerd-runner (deleted)", false),
        ("55d0-55d1 r-xp 00000000 08:01 42  /usr/bin/timerd-runner", false),
        ("55d0-55d1 rw-s 00000000 00:01 42  /dev/zero (deleted)", false),
        ("55d0-55d1 rwxp 00000000 00:01 42  /memfd:code (deleted)", false),
        ("55d0-55d1 r-xp 00000000 00:00 0  [vdso]", false), ("", false), (" (deleted)", false),
    ])
    func aProgramWasReplaced_ifItsCodeIsFromADeletedFile(line: String, isReplaced: Bool) {
        let maps = "1-2 r-xp 00000000 08:01 41  /usr/lib/libc.so.6\n\(line)\n"
        #expect(OwnProgram.hasReplaced(in: maps) == isReplaced)
        #expect(!OwnProgram().isReplaced())
    }

    @Test func runsDefinitionsThatItReadItself_andReadsAgainForUnknownOnes() throws {
        let desk = try Desk()
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let first = job("exit 3")
        desk.configuration.jobs.withLock { $0 = [first.name: Definition(first)] }
        client.start((0..<3).map { run(first, $0) })
        for number in 0..<3 { #expect(outcome(ear.end(of: run(first, number))) == "exited(3)") }
        // Once for all three, and perhaps when the client connected, when there were no
        // definitions.
        #expect(desk.configuration.reads.withLock { $0 } <= 2)

        // A definition that an attacker would like it to run.
        client.start([run(job("exit 4"), 3)])
        #expect(
            outcome(ear.end(of: run(first, 3))).hasPrefix(
                "spawn-failed(ESTALE, find the definition"))
        let second = job("exit 5")
        desk.configuration.jobs.withLock { $0 = [second.name: Definition(second)] }
        client.start([run(second, 4)])
        #expect(outcome(ear.end(of: run(second, 4))) == "exited(5)")
        desk.configuration.jobs.withLock { $0 = [:] }
        client.start([run(first, 5)])
        #expect(outcome(ear.end(of: run(first, 5))).hasPrefix("spawn-failed(ENOENT, find the job"))
        client.close()
        desk.stop()
    }

    @Test func readsChanges_beforeARunIsDue() throws {
        let desk = try Desk()
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let job = job("exit 3")
        while desk.configuration.reads.withLock({ $0 }) < 1 { sched_yield() }
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        client.refresh()
        while desk.configuration.reads.withLock({ $0 }) < 2 { sched_yield() }
        client.start([run(job)])
        #expect(outcome(ear.end(of: run(job))) == "exited(3)")
        #expect(desk.configuration.reads.withLock { $0 } == 2)
        client.close()
        desk.stop()
    }

    /// With very many jobs this takes a while. Runs with known definitions start at once, and runs
    /// of changed jobs wait only for the reading.
    @Test func startsDoNotWaitForTheConfigurationToBeRead() throws {
        let isSlow = Mutex(false)
        let mayGoOn = DispatchSemaphore(value: 0)
        let desk = try Desk { settings in
            let read = settings.definitions
            settings.definitions = {
                if isSlow.withLock({ $0 }) { mayGoOn.wait() }
                return read()
            }
        }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let (known, changed) = (job("exit 3"), job("exit 4"))
        desk.configuration.jobs.withLock { $0 = [known.name: Definition(known)] }
        client.start([run(known)])
        #expect(outcome(ear.end(of: run(known))) == "exited(3)")
        isSlow.withLock { $0 = true }
        desk.configuration.jobs.withLock { $0 = [changed.name: Definition(changed)] }
        client.refresh()
        // This run waits, and so do the commands for it.
        client.start([run(changed, 2)])
        client.suspend(run(changed, 2).id)
        client.resume(run(changed, 2).id)
        client.start([run(known, 3)])
        #expect(outcome(ear.end(of: run(known, 3))) == "exited(3)")
        #expect(
            ear.events.allSatisfy {
                if case .ended(run(changed, 2).id, _) = $0 { false } else { true }
            })
        mayGoOn.signal()
        #expect(outcome(ear.end(of: run(changed, 2))) == "exited(4)")
        // Until the scheduler reports that the reload is finished.
        client.start([run(known, 4)])
        #expect(outcome(ear.end(of: run(known, 4))) == "exited(3)")
        client.forgetFormer()
        isSlow.withLock { $0 = false }
        client.start([run(known, 5)])
        #expect(outcome(ear.end(of: run(known, 5))).hasPrefix("spawn-failed(ESTALE"))
        client.close()
        desk.stop()
    }

    /// The runner reads a configuration that the scheduler refused, and nothing is lost by that.
    @Test func severalReadingsWithoutAReloadKeepTheCurrentDefinitions() throws {
        let desk = try Desk()
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        let jobs = (3...6).map { job("exit \($0)") }
        desk.configuration.jobs.withLock { $0 = [jobs[0].name: Definition(jobs[0])] }
        client.start([run(jobs[0])])
        _ = ear.end(of: run(jobs[0]))
        for number in 1...3 {
            let reads = desk.configuration.reads.withLock { $0 }
            desk.configuration.jobs.withLock { $0 = [jobs[number].name: Definition(jobs[number])] }
            client.refresh()
            while desk.configuration.reads.withLock({ $0 }) == reads { sched_yield() }
            client.start([run(jobs[0], 10 + number)])
            #expect(outcome(ear.end(of: run(jobs[0], 10 + number))) == "exited(3)")
        }
        client.start([run(jobs[3], 20)])
        #expect(outcome(ear.end(of: run(jobs[3], 20))) == "exited(6)")
        client.close()
        desk.stop()
    }

    /// Another client replaces one that has ended, and gets all events that that one had not
    /// acknowledged.
    @Test func theNextSchedulerGetsTheUnacknowledgedEvents_andStartsNothingTwice() throws {
        let desk = try Desk()
        let job = job("echo $$; exit 3")
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let deaf = Ear(seesAll: false)
        let first = try desk.client { deaf.take($0, $1) }
        first.start([run(job)])
        let told = deaf.end(of: run(job))
        first.close()

        let ear = Ear()
        let second = try desk.client { ear.take($0, $1) }
        #expect(second.holdings.map(\.run) == [run(job).id] && second.holdings[0].isOver)
        #expect(ear.end(of: run(job)) == told)
        #expect(ear.events == deaf.events)
        second.start([run(job)])
        second.forget(run(job).id)
        second.close()
        try expectNothingHeld(at: desk)
        desk.stop()
    }

    /// Expects that the next client gets no run.
    private func expectNothingHeld(at desk: Desk) throws {
        let next = try desk.client { _, _ in }
        #expect(next.holdings.isEmpty)
        next.close()
    }

    /// The server notices the lost connection by sending to it, while the last request is still to
    /// be read.
    @Test func theLastRequestOfALostConnectionIsExecuted() throws {
        let desk = try Desk()
        let client = try desk.client { _, _ in }
        while desk.configuration.reads.withLock({ $0 }) < 1 { sched_yield() }
        let job = job("true")
        desk.configuration.jobs.withLock { _ in
            client.start([run(job)])
            // It is reading the configuration now, and waits for the lock that the test holds.
            while desk.configuration.reads.withLock({ $0 }) < 2 { sched_yield() }
            client.forget(run(job).id)
            client.close()
        }
        try expectNothingHeld(at: desk)
        desk.stop()
    }

    /// The existing connection is closed when another is opened, repeatedly: each of the clients
    /// reconnects.
    @Test func aBrokenConnectionIsRestored_andNothingIsLostOrReportedTwice() throws {
        let desk = try Desk()
        let job = job("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.1; done")
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        client.start([run(job)])
        for _ in 0..<5 {
            usleep(150_000)
            // The latest connection replaces the previous one.
            let other = desk.connect()
            close(other)
        }
        #expect(outcome(ear.end(of: run(job))) == "exited(0)")
        let lines = ear.events.compactMap { event -> String? in
            guard case .output(_, _, let line, _) = event else { return nil }
            return String(decoding: line, as: UTF8.self)
        }
        #expect(lines == ["1", "2", "3", "4", "5", "6", "7", "8", "9"])
        #expect(ear.events.count { if case .ended = $0 { true } else { false } } == 1)
        client.close()
        desk.stop()
    }

    @Test func aShutdownEndsActiveRuns_andReportsIt() throws {
        let desk = try Desk()
        let job = job("echo up; exec sleep 300")
        desk.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let ear = Ear()
        let client = try desk.client { ear.take($0, $1) }
        client.start([run(job)])
        ear.wait { $0.contains { if case .output = $0 { true } else { false } } }
        client.shutdown(grace: .seconds(30))
        #expect(desk.connect() < 0, "a process still listens")
        #expect(outcome(ear.end(of: run(job))) == "stopped")
        client.forget(run(job).id)
        client.close()
        desk.stop()
    }

    @Test func anInvalidMessageClosesTheConnection_andTheRunnerContinues() throws {
        let desk = try Desk()
        for bytes: [UInt8] in [
            [255, 255, 255, 255, 0], [1, 0, 0, 0, 99], [0, 0, 0, 0],
            [9, 0, 0, 0] + [UInt8](repeating: 9, count: 9),
        ] {
            let socket = desk.connect()
            _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            var wanted = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            #expect(poll(&wanted, 1, 10_000) == 1)
            var byte: UInt8 = 0
            #expect(recv(socket, &byte, 1, 0) <= 0, "\(bytes) was answered")
            close(socket)
        }
        let client = try desk.client { _, _ in }
        #expect(client.holdings.isEmpty)
        client.close()
        desk.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func otherUsersAreRefused() async {
        await #expect(processExitsWith: .success) {
            let desk = try Desk()
            // The kernel records the user of the peer when it connects.
            seteuid(65_534)
            let socket = desk.connect()
            seteuid(0)
            #expect(socket >= 0)
            let hello = WireRequest.hello(version: Wire.version).bytes
            let frame = [UInt8(hello.count), 0, 0, 0] + hello
            _ = send(socket, frame, frame.count, Int32(MSG_NOSIGNAL))
            var wanted = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            #expect(poll(&wanted, 1, 10_000) == 1)
            var byte: UInt8 = 0
            #expect(recv(socket, &byte, 1, 0) <= 0)
            #expect(
                desk.configuration.said.withLock { $0 } == [
                    "refused a connection of uid 65534; only root and the scheduler's user may connect"
                ])
            desk.stop()
        }
    }
}
