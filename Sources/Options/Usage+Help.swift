// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Usage {
    /// The widest line of the help.
    private static let columns = 80
    /// Where the explanations begin.
    private static let indent = 26

    /// The line that shows what may be given.
    ///
    /// - Parameter program: whose command it is; nil: it is the program.
    public func synopsis(within program: String?) -> String {
        synopsisParts(within: program).joined(separator: " ")
    }

    /// The parts of it, between which a line may be broken.
    private func synopsisParts(within program: String?) -> [String] {
        let words = [program, name].compactMap { $0 }
        guard commands.isEmpty else { return words + ["COMMAND"] }
        let given = options.map { option -> String in
            let text = Self.written(option)
            let shown = option.isRequired ? text : "[\(text)]"
            return option.isRepeated && option.value != nil ? "\(shown)..." : shown
        }
        let last = operand.map { ["[\($0.value)]"] } ?? []
        return words + given + last
    }

    func help(within program: String?) -> String {
        var lines = [abstract]
        if let discussion { lines += [""] + Self.wrapped(discussion, to: Self.columns) }
        lines += [""]
        let usage = Self.wrapped(synopsisParts(within: program), to: Self.columns - 7)
        lines += usage.enumerated().map { ($0 == 0 ? "Usage: " : "       ") + $1 }
        lines += [""]
        if let operand {
            lines += Self.row(operand.value, operand.help, standard: operand.standard)
        }
        for command in commands { lines += Self.row(command.name, command.abstract) }
        for option in options {
            lines += Self.row(Self.written(option), option.help, standard: option.standard)
        }
        lines += Self.row("-h, --help", "Show this.")
        if program == nil { lines += Self.row("--version", "Show the version.") }
        return lines.joined(separator: "\n")
    }

    private static func written(_ option: Option) -> String {
        "--\(option.name)" + (option.value.map { " \($0)" } ?? "")
    }

    private static func row(_ left: String, _ help: String, standard: String? = nil) -> [String] {
        let text = help + (standard.map { " Default: \($0)." } ?? "")
        let lines = wrapped(text, to: columns - indent).map {
            String(repeating: " ", count: indent) + $0
        }
        let start = "  \(left)"
        guard start.count + 2 <= indent, let first = lines.first else { return [start] + lines }
        return [start + first.dropFirst(start.count)] + lines.dropFirst()
    }

    private static func wrapped(_ text: String, to width: Int) -> [String] {
        wrapped(text.split(separator: " ").map(String.init), to: width)
    }

    private static func wrapped(_ words: [String], to width: Int) -> [String] {
        var lines: [String] = []
        for word in words {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(word)
            }
        }
        return lines
    }
}
