// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The lines that runs have not ended, for `timerctl log`. While the output is followed, one is shown once it has not
/// changed for a moment: a prompt is, and each step of a progress bar is not.
struct UnfinishedLines {
    private var lines: [LogReply.Line] = []
    private var before: [LogReply.Line] = []
    private var shown: [LogReply.Line] = []

    /// Takes the unfinished lines of the latest answer.
    mutating func note(_ lines: [LogReply.Line]) { self.lines = lines }

    /// The lines to show now. While the output is followed, these are the ones that have not
    /// changed since the answer before, and were not shown.
    mutating func next(isFollowing: Bool) -> [LogReply.Line] {
        guard isFollowing else { return lines }
        let next = lines.filter { line in
            before.contains { $0.isSame(as: line) } && !shown.contains { $0.isSame(as: line) }
        }
        before = lines
        shown = shown.filter { old in lines.contains { $0.isSame(as: old) } } + next
        return next
    }
}

extension LogReply.Line {
    /// Whether it is the same part of the same line.
    fileprivate func isSame(as other: Self) -> Bool {
        run == other.run && number == other.number && isError == other.isError && text == other.text
    }
}
