// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

extension JobSelection {
    /// The job, if the selection is one named job.
    var single: Job.Name? {
        if case .jobs(let names) = self, names.count == 1, !names[0].isTemplate {
            names[0]
        } else {
            nil
        }
    }
}

/// Requests runs and prints the result of each: it started, waits, or failed to start.
struct RunRequester {
    var connection: Connection
    var isWaiting = false
    /// Whether only jobs are selected whose last run failed; the others are not printed.
    var isAboutFailed = false
    var body = CommandBody()

    func give(_ verb: JobCommand.Verb, _ jobs: JobSelection) throws {
        guard let job = jobs.single else { return try giveMany(verb, jobs) }
        let reply = try connection.ask(.command(verb, job, body), for: CommandReply.self)
        guard let run = reply.run.flatMap({ Run.ID($0) }) else {
            return try connection.show(reply) { Text.command(reply, done: "run requested") }
        }
        guard !isWaiting else { return try wait(for: run) }
        let start = RunStart(connection).single(run)
        if connection.json {
            try connection.show(reply) { "" }
        } else if start.failure == nil {
            let left = reply.status.remainingUsec
            print(Text.requested(reply.status.job, run: run.description, start, left: left))
        }
        guard let failure = start.failure else { return }
        throw Connection.fail(1, "\(job): run \(run) \(failure)")
    }

    private func giveMany(_ verb: JobCommand.Verb, _ jobs: JobSelection) throws {
        var reply = try connection.ask(.commands(verb, jobs, body), for: CommandsReply.self)
        if isAboutFailed { reply.results.removeAll { !$0.changed && $0.refused != true } }
        let starts = RunStart(connection).all(reply.results.compactMap(\.run))
        var complaints: [String] = []
        var lines: [String] = []
        for result in reply.results {
            if result.refused == true {
                complaints.append("job \"\(result.job)\": \(result.reason ?? "refused")")
            } else if let run = result.run {
                let start = starts[run] ?? .requested
                if let failure = start.failure {
                    complaints.append("\(result.job): run \(run) \(failure)")
                } else {
                    lines.append(
                        Text.requested(result.job, run: run, start, left: result.remainingUsec))
                }
            } else {
                lines.append(Text.command(result, done: "run requested"))
            }
        }
        if connection.json {
            try connection.show(reply) { "" }
        } else if !lines.isEmpty {
            print(lines.joined(separator: "\n"))
        } else if complaints.isEmpty, isAboutFailed {
            print("nothing to do: no job's last run failed")
        }
        guard !complaints.isEmpty else { return }
        throw Connection.fail(1, complaints.joined(separator: "\ntimerctl: "))
    }

    private func wait(for run: Run.ID) throws {
        // Earlier output must come before the output of the run.
        fflush(nil)
        Interruption.explain(
            "stopped waiting; run \(run) continues. `timerctl kill \(run)` ends it, and `timerctl log \(run) "
                + "--follow` shows its output")
        var watch = RunWatch(run, isQuiet: connection.json) {
            [connection] request throws(Connection.Failure) in
            try connection.response(to: request)
        }
        let reply: RunReply
        do throws(Connection.Failure) { reply = try watch.finish() } catch { throw error.exit }
        if connection.json {
            try connection.show(reply) { "" }
        } else {
            Terminal.complain("timerctl: \(Text.ended(reply))")
        }
        throw ExitCode(RunWatch.exitStatus(of: reply))
    }
}

/// Finds out for `timerctl run` whether the requested runs have started.
struct RunStart {
    /// How far one requested run is.
    enum Start: Hashable {
        /// Its process was started.
        case started
        /// It is being started, or its state is not known.
        case requested
        /// It waits for this reason.
        case waits(String)
        /// It never started, because a condition was not met, in these words.
        case skipped(String)
        /// It never started, for this reason.
        case failed(String)

        var failure: String? { if case .failed(let why) = self { why } else { nil } }
    }

    /// How many requests are sent at most. The time between them doubles up to 0.2 s: 10 s
    /// altogether.
    private static let looksMax = 55
    private static let pauseMax: UInt32 = 200_000

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Waits until the run has started, waits for something, or has failed to start; at most about
    /// 10 s.
    func single(_ run: Run.ID) -> Start {
        look {
            guard let reply = try? connection.value(RunReply.self, of: .run(run)) else {
                return nil
            }
            return Self.start(reply.runStatus, live: reply.live, of: reply.maxConcurrent)
        }
    }

    /// The same for many runs, by their identities.
    func all(_ runs: [String]) -> [String: Start] {
        var found: [String: Start] = [:]
        guard !runs.isEmpty else { return found }
        _ = look {
            guard let table = try? connection.table() else { return nil }
            for row in table.jobs {
                for run in row.running + [row.last].compactMap(\.self) {
                    found[run.id] = Self.start(run)
                }
            }
            return runs.contains { found[$0] == .requested } ? .requested : .started
        }
        return found
    }

    private func look(_ once: () -> Start?) -> Start {
        var pause: UInt32 = 2000
        for _ in 0..<Self.looksMax {
            guard let start = once() else { return .requested }
            if start != .requested { return start }
            usleep(pause)
            pause = min(pause * 2, Self.pauseMax)
        }
        return .requested
    }

    /// - Parameters:
    ///   - live: how many runs of all jobs are active; nil if that is not known.
    ///   - most: how many may be active.
    static func start(_ run: RunStatus, live: Int? = nil, of most: Int = 0) -> Start {
        if let words = RunWords.end(of: run) {
            guard run.began == nil else { return .started }
            return run.failed == false && run.reason == "skipped" ? .skipped(words) : .failed(words)
        }
        let wait =
            live.map { Text.waits(run, live: $0, of: most) }
            ?? RunWords.wait(run) { Text.instant($0) }
        if let wait { return .waits(wait) }
        return run.began == nil ? .requested : .started
    }
}

extension Text {
    /// The line for a run that did not fail to start.
    static func requested(
        _ job: String, run: String, _ start: RunStart.Start, left: Int64?
    ) -> String {
        let what =
            switch start {
            case .started: "started"
            case .requested: "is being started"
            case .waits(let why): why
            case .skipped(let why): "is \(why)"
            case .failed(let why): why
            }
        return "\(job): run \(run) \(what)" + (left.map { "; next run in \(span($0))" } ?? "")
    }

    /// Such as `backup: run … ended: exit 1, after 4.1 s`.
    static func ended(_ reply: RunReply) -> String {
        let run = reply.runStatus
        let outcome = RunWords.ending(of: run) ?? "nothing is known of its end"
        let next = reply.followingAttempt.map { next in
            "; \(next.id) is the next attempt"
                + (next.startsAt.map { ", at \(instant($0))" } ?? "")
        }
        let ended = run.began == nil ? "" : "ended: "
        return
            "\(run.job): run \(run.id) \(ended)\(outcome)\(next ?? "")"
    }
}
