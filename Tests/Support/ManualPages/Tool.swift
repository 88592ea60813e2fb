// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program's command line, as `--experimental-dump-help` describes it.
public struct Tool: Decodable, Sendable {
    public var command: Command

    public struct Command: Decodable, Sendable {
        public var commandName: String
        public var aliases: [String]?
        var abstract: String?
        var arguments: [Argument]?
        var subcommands: [Command]?
        var defaultSubcommand: String?

        /// The commands of the command, without `help`.
        public var verbs: [Command] { (subcommands ?? []).filter { $0.commandName != "help" } }

        /// What a user is told about, with and without a name.
        var shown: [Argument] { (arguments ?? []).filter(\.shouldDisplay) }
    }

    struct Argument: Decodable, Hashable {
        var kind: String
        var abstract: String?
        var names: [Name]?
        var valueName: String?
        var allValues: [String]?
        var defaultValue: String?
        var isOptional: Bool
        var isRepeating: Bool
        var shouldDisplay: Bool
        var parsingStrategy: String?

        var isPositional: Bool { kind == "positional" }

        /// The arguments of one name and one sentence are one argument, such as `--json` of each
        /// command.
        func isSame(as other: Argument) -> Bool {
            names == other.names && abstract == other.abstract && valueName == other.valueName
        }
    }

    struct Name: Decodable, Hashable {
        var kind: String
        var name: String

        /// As after `.Fl`, without the first dash: `-socket`, `n`.
        var flag: String { kind == "long" ? "-\(name)" : name }
    }

    /// - Throws: `DecodingError`.
    public init(_ help: String) throws {
        self = try JSONDecoder().decode(Tool.self, from: Data(help.utf8))
    }

    /// The commands, without `help`.
    public var verbs: [Command] { command.verbs }

    /// Each command that does something itself, with its words: `list`, `import crontab`; none for a
    /// program without commands.
    var leaves: [(words: String, command: Command)] {
        guard !verbs.isEmpty else { return [("", command)] }
        return verbs.flatMap { verb -> [(words: String, command: Command)] in
            verb.verbs.isEmpty
                ? [(verb.commandName, verb)]
                : verb.verbs.map { ("\(verb.commandName) \($0.commandName)", $0) }
        }
    }

    /// What a command has beside the options of every command.
    func own(_ command: Command) -> [Argument] {
        let common = self.command.shown.filter {
            !verbs.isEmpty || ["help", "version"].contains($0.valueName)
        }
        return command.shown.filter { argument in !common.contains { $0.isSame(as: argument) } }
    }

    /// Such as `-socket` and `n`, as after `.Fl`.
    public var options: Set<String> {
        leaves.reduce(into: Self.options(of: command)) {
            $0.formUnion(Self.options(of: $1.command))
        }
    }

    /// The options of a command and of its commands.
    public func options(ofVerb verb: String) -> Set<String> {
        leaves.filter { $0.words.split(separator: " ").first == verb[...] }
            .reduce(into: []) { $0.formUnion(Self.options(of: $1.command)) }
    }

    private static func options(of command: Command) -> Set<String> {
        let arguments = command.shown.filter { !$0.isPositional }
        return Set(arguments.flatMap { $0.names ?? [] }.map(\.flag))
    }
}
