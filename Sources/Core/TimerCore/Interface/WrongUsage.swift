// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How the programs respond to a wrong command line.
public enum WrongUsage {
    /// The exit status 2, which the shell's own commands, most programs and the services described
    /// in systemd.exec(5) use for this.
    public static let status: Int32 = 2

    /// The error message of the argument parser, without a suggestion that is too different from
    /// the typed word. For example, for `--wait` the parser suggests `--all`, because no option is
    /// nearer.
    public static func text(_ message: String) -> String {
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { withoutFarSuggestion($0) }.joined(separator: "\n")
    }

    /// Removes the suggestion from `Unknown option '--wait'. Did you mean '--all'?` if it is too
    /// far.
    private static func withoutFarSuggestion(_ line: Substring) -> Substring {
        let marker = ". Did you mean '"
        guard line.hasSuffix("'?"), let start = line.lastRange(of: marker) else { return line }
        let suggestion = line[start.upperBound...].dropLast(2)
        guard let quote = line[..<start.lowerBound].dropLast().lastIndex(of: "'") else {
            return line
        }
        let written = line[line.index(after: quote)..<start.lowerBound].dropLast()
        let isNear = nearestName(name(written), among: [name(suggestion)]) != nil
        return isNear ? line : line[..<start.lowerBound]
    }

    /// The name of an option, without its hyphens and its value.
    private static func name(_ option: Substring) -> String {
        String(option.drop { $0 == "-" }.prefix { $0 != "=" })
    }
}

extension Substring {
    /// The last place where `text` occurs; nil if it does not.
    fileprivate func lastRange(of text: String) -> Range<Index>? {
        var start = indices.last
        while let place = start {
            if self[place...].hasPrefix(text) { return place..<index(place, offsetBy: text.count) }
            start = place > startIndex ? index(before: place) : nil
        }
        return nil
    }
}
