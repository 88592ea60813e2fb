// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A line of a table in which a backslash before the line end continues a line (anacrontab(5), fcrontab(5)).
struct LogicalLine {
    /// The lines of the file that it consists of, at least one.
    var lines: [SourceLine]

    /// The lines as one, without the backslashes.
    var text: String {
        lines.enumerated().map { index, line in
            index == lines.count - 1 ? line.text : String(line.text.dropLast())
        }.joined()
    }

    var fault: String? { lines.lazy.compactMap(\.fault).first }
    var isComment: Bool { lines[0].isComment }

    /// Joins the lines of a file. A comment does not continue.
    static func join(_ lines: [SourceLine]) -> [LogicalLine] {
        var joined: [LogicalLine] = []
        var isOpen = false
        for line in lines {
            if isOpen, !joined.isEmpty {
                joined[joined.count - 1].lines.append(line)
            } else {
                joined.append(LogicalLine(lines: [line]))
            }
            isOpen =
                line.text.utf8.last == UInt8(ascii: "\\") && line.fault == nil
                && !(joined.last?.isComment ?? false)
        }
        return joined
    }
}

extension ImportReport {
    /// Adds all lines of a logical line; the outcome belongs to the first one.
    mutating func add(_ line: LogicalLine, of file: String, _ outcome: Outcome) {
        for (index, part) in line.lines.enumerated() {
            let own = index == 0 ? outcome : .unneeded("continues line \(line.lines[0].number)")
            add(SourcePlace(file, line: part.number), part.text, own)
        }
    }
}
