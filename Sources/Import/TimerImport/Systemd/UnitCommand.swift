// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// One command of `ExecStart=` or a similar key (systemd.service(5), "Command Lines").
struct UnitCommand: Hashable {
    /// A part of an argument: text, or a variable that systemd replaces when it starts the command.
    enum Piece: Hashable {
        case text(String)
        /// `${NAME}`: exactly the value of a variable.
        case variable(String)
        /// `$NAME` as a whole argument: the words of its value.
        case words(String)
    }

    /// The characters before the path that change how it is executed.
    struct Prefixes: Hashable {
        var ignoresFailure = false
        var hasOwnName = false
        var isLiteral = false
        /// The prefix about privileges: `+`, `!` or `!!`; nil: none.
        var privileges: String?
    }

    var prefixes = Prefixes()
    var path: String
    /// `argv[0]`, if it is not the path.
    var ownName: String?
    var arguments: [[Piece]] = []

    /// The name and the arguments, if no argument has a variable.
    var plain: [String]? {
        var words = [path]
        for argument in arguments {
            var word = ""
            for piece in argument {
                guard case .text(let text) = piece else { return nil }
                word += text
            }
            words.append(word)
        }
        return words
    }

    /// The names of the variables in its arguments.
    var variables: Set<String> {
        Set(
            arguments.joined().compactMap { piece in
                switch piece {
                case .text: nil
                case .variable(let name), .words(let name): name
                }
            })
    }

    /// Whether an argument is split into words when it is executed.
    var splitsWords: Bool {
        arguments.joined().contains { if case .words = $0 { true } else { false } }
    }

    /// The command as a line for `/bin/sh`.
    /// - Complexity: O(*n*).
    var shell: String {
        ([ShellText.quoted(path)] + arguments.map(Self.shell)).joined(separator: " ")
    }

    private static func shell(_ argument: [Piece]) -> String {
        if case .words(let name)? = argument.first { return "$\(name)" }
        guard argument.contains(where: { if case .text = $0 { false } else { true } }) else {
            return ShellText.quoted(
                argument.map { if case .text(let text) = $0 { text } else { "" } }.joined())
        }
        let parts = argument.map { piece in
            switch piece {
            case .text(let text): ShellText.escapedForDoubleQuotes(text)
            case .variable(let name), .words(let name): "${\(name)}"
            }
        }
        return "\"\(parts.joined())\""
    }
}

/// Writes text so that `/bin/sh` reads it as meant.
enum ShellText {
    private static let safe = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-".utf8)
    /// Words of the grammar of the shell, which would not be commands.
    private static let reserved: Set<String> = [
        "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
        "in",
    ]

    /// The text as exactly one word, in quotes if it needs them.
    static func quoted(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(safe.contains), !reserved.contains(text) {
            return text
        }
        return "'"
            + text.split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: #"'\''"#) + "'"
    }

    static func escapedForDoubleQuotes(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if "\"\\$`".unicodeScalars.contains(scalar) { result.append("\\") }
            result.append(scalar)
        }
        return String(result)
    }
}

/// Reads the commands of one assignment such as `ExecStart=`, with the rules of systemd.
struct UnitCommandReader {
    let specifiers: UnitSpecifiers
    /// What has to be said of the line, each as a sentence without a full stop.
    private(set) var notes: [String] = []
    /// The error at which the reading of a line ended.
    private(set) var failure: UnitWords.Failure?

    init(specifiers: UnitSpecifiers) { self.specifiers = specifiers }

    /// The commands of a line. After an error, which is `failure`, these are the ones before it, which
    /// systemd executes.
    ///
    /// - Complexity: O(*n*).
    mutating func commands(_ line: String) -> [UnitCommand] {
        var words = UnitWords(line)
        var commands: [UnitCommand] = []
        do throws(UnitWords.Failure) {
            while true {
                while words.skipSemicolon(escaped: false) {}
                guard let first = try words.next() else { break }
                commands.append(try command(first, &words))
            }
        } catch {
            failure = error
        }
        for escape in words.unknownEscapes {
            note(
                "systemd does not know the escape \(escape) and keeps it as it is, and so does the job"
            )
        }
        return commands
    }

    private mutating func command(
        _ first: String, _ words: inout UnitWords
    ) throws(UnitWords.Failure) -> UnitCommand {
        let (prefixes, word) = Self.prefixes(first)
        let isFatal = !prefixes.ignoresFailure
        let path = try expand(word, variables: false, isFatal)
        if let fault = Self.fault(inPath: path) {
            throw UnitWords.Failure(message: fault, isFatal: isFatal)
        }
        var command = UnitCommand(prefixes: prefixes, path: Self.simplified(path))
        while !words.skipSemicolon(escaped: false) {
            if words.skipSemicolon(escaped: true) {
                command.arguments.append([.text(";")])
                continue
            }
            guard let word = try Self.argument(&words, isFatal) else { break }
            let text = try expand(word, variables: !prefixes.isLiteral, isFatal)
            guard let argument = prefixes.isLiteral ? [.text(text)] : Self.pieces(text) else {
                continue
            }
            command.arguments.append(argument)
        }
        if prefixes.hasOwnName {
            guard !command.arguments.isEmpty else {
                throw UnitWords.Failure(message: "the name behind @ is missing", isFatal: isFatal)
            }
            let name = command.arguments.removeFirst()
            command.ownName = name.map { if case .text(let text) = $0 { text } else { "" } }
                .joined()
        }
        return command
    }

    /// An error in an argument is worse than one in the word of the command, which only ends the line.
    private static func argument(
        _ words: inout UnitWords, _ isFatal: Bool
    ) throws(UnitWords.Failure) -> String? {
        do throws(UnitWords.Failure) { return try words.next() } catch {
            throw UnitWords.Failure(message: error.message, isFatal: isFatal)
        }
    }

    private mutating func note(_ text: String) {
        if !notes.contains(text) { notes.append(text) }
    }

    private mutating func expand(
        _ text: String, variables: Bool, _ isFatal: Bool
    ) throws(UnitWords.Failure) -> String {
        let expansion = specifiers.expand(text, variables: variables)
        if let fault = expansion.fault {
            throw UnitWords.Failure(message: fault, isFatal: isFatal)
        }
        for note in expansion.notes { self.note(note) }
        return expansion.text
    }

    /// What systemd refuses in the path of a command.
    private static func fault(inPath path: String) -> String? {
        if path.isEmpty { return "a command is missing" }
        let isPlain = path.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0x7f && !"\"'\\".unicodeScalars.contains($0)
        }
        guard isPlain else {
            return "the path of the command has a quote, a backslash or a control character"
        }
        guard path.hasPrefix("/") || !path.contains("/") else {
            return "\"\(path)\" is neither an absolute path nor a name without slashes"
        }
        if !path.hasPrefix("/"), path == "." || path == ".." || path.utf8.count > 255 {
            return "\"\(path)\" is not the name of a program"
        }
        return path.hasSuffix("/") ? "\"\(path)\" is a directory" : nil
    }

    /// `//` and `/./` in a path are one slash.
    private static func simplified(_ path: String) -> String {
        guard path.hasPrefix("/") else { return path }
        let parts = path.split(separator: "/").filter { $0 != "." }
        return "/" + parts.joined(separator: "/")
    }

    private static func prefixes(_ word: String) -> (UnitCommand.Prefixes, String) {
        var prefixes = UnitCommand.Prefixes()
        var rest = word.unicodeScalars[...]
        loop: while let scalar = rest.first {
            switch scalar {
            case "-" where !prefixes.ignoresFailure: prefixes.ignoresFailure = true
            case "@" where !prefixes.hasOwnName: prefixes.hasOwnName = true
            case ":" where !prefixes.isLiteral: prefixes.isLiteral = true
            case "+" where prefixes.privileges == nil: prefixes.privileges = "+"
            case "!" where prefixes.privileges == nil: prefixes.privileges = "!"
            case "!" where prefixes.privileges == "!": prefixes.privileges = "!!"
            default: break loop
            }
            rest = rest.dropFirst()
        }
        return (prefixes, String(String.UnicodeScalarView(rest)))
    }

    /// The parts of an argument; nil if it is a variable that cannot exist, which is no argument at all.
    private static func pieces(_ text: String) -> [UnitCommand.Piece]? {
        var rest = text.unicodeScalars[...]
        if rest.first == "$", rest.dropFirst().first != "{", rest.dropFirst().first != "$" {
            let name = String(String.UnicodeScalarView(rest.dropFirst()))
            return VariableName.isValid(name) ? [.words(name)] : nil
        }
        var pieces: [UnitCommand.Piece] = []
        var plain = String.UnicodeScalarView()
        func flush() {
            if !plain.isEmpty { pieces.append(.text(String(plain))) }
            plain = String.UnicodeScalarView()
        }
        while let scalar = rest.popFirst() {
            guard scalar == "$" else {
                plain.append(scalar)
                continue
            }
            if rest.first == "$" {
                rest = rest.dropFirst()
                plain.append("$")
            } else if rest.first == "{", let end = rest.firstIndex(of: "}") {
                let name = String(String.UnicodeScalarView(rest[..<end].dropFirst()))
                rest = rest[rest.index(after: end)...]
                // A variable that cannot exist is empty, so nothing remains of it.
                guard VariableName.isValid(name) else { continue }
                flush()
                pieces.append(.variable(name))
            } else {
                plain.append("$")
            }
        }
        flush()
        return pieces.isEmpty ? [.text("")] : pieces
    }
}

extension UnitSpecifiers.Expansion {
    /// What a user must know about the text.
    var notes: [String] {
        guard !local.isEmpty else { return [] }
        let list = local.joined(separator: ", ")
        return [
            "\(list) was replaced with its value on this machine, which does not change any more"
        ]
    }

    /// Why the value cannot be used; nil if it can.
    var fault: String? {
        guard !unknown.isEmpty else { return nil }
        return "unknown specifier \(unknown.joined(separator: ", "))"
    }
}
