// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How runs ended, as a filter of the history.
public enum HistoryResult: String, CaseIterable, Hashable, Sendable {
    case succeeded, failed
    /// They were stopped, replaced, or skipped by their exit code: they neither succeeded nor failed.
    case other
    /// They were not started.
    case skipped
}

/// Why runs were made, as a filter of the history.
public enum HistoryCause: String, CaseIterable, Hashable, Sendable {
    case schedule, requested, chain, resume
    case catchUp = "catch-up"
    /// A further attempt, whatever the first one was made for.
    case retry
}

extension HistoryQuery {
    /// Whether skipped runs are in the answer.
    public var wantsSkips: Bool {
        result == .skipped || (skipped && result == nil && cause == nil)
    }
}

/// The output of a run.
public enum OutputLines {
    /// The last lines of an output that are not empty.
    public static func last(_ count: Int, of output: String) -> [String] {
        all(of: output).filter { !$0.isEmpty }.suffix(count)
    }

    /// The lines of an output. They are split by bytes, because Swift combines CR and LF into one
    /// character.
    public static func all(of output: String) -> [String] {
        var lines = output.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String($0) }
    }
}
