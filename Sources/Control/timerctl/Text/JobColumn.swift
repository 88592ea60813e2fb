// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

/// A column of the list of jobs, by its name on the command line.
enum JobColumn: String, CaseIterable, ExpressibleByArgument {
    case job, state, next, left, last, result, active, runs, skips, by, since, until, note

    /// The columns of `list` without the option `--columns`.
    static let standard: [Self] = [.job, .state, .next, .last, .result]
    /// The same for programs, which read them as they always were.
    static let standardFields: [Self] = [.job, .state, .next, .left, .last, .result, .active]

    /// - Parameter isRequested: whether it is there on the narrowest screen.
    func column(isRequested: Bool) -> TextTable.Column {
        let heading = self == .by ? "PAUSED BY" : rawValue.uppercased()
        func column(
            _ overflow: TextTable.Column.Overflow = .cut, _ importance: Int? = nil,
            least: Int? = nil
        ) -> TextTable.Column {
            TextTable.Column(
                heading, overflow, least: least, importance: isRequested ? nil : importance,
                isNumber: [.runs, .skips].contains(self))
        }
        return switch self {
        case .job: column(.ownLine, least: 20)
        case .state: column()
        case .result: column(.wrap, least: 16)
        case .note: column(.wrap, 10, least: 12)
        case .by: column(.wrap, 20, least: 8)
        case .last: column(.cut, 30)
        case .next, .left, .active, .runs, .skips, .since, .until: column(.cut, 40)
        }
    }

    func cell(_ job: JobTable.Row, _ now: WallInstant) -> TextTable.Cell {
        func instant(_ text: String?) -> String { Text.when(text, now: now) }
        return switch self {
        case .job: .init(job.job)
        case .state: .init(job.stateWord, job.stateStyle)
        case .next: .init(job.nextStart.map { instant($0) } ?? job.nextWord)
        case .left: .init(Self.span(job.leftUsec))
        case .last: .init(instant(job.lastBegan))
        case .result: .init(job.result, job.resultStyle)
        case .active: .init(Self.span(job.activeUsec))
        case .runs: .init("\(job.running.count)")
        case .skips: .init(job.skips.map { "\($0)" } ?? "-")
        case .by: .init(job.paused?.by ?? "-")
        case .since: .init(instant(job.paused?.since))
        case .until: .init(instant(job.paused?.until))
        case .note: .init(job.paused?.note ?? "-")
        }
    }

    /// In whole seconds, if it is one or more.
    private static func span(_ microseconds: Int64?) -> String {
        microseconds.map { Text.whole(.microseconds($0)) } ?? "-"
    }

    /// The value for programs: instants as RFC 3339, time spans as microseconds, and an empty text
    /// for nothing.
    func value(_ job: JobTable.Row) -> String {
        switch self {
        case .job: job.job
        case .state: job.stateWord
        case .next: job.nextStart ?? ""
        case .left: job.leftUsec.map { "\($0)" } ?? ""
        case .last: job.lastBegan ?? ""
        case .result: job.isRunning ? "" : job.last?.outcome ?? ""
        case .active: "\(job.activeUsec)"
        case .runs: "\(job.running.count)"
        case .skips: "\(job.skips ?? 0)"
        case .by: job.paused?.by ?? ""
        case .since: job.paused?.since ?? ""
        case .until: job.paused?.until ?? ""
        case .note: job.paused?.note ?? ""
        }
    }

    /// The name of the column in CSV, with the unit of a span.
    var field: String {
        switch self {
        case .left: "left_usec"
        case .active: "active_usec"
        default: rawValue
        }
    }
}

extension JobTable.Row {
    /// What is there in place of an instant, for a job that no timer starts.
    fileprivate var nextWord: String {
        guard let first = follows?.first, state != "stopped" else { return "-" }
        return "after \(first.job)" + (follows?.count ?? 0 > 1 ? ", ..." : "")
    }

    /// Whether a run is active or starting; a run that waits does not count.
    var isRunning: Bool { Text.areActive(running) }

    /// Whether the run that ended last failed; false if none has ended.
    var hasFailed: Bool { last?.failed == true }

    /// The word of the column STATE.
    var stateWord: String { Text.state(state, running) }

    fileprivate var stateStyle: TextTable.Style {
        switch stateWord {
        case "running": .good
        case "paused", "retrying", "waiting": .waiting
        default: .plain
        }
    }

    /// Whether a retry starts before the next run is due.
    private var isAttemptFirst: Bool {
        guard let attempt = nextAttemptUsec else { return false }
        return remainingUsec.map { attempt < $0 } ?? true
    }

    /// When the next run or retry starts, whichever is first; nil if none is due.
    var nextStart: String? { isAttemptFirst ? nextAttempt : next }

    /// The time until `nextStart`, in microseconds.
    var leftUsec: Int64? { isAttemptFirst ? nextAttemptUsec : remainingUsec }

    /// While a job runs, the active run is its last one.
    private var current: RunStatus? { running.last { $0.began != nil } }

    var lastBegan: String? { current?.began ?? last?.began ?? last?.scheduled }

    var result: String {
        current == nil ? last.flatMap { RunWords.end(of: $0) } ?? "-" : "running"
    }

    fileprivate var resultStyle: TextTable.Style {
        current != nil ? .good : hasFailed ? .bad : .plain
    }
}
