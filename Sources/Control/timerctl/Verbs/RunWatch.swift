// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerCore

/// Waits for the end of a run and prints its output. The daemon may be restarted in between: the
/// run continues, and its end is in the history.
struct RunWatch {
    /// How long to wait between two requests, in microseconds. While nothing happens the time grows
    /// up to the maximum.
    private static let pauseMin: UInt32 = 10_000
    private static let pauseMax: UInt32 = 500_000
    /// How many times to ask again for an unknown run, whose end may not be written yet.
    private static let unknownMax = 20

    private let run: Run.ID
    private let isQuiet: Bool
    private let ask: (ControlRequest) throws(Connection.Failure) -> [UInt8]
    /// Waits this many microseconds, writes a line of output, or prints a message on standard
    /// error.
    var pause: (UInt32) -> Void = { usleep($0) }
    var put: (_ line: String, _ isError: Bool) -> Void = { line, isError in
        Terminal.put(Terminal.shown(line, toError: isError) + "\n", toError: isError)
    }
    var say: (String) -> Void = { Terminal.complain("timerctl: \($0)") }

    private var unfinished = UnfinishedLines()
    private var progress = LogProgress()
    private var last: UInt64 = 0
    private var since: String?
    private var hasOutput = false
    private var isAway = false
    private var unknown = 0
    private var announced: String?

    /// - Parameter isQuiet: whether to print no output.
    init(
        _ run: Run.ID, isQuiet: Bool = false,
        ask: @escaping (ControlRequest) throws(Connection.Failure) -> [UInt8]
    ) {
        self.run = run
        self.isQuiet = isQuiet
        self.ask = ask
    }

    /// Waits for the end of the run.
    ///
    /// - Throws: if the run is unknown or its record was deleted.
    mutating func finish() throws(Connection.Failure) -> RunReply {
        var delay = Self.pauseMin
        while true {
            let before = last
            if let reply = try look() { return reply }
            delay = last > before ? Self.pauseMin : min(delay * 2, Self.pauseMax)
            pause(delay)
        }
    }

    /// The run, if it has ended; all of its output is printed then.
    private mutating func look() throws(Connection.Failure) -> RunReply? {
        do throws(Connection.Failure) {
            let reply = try decode(RunReply.self, .run(run))
            announce(reply)
            // This comes after reading the state, so that the output of an ended run is complete.
            if !isQuiet { try passOutput() }
            (isAway, unknown) = (false, 0)
            guard reply.state == "ended" else { return nil }
            if !isQuiet { passTail(of: reply) }
            return reply
        } catch {
            try note(error)
            return nil
        }
    }

    private func decode<Value: Decodable>(
        _: Value.Type, _ request: ControlRequest
    ) throws(Connection.Failure) -> Value {
        let body = try ask(request)
        do { return try ControlJSON.decode(Value.self, from: body) } catch {
            throw Connection.unexpected
        }
    }

    private mutating func note(_ failure: Connection.Failure) throws(Connection.Failure) {
        if failure.isUnknown {
            unknown += 1
            guard unknown > Self.unknownMax else { return }
            throw Connection.Failure(
                1,
                ErrorReply(
                    "run \(run) is lost: timerd does not know it any more, and cannot say how it ended",
                    code: .noSuchRun))
        }
        if failure == Connection.unexpected { throw failure }
        if !isAway {
            say("timerd does not answer (\(failure.message)); waiting for it. The run continues")
        }
        isAway = true
    }

    /// Prints that the run waits, or that it has started, once for each reason.
    private mutating func announce(_ reply: RunReply) {
        let what: String
        if let wait = Text.waits(reply.runStatus, live: reply.live, of: reply.maxConcurrent) {
            what = wait
        } else if reply.runStatus.began != nil {
            what = "started"
        } else {
            return
        }
        // A changed number of active runs is no new reason.
        let kind = reply.runStatus.waits ?? "started"
        guard kind != announced else { return }
        announced = kind
        say("run \(run) \(what)")
    }

    private mutating func passOutput() throws(Connection.Failure) {
        var log = try decode(LogReply.self, .log(run.firing.job, LogQuery(run: run, after: last)))
        if let since, since != log.since {
            // Another instance of the daemon numbers its lines from 1 again.
            progress = LogProgress()
            log = try decode(LogReply.self, .log(run.firing.job, LogQuery(run: run, after: 0)))
            say(
                "timerd was restarted; output from before may be missing here: "
                    + Text.journal(of: run.description))
        }
        since = log.since
        for item in progress.items(of: log) {
            switch item {
            case .line(let line):
                hasOutput = true
                put(line.text, line.isError)
            case .note(let what): say(what)
            case .begin, .again, .unfinished, .kept, .end: break
            }
        }
        // Standard output gets it as a part of its line.
        unfinished.note(log.unfinished ?? [])
        for line in unfinished.next(isFollowing: true) {
            say("the run has not ended this line: \(Terminal.shown(line.text, toError: true))")
        }
        last = log.cursor
    }

    /// Prints the end of the output that is stored with the run, if there is nothing else of it.
    private mutating func passTail(of reply: RunReply) {
        guard !hasOutput, let output = reply.runStatus.output, !output.isEmpty else { return }
        for line in Text.lines(of: output) { put(line, false) }
        say("this is the end of its output, on both streams: " + Text.journal(of: run.description))
    }

    /// The exit status of a program that waited for the run: 0 if it succeeded, otherwise the status
    /// of the run, 128 plus the number of the signal that ended it, or 1.
    static func exitStatus(of reply: RunReply) -> Int32 {
        let run = reply.runStatus
        let outcome = run.outcome.flatMap { RunOutcome($0) }
        guard outcome?.result(failed: run.failed != false) != .success else { return 0 }
        if let code = outcome?.exitCode, code != 0 { return code }
        return outcome?.signal.flatMap { RunWords.number(ofSignal: $0) }.map { 128 + $0 } ?? 1
    }
}
