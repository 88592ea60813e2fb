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

/// Checks of conditions by a real runner, with real commands.
@Suite struct ConditionCheckTests {
    private static func job(
        _ name: String = "probe", _ change: (inout Condition) -> Void
    ) -> Job {
        var job = Job(
            name: Job.Name(name)!, command: .shell("touch /nonexistent/started"),
            schedule: .every(.seconds(1)))
        var condition = Condition()
        change(&condition)
        job.execution.condition = condition
        return job
    }

    private static func job(command line: String, _ name: String = "probe") -> Job {
        job(name) { $0.command = ["/bin/sh", "-c", line] }
    }

    private static func run(_ job: Job, _ number: Int = 0) -> Run {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        let firing = Firing.ID(job: job.name, scheduled: scheduled)
        return Run(firing: Firing(id: firing, missed: 0, active: .zero), job: job)
    }

    private func use(_ jobs: [Job], _ fixture: ServerFixture) {
        fixture.configuration.jobs.withLock { definitions in
            definitions = Dictionary(uniqueKeysWithValues: jobs.map { ($0.name, Definition($0)) })
        }
    }

    /// The answer to one check of the job.
    private func answer(_ job: Job) throws -> Condition.Answer? {
        let fixture = try ServerFixture()
        use([job], fixture)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        client.check(Self.run(job), number: 7)
        let answer = events.answer(to: 7, of: Self.run(job))
        #expect(events.events.isEmpty, "a check is no run")
        client.close()
        // The runner keeps no record of it.
        let next = try fixture.client { _, _ in }
        #expect(next.holdings.isEmpty)
        next.close()
        fixture.stop()
        return answer
    }

    @Test(arguments: [
        ("exit 0", Condition.Answer.yes), ("exit 1", .no("command exited with 1")),
        ("echo the disk is away; exit 2", .no("command exited with 2: the disk is away")),
        ("printf '\\033[31mred\\n\\n' >&2; exit 254", .no("command exited with 254:  [31mred")),
        ("exit 255", .failed(errno: "ECANCELED", why: "command exited with 255")),
        ("kill -KILL $$", .failed(errno: "ECANCELED", why: "command was ended by SIGKILL")),
        // The group is its own.
        ("kill -KILL 0", .failed(errno: "ECANCELED", why: "command was ended by SIGKILL")),
    ])
    func aCommandAnswersByItsEnd(line: String, answer: Condition.Answer) throws {
        #expect(try self.answer(Self.job(command: line)) == answer)
    }

    @Test func aCommandThatIsNotThereFails() throws {
        let job = Self.job { $0.command = ["/nonexistent/may-run"] }
        guard case .failed("ENOENT", let why) = try answer(job) else {
            return #expect(Bool(false))
        }
        #expect(why.hasPrefix("command: exec /nonexistent/may-run"))
    }

    @Test func aCommandHasTheEnvironmentOfTheRun() throws {
        var job = Self.job(
            command: "[ $TIMERD_JOB.$OWN = probe.yes ] && [ ${TIMERD_RUN_ID%%:*} = probe ]")
        job.environment = ["OWN": "yes"]
        #expect(try answer(job) == .yes)
    }

    /// Ten megabytes are read and dropped; the answer has a part of the first line.
    @Test func muchOutputDoesNoHarm() throws {
        let long = "head -c 5000 /dev/zero | tr '\\0' x; echo; yes | head -c 10485760; exit 3"
        let answer = try answer(Self.job(command: long))
        #expect(
            answer == .no("command exited with 3: " + String(repeating: "x", count: 1024)))
    }

    @Test func aCommandThatHangsIsKilledWithAllThatItStarted() throws {
        let mark = "/tmp/timerd-check-\(UUID().uuidString)"
        defer { unlink(mark) }
        let line = """
            trap '' TERM; sleep 3600 & echo $! > \(mark); echo waiting; while true; do sleep 3600; done
            """
        let begin = RunnerClock.awake()
        let answer = try answer(Self.job(command: line))
        let took = Duration.nanoseconds(RunnerClock.awake() - begin)
        #expect(
            answer
                == .failed(
                    errno: "ETIMEDOUT", why: "command: waiting: no answer within 10 s"))
        #expect(took >= .seconds(10) && took < .seconds(20), "\(took)")
        let pid = try #require(
            Int32(
                try String(contentsOfFile: mark, encoding: .utf8).trimmingCharacters(
                    in: .whitespacesAndNewlines)))
        wait { Glibc.kill(pid, 0) != 0 }
    }

    @Test func whatIsNotMetIsFoundBeforeTheCommand() throws {
        let mark = "/tmp/timerd-check-\(UUID().uuidString)"
        let job = Self.job {
            $0.pathExists = [.init("/nonexistent")]
            $0.command = ["touch", mark]
        }
        #expect(try answer(job) == .no("path-exists /nonexistent"))
        #expect(access(mark, F_OK) != 0)
    }

    @Test func aPathThatHangsFailsItsCheckOnly() throws {
        guard let hanging = try? HangingFolder() else { return }
        let fixture = try ServerFixture()
        let slow = Self.job("slow") { $0.pathExists = [.init("\(hanging.path)/x")] }
        let quick = Self.job("quick") { $0.pathExists = [.init("/")] }
        use([slow, quick], fixture)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let begin = RunnerClock.awake()
        client.check(Self.run(slow), number: 1)
        client.check(Self.run(quick), number: 2)
        #expect(events.answer(to: 2, of: Self.run(quick)) == .yes)
        #expect(RunnerClock.awake() - begin < 5_000_000_000)
        let answer = events.answer(to: 1, of: Self.run(slow))
        #expect(answer == .failed(errno: "ETIMEDOUT", why: "path-exists: no answer within 10 s"))
        client.close()
        fixture.stop()
    }

    /// Eight at a time; the others wait for their turn.
    @Test func onlySomeCommandsRunAtATime() throws {
        let folder = "/tmp/timerd-check-\(UUID().uuidString)"
        mkdir(folder, 0o777)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let line = """
            touch \(folder)/$$; ls \(folder) | wc -l >> \(folder).most; sleep 0.2; rm \(folder)/$$
            """
        defer { unlink("\(folder).most") }
        let fixture = try ServerFixture()
        let job = Self.job(command: line)
        use([job], fixture)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        for number in 0..<30 { client.check(Self.run(job, number), number: UInt64(number)) }
        for number in 0..<30 {
            #expect(events.answer(to: UInt64(number), of: Self.run(job, number)) == .yes)
        }
        let counts = try String(contentsOfFile: "\(folder).most", encoding: .utf8)
            .split(separator: "\n").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
        #expect(counts.count == 30 && counts.max() ?? 0 <= StartQueue.activeChecksMax)
        client.close()
        fixture.stop()
    }

    /// A run starts while a check of another one hangs, and while all places of checks are taken.
    @Test func checksTakeNoPlaceOfARun() throws {
        let fixture = try ServerFixture()
        let hanging = Self.job(command: "exec sleep 3600", "hanging")
        var job = Job(
            name: Job.Name("plain")!, command: .shell("exit 4"), schedule: .every(.seconds(1)))
        job.policy.concurrency = .allow
        use([hanging, job], fixture)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        for number in 0..<20 { client.check(Self.run(hanging, number), number: UInt64(number)) }
        client.start([Self.run(job)])
        guard case .ended(_, let end) = events.end(of: Self.run(job)) else { return }
        #expect(end.outcome == .exited(4) && events.answerCount == 0)
        client.close()
        fixture.stop()
    }

    @Test func aLostConnectionAsksAgain() throws {
        let fixture = try ServerFixture()
        let mark = "/tmp/timerd-check-\(UUID().uuidString)"
        defer { unlink(mark) }
        let job = Self.job(command: "while [ ! -e \(mark) ]; do sleep 0.05; done; exit 9")
        use([job], fixture)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        client.check(Self.run(job), number: 1)
        // The latest connection replaces the previous one.
        close(fixture.connect())
        #expect(events.firstAway() != nil)
        try Data().write(to: URL(fileURLWithPath: mark))
        #expect(
            events.answer(to: 1, of: Self.run(job)) == .no("command exited with 9"))
        client.close()
        fixture.stop()
    }

    @Test func aLostRunnerIsAskedAgain_andLeavesNoCommand() throws {
        let job = Self.job { $0.pathExists = [.init("/")] }
        let first = try ServerFixture()
        let hanging = Self.job(command: "exec sleep 3600", "hanging")
        use([job, hanging], first)
        let socket = Mutex(first)
        let events = ReceivedEvents()
        let client = try RunnerClient(timeout: .seconds(10)) {
            let descriptor = socket.withLock { $0.connect() }
            return descriptor >= 0 ? .success(descriptor) : .failure(.init("no process listens"))
        }
        client.begin(adopting: []) { events.take($0, $1) }
        client.check(Self.run(hanging), number: 1)
        first.stop(keepsFolder: true)
        let second = try ServerFixture(in: first.folder)
        use([job, Self.job(command: "exit 5", "hanging")], second)
        socket.withLock { $0 = second }
        client.check(Self.run(job), number: 2)
        #expect(events.answer(to: 2, of: Self.run(job)) == .yes)
        // The definition is another one now, which the scheduler does not know.
        guard case .failed("ESTALE", _) = events.answer(to: 1, of: Self.run(hanging)) else {
            return #expect(Bool(false))
        }
        client.close()
        second.stop()
    }

    @Test func aJobThatIsNotConfiguredFailsItsCheck() throws {
        let fixture = try ServerFixture()
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        let job = Self.job { $0.acPower = true }
        client.check(Self.run(job), number: 1)
        guard case .failed("ENOENT", _) = events.answer(to: 1, of: Self.run(job)) else {
            return #expect(Bool(false))
        }
        client.close()
        fixture.stop()
    }

    /// A later request replaces an earlier one for the same run.
    @Test func onlyTheLatestRequestIsAnswered() throws {
        let fixture = try ServerFixture()
        let job = Self.job(command: "sleep 0.2; exit 6")
        use([job], fixture)
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        for number in 1...3 { client.check(Self.run(job), number: UInt64(number)) }
        #expect(
            events.answer(to: 3, of: Self.run(job)) == .no("command exited with 6"))
        #expect(events.answerCount == 1)
        client.close()
        fixture.stop()
    }

    // MARK: - Values

    private let request = CheckRequest(
        run: Run.ID("a:20261121T043852.000000Z:1")!, number: 1, fingerprint: 2)

    @Test func aCheckThatTakesTooLongIsAnsweredWithoutItsThread() {
        var checks = ConditionChecks()
        var condition = Condition()
        condition.mounted = [.init("/mnt")]
        checks.begin(request, condition, Definition(.shell("x")), at: 0)
        #expect(!checks.isNew(request) && checks.next == 10_000_000_000)
        #expect(checks.takeLate(at: 9_999_999_999).isEmpty)
        let late = checks.takeLate(at: 10_000_000_000)
        #expect(late.map(\.0) == [request] && checks.count == 0 && checks.isNew(request))
        #expect(checks.didLook(request.run, number: 1, .yes) == nil)
    }

    /// A command that is blocked in the kernel keeps its place, and its check fails.
    @Test func aCommandThatCannotBeKilledKeepsItsPlaceOnly() throws {
        var checks = ConditionChecks()
        var condition = Condition()
        condition.command = ["x"]
        checks.begin(request, condition, Definition(.shell("x")), at: 0)
        #expect(checks.didLook(request.run, number: 1, .yes) == nil)
        let start = try #require(
            checks.takeStarts(at: 5, wall: WallInstant(secondsSinceEpoch: 7)).first)
        #expect(start.run.isCheck && checks.knows(start.run))
        #expect(Run.ID(start.run.description) == start.run && Job.Name("@condition") == nil)
        let most = ConditionChecks.commandTimeMax.wholeNanoseconds + 5
        #expect(checks.takeLate(at: most - 1).isEmpty)
        #expect(checks.takeLate(at: most).map(\.1) == [.tooLate("command")])
        #expect(checks.knows(start.run) && checks.count == 0)
        #expect(checks.didEnd(start.run, .timedOut, line: []) == nil && !checks.knows(start.run))
    }

    @Test func noTwoCommandsHaveOneIdentity() throws {
        var checks = ConditionChecks()
        var condition = Condition()
        condition.command = ["x"]
        var runs: Set<Run.ID> = []
        for number in 0..<5 {
            var request = request
            request.run.attempt = number + 1
            checks.begin(request, condition, Definition(.shell("x")), at: 0)
            _ = checks.didLook(request.run, number: 1, .yes)
            // The clock is set back each time.
            let wall = WallInstant(secondsSinceEpoch: Int64(100 - number))
            for start in checks.takeStarts(at: 0, wall: wall) { runs.insert(start.run) }
        }
        #expect(runs.count == 5)
    }
}
