// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Usage {
    /// What a command line asks for.
    public enum Request: Hashable, Sendable {
        /// To do what it says.
        case run(Given)
        /// To print this and end well.
        case say(String)
    }

    /// Reads the words behind the program's name. Options come in any order; what follows `--` is none.
    ///
    /// - Throws: `UsageError` for what cannot be carried out.
    public func read(_ words: [String]) throws(UsageError) -> Request {
        guard !commands.isEmpty else { return try read(words, for: self, within: nil) }
        guard let word = words.first else { return .say(help(within: nil)) }
        let rest = Array(words.dropFirst())
        switch word {
        case "--help", "-h": return .say(help(within: nil))
        case "--version": return .say(version ?? name)
        case "--generate-completion-script": return .say(try completionScript(rest))
        case "help":
            guard let asked = rest.first else { return .say(help(within: nil)) }
            return .say(try command(asked).help(within: name))
        default:
            let command = try command(word)
            return try read(rest, for: command, within: name)
        }
    }

    private func command(_ word: String) throws(UsageError) -> Usage {
        guard let found = commands.first(where: { $0.name == word }) else {
            let what = word.hasPrefix("-") ? "unknown option" : "unknown command"
            throw UsageError(
                "\(what) \"\(word)\"; one of \(commands.map(\.name).joined(separator: ", "))")
        }
        return found
    }

    private func read(
        _ words: [String], for usage: Usage, within program: String?
    ) throws(UsageError) -> Request {
        var given = Given(command: program == nil ? nil : usage.name)
        var rest = words[...]
        var areOptions = true
        while let word = rest.popFirst() {
            if areOptions, word == "--" {
                areOptions = false
            } else if areOptions, word == "--help" || word == "-h" {
                return .say(usage.help(within: program))
            } else if areOptions, word == "--version" {
                return .say(version ?? name)
            } else if areOptions, word.hasPrefix("-"), word != "-" {
                try usage.take(word, &rest, into: &given)
            } else {
                guard usage.operand != nil, given.operand == nil else {
                    throw UsageError("unexpected argument \"\(word)\"")
                }
                given.operand = word
            }
        }
        for option in usage.options where option.isRequired && !given.has(option.name) {
            throw UsageError("--\(option.name) is missing: \(option.help)")
        }
        if let operand = usage.operand, let option = operand.option, let value = given[option] {
            guard given.operand == nil else {
                throw UsageError("\(operand.value) and --\(option) exclude each other; keep one")
            }
            given.operand = value
        }
        given.operand = given.operand ?? usage.operand?.standard
        return .run(given)
    }

    /// Takes `--name`, `--name VALUE` or `--name=VALUE`.
    private func take(
        _ word: String, _ rest: inout ArraySlice<String>, into given: inout Given
    ) throws(UsageError) {
        let halves = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let option = options.first(where: { "--\($0.name)" == halves[0] }) else {
            throw UsageError(
                "unknown option \"\(halves[0])\"; one of "
                    + options.map { "--\($0.name)" }.joined(separator: ", "))
        }
        guard option.isRepeated || !given.has(option.name) else {
            throw UsageError("--\(option.name) is given twice")
        }
        guard let placeholder = option.value else {
            guard halves.count == 1 else { throw UsageError("--\(option.name) takes no value") }
            return given.add(option.name, "")
        }
        var value = halves.count > 1 ? String(halves[1]) : nil
        // What looks like an option is one: it was the value that was forgotten. `-` is standard input.
        if value == nil, let next = rest.first, next == "-" || !next.hasPrefix("-") {
            value = rest.popFirst()
        }
        guard let value else {
            throw UsageError("--\(option.name) needs a value: --\(option.name) \(placeholder)")
        }
        if case .words(let words) = option.completion, !words.contains(value) {
            throw UsageError(
                "--\(option.name) \"\(value)\": one of \(words.joined(separator: ", "))")
        }
        given.add(option.name, value)
    }
}
