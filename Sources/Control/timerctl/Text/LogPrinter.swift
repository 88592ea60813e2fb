// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

/// Prints the items of `timerctl log` in the format that was chosen.
struct LogPrinter {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, cat, json
    }

    var format: Format
    var job: Job.Name
    /// Where it is shown, in the format `text`.
    var screen = Screen()
    /// Writes a line to standard output, or a message to standard error.
    var put: (String) -> Void = { Terminal.put($0 + "\n") }
    var say: (String) -> Void = { Terminal.complain("timerctl: \($0)") }

    func print(_ items: [LogItem], now: WallInstant = Terminal.now) {
        for item in items {
            switch format {
            case .text: put(Text.log(item, on: screen, now: now).joined(separator: "\n"))
            case .cat: putAlone(item, now)
            case .json:
                guard let record = LogRecord(item, of: job),
                    let line = try? ControlJSON.encode(record)
                else { continue }
                put(Printable.json(String(decoding: line, as: UTF8.self)))
            }
        }
    }

    /// Prints only the output of the job; notes about missing lines go to standard error.
    private func putAlone(_ item: LogItem, _ now: WallInstant) {
        switch item {
        case .line(let line), .unfinished(let line): put(Terminal.shown(line.text))
        case .kept(let text, _): put(Terminal.shown(text))
        case .note(let what): say(what)
        case .end(let run, _) where run.began == nil: say(Text.marker(item, now) ?? "")
        case .begin, .again, .end: break
        }
    }
}

/// An item of the log in the format `json`, one on a line.
struct LogRecord: Encodable, Hashable {
    /// One of `begin`, `line`, `unfinished`, `note` and `end`.
    var kind: String
    var job: String
    var run: String?
    /// The time, RFC 3339; absent if the time of the line is not known.
    var at: String?
    /// `stdout` or `stderr`; absent if that is not known.
    var stream: String?
    var text: String?
    var cause: String?
    var requestedBy: String?
    var outcome: String?
    var failed: Bool?
    var elapsedUsec: Int64?

    /// Nil for an item that only says that lines of an earlier run follow again: each line has its
    /// run.
    init?(_ item: LogItem, of job: Job.Name) {
        self.job = job.description
        switch item {
        case .begin(let begun):
            kind = "begin"
            (run, at) = (begun.id, begun.began)
            (cause, requestedBy) = (begun.cause, begun.requestedBy)
        case .again: return nil
        case .line(let line):
            kind = "line"
            (run, at, text) = (line.run, line.at, line.text)
            stream = line.isError ? "stderr" : "stdout"
        case .unfinished(let line):
            kind = "unfinished"
            (run, at, text) = (line.run, line.at, line.text)
            stream = line.isError ? "stderr" : "stdout"
        case .kept(let line, let writer):
            kind = "line"
            (run, text) = (writer, line)
        case .note(let what):
            kind = "note"
            text = what
        case .end(let ended, _):
            kind = "end"
            (run, at, outcome) = (ended.id, ended.ended, ended.outcome)
            (failed, elapsedUsec) = (ended.failed, ended.elapsedUsec)
        }
    }
}

extension Text {
    /// An item in the format `text`.
    static func log(
        _ item: LogItem, on screen: Screen = Screen(), now: WallInstant
    ) -> [String] {
        switch item {
        case .line(let line): return self.line(line, line.isError ? "!" : "|", on: screen)
        case .unfinished(let line): return self.line(line, ">", on: screen)
        case .kept(let text, _):
            return screen.lines(Printable.text(text), after: "\(noTime) : ")
        case .note(let what):
            return screen.lines("(\(Printable.text(what)))", after: "\(noTime)   ")
        case .begin, .again, .end:
            return screen.lines(
                "\(Printable.text(marker(item, now) ?? "")) ──", after: "── ")
        }
    }

    private static func line(
        _ line: LogReply.Line, _ mark: String, on screen: Screen
    ) -> [String] {
        let time = line.at.flatMap { WallInstant(rfc3339: $0) }.map { local($0, as: "%T") }
        return screen.lines(Printable.text(line.text), after: "\(time ?? noTime) \(mark) ")
    }

    private static let noTime = "        "

    /// The line for the start or the end of a run; nil for other items.
    static func marker(_ item: LogItem, _ now: WallInstant) -> String? {
        switch item {
        case .begin(let run):
            let began = run.began.map { " \(day($0, now))" } ?? ""
            return
                "run \(run.id) began\(began), \(RunWords.cause(of: run))"
        case .again(let run): return "run \(run)"
        case .end(let run, let isLast): return end(of: run, isLast: isLast, now)
        case .line, .unfinished, .kept, .note: return nil
        }
    }

    private static func end(of run: RunStatus, isLast: Bool, _ now: WallInstant) -> String {
        let outcome = RunWords.ending(of: run) ?? "-"
        let when = run.ended.map { " \(day($0, now))" } ?? ""
        guard run.began != nil else {
            return "run \(run.id)\(when), \(RunWords.cause(of: run)): \(outcome)"
        }
        let which = isLast ? "" : "run \(run.id) "
        return "\(which)ended\(when): \(outcome)"
    }

    /// The sentence for a job that has no runs to show.
    ///
    /// - Parameter period: when the runs that are meant ended.
    static func noRuns(of job: JobStatus, in period: Period = Period()) -> String {
        if let last = job.last, let range = period.text, !period.contains(last.ended) {
            let ended = last.ended.map { " ended at \(instant($0))" } ?? ""
            return "no run of \(job.job) ended \(range); its last run, \(last.id),\(ended)"
        }
        if let last = job.last {
            return
                "the history does not have the runs of \(job.job) any more; \(journal(of: last.id))"
        }
        let next =
            job.state == "paused"
            ? "it is paused"
            : job.next.map { "it runs next at \(instant($0))" } ?? "no run is scheduled"
        return "\(job.job) has never run; \(next)"
    }
}
