// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// Puts the answers about the runs of a job into one order, run by run: the start of each run, its
/// output, and its end.
struct LogStory {
    private var progress: [String: LogProgress] = [:]
    /// The runs whose start was shown, and those whose end was shown as well.
    private var begun: Set<String> = []
    private var closed: Set<String> = []
    /// The run of the line that was shown last.
    private var current: String?
    private var hasOutput: Set<String> = []
    private var announced: [String: String] = [:]
    private var isFirst = true

    /// Whether the end of this run was shown.
    func isClosed(_ run: String) -> Bool { closed.contains(run) }

    /// The runs whose start was shown and whose end was not.
    var open: Set<String> { begun.subtracting(closed) }

    /// Another instance of the daemon numbers its lines from 1 again.
    mutating func restart() { progress = [:] }

    /// Marks these lines as shown: they are left out, and they are not missing.
    mutating func pass(over log: LogReply) {
        for run in Set(log.lines.map(\.run) + log.written.map(\.run)) {
            _ = progress[run, default: LogProgress()].items(of: log.only { $0 == run })
        }
    }

    /// The items to show.
    ///
    /// - Parameters:
    ///   - past: the ended runs, the oldest first. Runs that were shown are left out.
    ///   - log: the lines since the last answer.
    mutating func items(_ past: [RunStatus], _ log: LogReply) -> [LogItem] {
        var items: [LogItem] = []
        let ended = Set(past.map(\.id))
        for run in past where !closed.contains(run.id) { items += show(run, log) }
        for run in log.active where !ended.contains(run.id) { items += begin(run, log) }
        // In the order in which they came, because runs of a job may be active at the same time.
        let rest = log.only { !ended.contains($0) }
        var runs: [String] = []
        for run in rest.lines.map(\.run) + rest.written.map(\.run) where !runs.contains(run) {
            runs.append(run)
        }
        if runs.count > 1 {
            items += interleaved(rest)
        } else if let run = runs.first {
            items += output(of: run, rest)
        }
        isFirst = false
        return items
    }

    // MARK: - A run that ended

    private mutating func show(_ past: RunStatus, _ log: LogReply) -> [LogItem] {
        let id = past.id
        let run = past
        closed.insert(id)
        var items = begin(run)
        let own = log.only { $0 == id }
        let bytes = own.lines.reduce(0) { $0 + $1.text.utf8.count + 1 }
        if !hasOutput.contains(id), bytes < (past.output ?? "").utf8.count {
            items += tail(of: past, log)
        } else {
            items += output(of: id, own)
            if !hasOutput.contains(id), past.began != nil, own.written.isEmpty {
                items.append(.note(Self.nothing(by: past, log)))
            }
        }
        let isLast = current == id || past.began == nil
        return items + [.end(run, isLast: isLast)]
    }

    private mutating func tail(of past: RunStatus, _ log: LogReply) -> [LogItem] {
        let id = past.id
        hasOutput.insert(id)
        current = id
        let lines = Text.lines(of: past.output ?? "").map { LogItem.kept($0, run: id) }
        // An output of the greatest length was probably cut.
        guard let most = log.outputTailBytes, (past.output ?? "").utf8.count >= most else {
            return lines
        }
        return [.note("only the end of its output is kept (output-tail); \(Text.journal(of: id))")]
            + lines
    }

    private static func nothing(by past: RunStatus, _ log: LogReply) -> String {
        past.reason == "lost"
            ? "what it printed was lost with it; \(Text.journal(of: past.id))"
            : log.outputTailBytes == 0
                ? "none of its output is kept (output-tail = 0); \(Text.journal(of: past.id))"
                : "it printed nothing"
    }

    // MARK: - A run that has not ended

    private mutating func begin(_ status: RunStatus, _ log: LogReply) -> [LogItem] {
        if let wait = RunWords.wait(status, instant: Text.instant) {
            // A run is shown once for each reason to wait.
            guard announced.updateValue(status.waits ?? "", forKey: status.id) != status.waits
            else { return [] }
            return [.note("run \(status.id), \(RunWords.cause(of: status)), \(wait)")]
        }
        guard let began = status.began, !begun.contains(status.id) else { return [] }
        let items = begin(status)
        guard let since = log.since, began < since else {
            let isSilent =
                isFirst && !log.written.contains { $0.run == status.id }
                && log.unfinished?.contains { $0.run == status.id } != true
            return items + (isSilent ? [.note("it has printed nothing so far")] : [])
        }
        return items + [
            .note("timerd was restarted while it ran: \(Text.journal(of: status.id)) before that")
        ]
    }

    private mutating func begin(_ run: RunStatus) -> [LogItem] {
        guard begun.insert(run.id).inserted, run.began != nil else { return [] }
        current = run.id
        return [.begin(run)]
    }

    // MARK: - Output

    private mutating func output(of run: String, _ log: LogReply) -> [LogItem] {
        let items = progress[run, default: LogProgress()].items(of: log)
        guard !items.isEmpty else { return [] }
        hasOutput.insert(run)
        begun.insert(run)
        defer { current = run }
        return (current == run ? [] : [.again(run)]) + items
    }

    private mutating func interleaved(_ log: LogReply) -> [LogItem] {
        var items: [LogItem] = []
        var rest = log.lines[...]
        while let run = rest.first?.run {
            let same = rest.prefix { $0.run == run }
            rest = rest.dropFirst(same.count)
            items += output(
                of: run, LogReply(past: nil, lines: Array(same), cursor: log.cursor))
        }
        for written in log.written {
            items += output(
                of: written.run,
                LogReply(past: nil, lines: [], written: [written], cursor: log.cursor))
        }
        return items
    }
}

extension LogReply {
    /// The same answer with only the lines of the runs that are wanted.
    func only(_ isWanted: (String) -> Bool) -> LogReply {
        var part = self
        part.lines = lines.filter { isWanted($0.run) }
        part.written = written.filter { isWanted($0.run) }
        part.unfinished = unfinished?.filter { isWanted($0.run) }
        return part
    }
}

extension [LogItem] {
    /// The last lines, with the start of the run that the first of them belongs to.
    func last(_ count: Int) -> [LogItem] {
        let lines = indices.filter { self[$0].isLine }
        guard lines.count > count else { return self }
        guard count > 0 else { return [] }
        let first = lines[lines.count - count]
        let marker = self[..<first].last { item in
            switch item {
            case .begin, .again: true
            case .line, .unfinished, .kept, .note, .end: false
            }
        }
        return (marker.map { [$0] } ?? []) + self[first...]
    }
}
