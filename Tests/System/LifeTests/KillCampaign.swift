// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Synchronization
import Testing
import TimerControl
import TimerCore

/// A daemon and its runner under attack, and what is known about them from outside.
final class KillCampaign {
    let daemon: LiveDaemon
    private let separateRunner: Bool
    var scheduler: Spawned?
    var runner: Spawned?
    /// How much time the job `clock` may have counted, at least and at most, in seconds.
    var least = 0.0
    var most = 0.0
    private var ready = 0.0
    var kills = 0
    var holds = HoldRecord()
    /// The note of the last acknowledged pause, or nil after a resume; and the requests without an
    /// answer.
    private var acknowledged: String?
    private var unanswered: String??
    private var notes = 0

    var stamps: String { "\(daemon.folder)/stamps" }

    init(separateRunner: Bool) throws {
        self.separateRunner = separateRunner
        daemon = try LiveDaemon("")
        // One line for each start and each end, written at once (write(2), O_APPEND).
        let stamp = #"echo \"$TIMERD_RUN_ID begin\" >> \#(daemon.folder)/stamps"#
        let end = #"echo \"$TIMERD_RUN_ID end\" >> \#(daemon.folder)/stamps"#
        try daemon.write(
            """
            [daemon]
            max-concurrent = 200
            [job.slot]
            calendar = "*-*-* *:*:*"
            on-missed = "run-all"
            concurrency = "allow"
            shell = "\(stamp)"
            log = "none"
            [job.tick]
            every = "300ms"
            concurrency = "allow"
            shell = "\(stamp)"
            log = "none"
            [job.slow]
            every = "500ms"
            shell = "\(stamp); sleep 0.7; \(end)"
            log = "none"
            [job.clock]
            every = "100h"
            shell = "true"
            [job.held]
            every = "100h"
            shell = "true"
            """)
    }

    func begin() throws {
        try startRunner()
        try startScheduler()
        waitUntilReady()
    }

    private func startRunner() throws {
        guard separateRunner else { return }
        runner = try Spawned(
            [
                "\(LiveDaemon.programs)/timerd-runner", "--config", daemon.config, "--runtime",
                "\(daemon.folder)/runner",
            ], log: "\(daemon.folder)/log")
    }

    private func startScheduler() throws {
        var arguments = [
            "\(LiveDaemon.programs)/timerd", "run", "--config", daemon.config, "--state",
            "\(daemon.folder)/state", "--runtime", "\(daemon.folder)/run", "--log", "stderr",
        ]
        if separateRunner { arguments += ["--runner", "\(daemon.folder)/runner/runner.sock"] }
        scheduler = try Spawned(
            arguments, ["NOTIFY_SOCKET": "\(daemon.folder)/notify"], log: "\(daemon.folder)/log")
    }

    private func waitUntilReady() {
        #expect(daemon.waitForManager("READY=1", seconds: 40) != nil, "\(daemon.log.suffix(2000))")
        ready = LiveDaemon.now()
    }

    // MARK: - Commands

    /// The result of a command that was sent.
    final class PendingAnswer: Sendable {
        let note: String?
        private let isThere = DispatchSemaphore(value: 0)
        private let isDone = Mutex(false)

        init(note: String?) { self.note = note }

        func set(_ done: Bool) {
            isDone.withLock { $0 = done }
            isThere.signal()
        }

        /// Whether the command was acknowledged.
        func wait() -> Bool {
            isThere.wait()
            return isDone.withLock { $0 }
        }
    }

    /// Checks that the last acknowledged command still applies, and which runs there were.
    func look() throws {
        let note = try daemon.show("held").paused?.note
        if let asked = unanswered {
            #expect(note == asked || note == acknowledged, "neither before nor after the command")
            unanswered = nil
        } else {
            #expect(note == acknowledged, "an acknowledged command is lost")
        }
        acknowledged = note
        let query = HistoryQuery(job: Job.Name("slot")!, limit: 1000)
        let reply = try daemon.ask(.history(query))
        for run in try ControlJSON.decode(HistoryReply.self, from: Array(reply.text.utf8)).runs {
            outcomes.insert(run.id)
            standsFor[run.id] = run.missed ?? 0
        }
    }

    /// Pauses or resumes a job, from another thread.
    func command() -> PendingAnswer {
        notes += 1
        let answer = PendingAnswer(note: acknowledged == nil ? "note \(notes)" : nil)
        let verb: JobCommand.Verb = answer.note == nil ? .resume : .pause
        let request = ControlRequest.command(
            verb, Job.Name("held")!, CommandBody(note: answer.note))
        let socket = daemon.socket
        DispatchQueue.global().async {
            let reply = try? ControlClient(path: socket).send(request)
            answer.set(reply?.status == 200)
        }
        return answer
    }

    /// Records the result of a command: without an answer, both results are possible.
    func take(_ answer: PendingAnswer) {
        if answer.wait() { acknowledged = answer.note } else { unanswered = .some(answer.note) }
    }

    // MARK: - Attacks

    func strike(_ random: inout SeededRandom) throws {
        switch random.int(below: 8) {
        case 0: try restart(SIGKILL, &random)
        case 1: try restart(SIGTERM, &random)
        case 2: try killRunner()
        case 3: freeze(scheduler?.pid, &random)
        case 4: freeze(runnerProcess(), &random)
        case 5, 6: try forgetEverything(&random)
        default:
            // Both at once.
            scheduler?.signal(SIGSTOP)
            try killRunner()
            try restart(SIGKILL, &random)
        }
    }

    /// Kills the scheduler, and then one or more schedulers that are still starting.
    private func restart(_ number: Int32, _ random: inout SeededRandom) throws {
        end(number)
        for _ in 0..<random.int(below: 3) {
            try startScheduler()
            usleep(UInt32(random.int(below: 40_000)))
            // It is not known how far it came: it counted at most the whole time.
            let early = random.int(below: 2) == 0 ? SIGKILL : SIGTERM
            guard let scheduler else { return }
            scheduler.signal(early)
            scheduler.wait()
            most += LiveDaemon.now() - scheduler.startedAt
            kills += 1
        }
        while daemon.waitForManager("READY=1", seconds: 0) != nil {}
        try startScheduler()
        waitUntilReady()
    }

    func end(_ number: Int32) {
        guard let scheduler else { return }
        let asked = LiveDaemon.now()
        scheduler.signal(number)
        let status = scheduler.wait()
        if number == SIGTERM { #expect(status == 0, "\(daemon.log.suffix(2000))") }
        most += LiveDaemon.now() - scheduler.startedAt
        least += asked - ready - (number == SIGKILL ? 1 : 0)
        kills += 1
    }

    /// Ends both, in either order, and their jobs, and removes the runtime directories, as when a
    /// container gets another /run, or systemd stops both services.
    private func forgetEverything(_ random: inout SeededRandom) throws {
        let number = [SIGTERM, SIGKILL][random.int(below: 2)]
        let runnerNumber = [SIGTERM, SIGKILL][random.int(below: 2)]
        let isRunnerFirst = random.int(below: 2) == 0
        if isRunnerFirst { endRunner(runnerNumber) }
        end(number)
        if !isRunnerFirst { endRunner(runnerNumber) }
        for pid in processes() { kill(pid, SIGKILL) }
        let files = FileManager.default
        if random.int(below: 2) == 0 { try? files.removeItem(atPath: "\(daemon.folder)/runner") }
        if random.int(below: 2) == 0 {
            try? files.removeItem(atPath: "\(daemon.folder)/run")
            // Without a heartbeat it is not known how long the scheduler counted.
            if number == SIGKILL { least -= 29 }
        }
        if separateRunner { try startRunner() }
        while daemon.waitForManager("READY=1", seconds: 0) != nil {}
        try startScheduler()
        waitUntilReady()
    }

    private func endRunner(_ number: Int32) {
        kills += 1
        if separateRunner {
            runner?.signal(number)
            runner?.wait()
        } else if let pid = daemon.runner() {
            kill(pid, number)
        }
    }

    /// The processes of the daemon and its jobs, by the paths on their command lines.
    func processes() -> [pid_t] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { pid_t($0) }.filter { pid in
            guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") else {
                return false
            }
            return String(decoding: data, as: UTF8.self).contains(daemon.folder)
        }
    }

    private func runnerProcess() -> pid_t? { separateRunner ? runner?.pid : daemon.runner() }

    private func killRunner() throws {
        kills += 1
        if separateRunner {
            _ = runner?.end()
            try startRunner()
        } else if let pid = daemon.runner() {
            // The next scheduler starts another.
            kill(pid, SIGKILL)
        }
    }

    private func freeze(_ pid: pid_t?, _ random: inout SeededRandom) {
        guard let pid else { return }
        kill(pid, SIGSTOP)
        usleep(UInt32(random.int(below: 700_000)))
        kill(pid, SIGCONT)
    }

    // MARK: - The end

    var counted = 0.0
    var outcomes: Set<String> = []
    /// Occurrences that are due together and not late enough to be missed have one run; this is how
    /// many more the run stands for.
    var standsFor: [String: Int] = [:]

    func end() throws {
        try look()
        counted = Double(try daemon.show("clock").activeUsec) / 1e6
        most += LiveDaemon.now() - (scheduler?.startedAt ?? 0)
        least += LiveDaemon.now() - ready
        end(SIGTERM)
        if separateRunner {
            runner?.signal(SIGTERM)
            #expect(runner?.wait() == 0)
        }
    }
}
