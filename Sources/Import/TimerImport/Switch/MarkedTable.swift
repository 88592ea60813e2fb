// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A crontab of which lines are switched off and on. All other bytes of it stay as they are.
public struct MarkedTable: Hashable, Sendable {
    /// What is put before a line that is off; a comment for cron.
    public static let mark = "#timerd# "
    /// The line that says that the marked lines are off. It comes and goes in the same change as the marks, so that a
    /// guard has to look for nothing else.
    public static let marker =
        "# timerd runs the lines below that begin with #timerd#; `timerctl import --all --back` gives them back to cron."

    private let lines: [ArraySlice<UInt8>]

    public init(_ bytes: [UInt8]) {
        lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    }

    /// Whether timerd runs its marked lines.
    public var isSwitched: Bool { lines.contains(where: Self.isMarker) }

    /// A line as the header of a file of jobs.d has it. Control characters are escaped there, so lines are compared
    /// in this form.
    public static func key(_ line: some StringProtocol) -> String {
        String(Toml.comment(String(line)).dropFirst(2))
    }

    /// Those of these lines that are on.
    /// - Complexity: O(*n*) in the size of the table.
    public func on(of keys: Set<String>) -> Set<String> {
        Set(lines.compactMap(Self.key)).intersection(keys)
    }

    /// The table with these lines off.
    public func switchedOff(_ keys: Set<String>) -> [UInt8] {
        var result = isSwitched ? [] : Array(Self.marker.utf8) + [10]
        for (index, line) in lines.enumerated() {
            if index > 0 { result.append(10) }
            if let key = Self.key(line), keys.contains(key) { result += Array(Self.mark.utf8) }
            result += line
        }
        return result
    }

    /// The table with all marked lines on.
    public var switchedOn: [UInt8] {
        let kept = lines.filter { !Self.isMarker($0) }.map { line in
            line.starts(with: Self.mark.utf8) ? line.dropFirst(Self.mark.utf8.count) : line
        }
        return Array(kept.joined(separator: [10]))
    }

    private static func isMarker(_ line: ArraySlice<UInt8>) -> Bool {
        line.elementsEqual(marker.utf8)
    }

    private static func key(_ line: ArraySlice<UInt8>) -> String? {
        String(validating: line, as: UTF8.self).map { key($0) }
    }
}
