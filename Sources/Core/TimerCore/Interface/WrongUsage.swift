// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How the programs respond to a wrong command line.
public enum WrongUsage {
    /// The exit status 2, which the shell's own commands, most programs and the services described
    /// in systemd.exec(5) use for this.
    public static let status: Int32 = 2

    /// The error message of the argument parser in one line, as all errors are written: the program, what is
    /// wrong, what was probably meant, and where to read more; below it what the option is, if it is about
    /// one: `timerctl: unknown option --jsno (did you mean --json?); see `timerctl list --help``.
    ///
    /// A suggestion that is too different from the typed word is left out. For example, for `--wait` the
    /// parser suggests `--all`, because no option is nearer.
    public static func text(_ message: String) -> String {
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
        let begin = "Error: "
        guard let first = lines.first, first.hasPrefix(begin) else { return message }
        let end = lines.firstIndex { $0.hasPrefix("Help:") || $0.hasPrefix("Usage:") }
        var sentence = lines[..<(end ?? lines.endIndex)].map {
            inOurWords(withoutFarSuggestion($0))
        }
        .joined(separator: "\n")
        sentence.removeFirst(begin.count)
        let help = lines.first { $0.hasPrefix("Help:") }
            .map { "\n  \($0.dropFirst(5).drop { $0 == " " })" }
        // `  See 'timerctl list --help' for more information.`
        let marker = "See '"
        guard let see = lines.last(where: { $0.contains(marker) }),
            let command = see.split(separator: "'").dropFirst().first,
            let program = command.split(separator: " ").first
        else { return sentence + (help ?? "") }
        return "\(program): \(sentence); see `\(command)`\(help ?? "")"
    }

    /// A line with the words of this project: a small letter at the beginning, and options without quotes.
    private static func inOurWords(_ line: Substring) -> String {
        var text = String(line)
        for (theirs, ours) in [
            ("Error: Unknown ", "Error: unknown "), ("Error: Missing ", "Error: missing "),
            ("Error: The value ", "Error: the value "),
            ("Error: Unexpected ", "Error: unexpected "),
            (". Please provide one of ", "; it is one of "),
            ("? Did you mean '", " (did you mean '"),
            (". Did you mean '", " (did you mean '"),
        ] { text = text.replacing(theirs, with: ours) }
        if text.hasSuffix("'?"), text.contains(" (did you mean '") { text += ")" }
        return text.replacing("'--", with: "--").replacing(#/(--?[a-z][^' ]*( <[^>]*>)?)'/#) {
            String($0.output.1)
        }
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
