// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Synchronization
import Testing
import TimerControl
import TimerCore

/// Kills, suspends and stops both processes at random while commands are sent. Then compares what
/// the jobs wrote with the guarantees of timerd.
///
/// `TIMERD_KILLS=1000` takes 10 minutes for each arrangement.
@Suite(.serialized) struct KillCampaignTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["TIMERD_KILLS"].flatMap { Int($0) } ?? 25

    @Test(arguments: [false, true]) func nothingIsLostOrDoubled(separateRunner: Bool) throws {
        var random = SeededRandom()
        let campaign = try KillCampaign(separateRunner: separateRunner)
        try campaign.begin()
        for _ in 0..<Self.rounds {
            try campaign.look()
            let answer = campaign.command()
            // At once, or after a while.
            let most = random.int(below: 3) == 0 ? 1_500_000 : 3000
            usleep(UInt32(random.int(below: most)))
            try campaign.strike(&random)
            campaign.take(answer)
        }
        try campaign.end()
        campaign.check()
    }
}

/// A daemon and its runner under attack, and what is known about them from outside.
private final class KillCampaign {
    private let daemon: LiveDaemon
    private let separateRunner: Bool
    private var scheduler: Spawned?
    private var runner: Spawned?
    /// How much time the job `clock` may have counted, at least and at most, in seconds.
    private var least = 0.0
    private var most = 0.0
    private var ready = 0.0
    private var kills = 0
    /// The note of the last acknowledged pause, or nil after a resume; and the requests without an
    /// answer.
    private var acknowledged: String?
    private var unanswered: String??
    private var notes = 0

    private var stamps: String { "\(daemon.folder)/stamps" }

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
        let verb: Order.Verb = answer.note == nil ? .resume : .pause
        let request = ControlRequest.order(
            verb, Job.Name("held")!, OrderBody(note: answer.note))
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
        switch random.int(below: 6) {
        case 0: try restart(SIGKILL, &random)
        case 1: try restart(SIGTERM, &random)
        case 2: try killRunner()
        case 3: freeze(scheduler?.pid, &random)
        case 4: freeze(runnerProcess(), &random)
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

    private func end(_ number: Int32) {
        guard let scheduler else { return }
        let asked = LiveDaemon.now()
        scheduler.signal(number)
        let status = scheduler.wait()
        if number == SIGTERM { #expect(status == 0, "\(daemon.log.suffix(2000))") }
        most += LiveDaemon.now() - scheduler.startedAt
        least += asked - ready - (number == SIGKILL ? 1 : 0)
        kills += 1
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

    private var counted = 0.0
    private var outcomes: Set<String> = []
    /// Occurrences that are due together and not late enough to be missed have one run; this is how
    /// many more the run stands for.
    private var standsFor: [String: Int] = [:]

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

    func check() {
        let lines = ((try? String(contentsOfFile: stamps, encoding: .utf8)) ?? "")
            .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        var begun: Set<String> = []
        for line in lines where line.count == 2 && line[1] == "begin" {
            #expect(begun.insert(line[0]).inserted, "\(line[0]) was begun twice")
        }
        #expect(lines.allSatisfy { $0.count == 2 }, "a torn line")
        checkOverlap(lines)
        checkSlots(begun)
        #expect(counted >= least, "\(least - counted) s lost in \(kills) kills")
        #expect(counted <= most, "\(counted - most) s gained")
        checkOrphans()
        print("kills \(kills), runs \(begun.count), slots on record \(outcomes.count)")
    }

    /// `concurrency = "forbid"`: the next run starts when the last one has ended. A run that was
    /// killed from outside has written no end, so only starts while another run is known to be
    /// active are checked.
    private func checkOverlap(_ lines: [[String]]) {
        var running: String?
        var ended: Set<String> = []
        let withEnd = Set(lines.filter { $0[1] == "end" }.map { $0[0] })
        for line in lines where line[0].hasPrefix("slow:") {
            if line[1] == "end" {
                ended.insert(line[0])
                if running == line[0] { running = nil }
            } else {
                if let running, withEnd.contains(running) {
                    Issue.record("\(line[0]) began while \(running) was running")
                }
                running = line[0]
            }
        }
    }

    /// Each second has its run: it was started, or the log says why it was not.
    private func checkSlots(_ begun: Set<String>) {
        func second(_ run: String) -> Int? {
            let instant = run.split(separator: ":").dropFirst().first.map(String.init) ?? ""
            let parser = DateFormatter()
            parser.locale = Locale(identifier: "en_US_POSIX")
            parser.timeZone = TimeZone(identifier: "UTC")
            parser.dateFormat = "yyyyMMdd'T'HHmmss.SSSSSS'Z'"
            return parser.date(from: instant).map { Int($0.timeIntervalSince1970.rounded()) }
        }
        let runs = begun.filter { $0.hasPrefix("slot:") }
        let seconds = Set(runs.compactMap(second))
        #expect(seconds.count == runs.count, "a slot was run twice")
        let recorded = Set(
            outcomes.flatMap { run in
                second(run).map { Array($0...$0 + (standsFor[run] ?? 0)) } ?? []
            })
        guard let first = seconds.min(), let last = seconds.max() else {
            Issue.record("no slot was run")
            return
        }
        let missing = (first...last).filter { !seconds.contains($0) && !recorded.contains($0) }
        #expect(missing.isEmpty, "\(missing.count) of \(last - first + 1) slots are not on record")
        for second in missing { print("missing: \(second)\n\(log(around: second))") }
    }

    /// The log of the daemons from one second before this second to three seconds after it.
    private func log(around second: Int) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "HH:mm:ss"
        let times = (second - 1...second + 3).map {
            format.string(from: Date(timeIntervalSince1970: Double($0)))
        }
        return daemon.log.split(separator: "\n")
            .filter { line in times.contains { line.contains($0) } }.joined(separator: "\n")
    }

    /// When both have stopped, none of their processes is left. A runner whose scheduler was killed
    /// ends after a minute.
    private func checkOrphans() {
        let deadline = LiveDaemon.now() + 90
        var left: [String] = []
        repeat {
            left = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).filter {
                guard Int($0) != nil,
                    let data = FileManager.default.contents(atPath: "/proc/\($0)/cmdline")
                else { return false }
                return String(decoding: data, as: UTF8.self).contains(daemon.folder)
            }
        } while !left.isEmpty && LiveDaemon.now() < deadline
        #expect(left.isEmpty, "processes are left: \(left)")
    }
}
