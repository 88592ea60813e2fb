// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a program, or one of its commands, takes on its command line.
///
/// For the two daemons, which take few options and are to be small: ArgumentParser, by which `timerctl` reads
/// its many verbs, brings all of FoundationEssentials along, 6 MiB of each program.
public struct Usage: Sendable {
    /// What a word stands for, for a shell that completes it.
    public enum Completion: Hashable, Sendable {
        /// Nothing a shell knows.
        case none
        /// A file.
        case file
        /// A directory.
        case directory
        /// One of these.
        case words([String])
    }

    /// An option, `--name` or `--name VALUE`.
    public struct Option: Sendable {
        /// Its name without the dashes.
        public let name: String
        /// What its value is called in the help; nil: it has none.
        public let value: String?
        /// What it is for.
        public let help: String
        /// What its value is.
        public let completion: Completion
        /// Whether the command cannot be carried out without it.
        public let isRequired: Bool
        /// Whether it may be given more than once.
        public let isRepeated: Bool
        /// What it is if it is not given, if that is worth a word.
        public let standard: String?

        /// An option that is given or not.
        public static func flag(_ name: String, _ help: String) -> Option {
            Option(
                name: name, value: nil, help: help, completion: .none, isRequired: false,
                isRepeated: true, standard: nil)
        }

        /// An option with a value.
        public static func value(
            _ name: String, _ value: String, _ help: String, standard: String? = nil,
            isRequired: Bool = false, isRepeated: Bool = false, completion: Completion = .none
        ) -> Option {
            Option(
                name: name, value: value, help: help, completion: completion,
                isRequired: isRequired, isRepeated: isRepeated, standard: standard)
        }
    }

    /// A word that is no option.
    public struct Operand: Sendable {
        /// What it is called in the help.
        public let value: String
        /// What it is for.
        public let help: String
        /// What it is.
        public let completion: Completion
        /// What it is if it is not given.
        public let standard: String
        /// The option that may be given in its place; nil: there is none.
        public let option: String?

        /// A word as described, which need not be given.
        public init(
            _ value: String, _ help: String, standard: String, option: String? = nil,
            completion: Completion = .none
        ) {
            self.option = option
            self.value = value
            self.help = help
            self.standard = standard
            self.completion = completion
        }
    }

    /// What is called: the program's name, or the command's.
    public let name: String
    /// What it does, in a sentence.
    public let abstract: String
    /// What more there is to say.
    public let discussion: String?
    /// The version of the program; nil for a command.
    public let version: String?
    /// The options.
    public let options: [Option]
    /// The one word that may be given beside them.
    public let operand: Operand?
    /// The commands, of which one is to be named; none: the program does one thing.
    public let commands: [Usage]

    /// A program, or a command, as described.
    public init(
        _ name: String, _ abstract: String, discussion: String? = nil, version: String? = nil,
        options: [Option] = [], operand: Operand? = nil, commands: [Usage] = []
    ) {
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
        self.version = version
        self.options = options
        self.operand = operand
        self.commands = commands
    }
}

/// What was given on a command line.
public struct Given: Hashable, Sendable {
    /// The command that was named; nil for a program that has none.
    public var command: String?
    /// The word that is no option, or what it is if it is not given.
    public var operand: String?
    private var values: [String: [String]] = [:]

    /// Nothing.
    public init(command: String? = nil, operand: String? = nil) {
        self.command = command
        self.operand = operand
    }

    /// The value of an option; nil if it was not given.
    public subscript(option: String) -> String? { values[option]?.first }

    /// The values of an option that may be given more than once, in their order.
    public func all(_ option: String) -> [String] { values[option] ?? [] }

    /// Whether the option was given.
    public func has(_ option: String) -> Bool { values[option] != nil }

    mutating func add(_ option: String, _ value: String) {
        values[option, default: []].append(value)
    }
}

/// A command line that cannot be carried out.
public struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it.
    public let description: String

    /// An error that says this.
    public init(_ description: String) { self.description = description }
}

/// The end of a program that has said why.
public struct ExitStatus: Error, Hashable, Sendable {
    /// A command line that cannot be carried out: EX_USAGE of sysexits.h.
    public static let usage = ExitStatus(64)

    /// From 0 to 255.
    public let code: Int32

    /// A status as given.
    public init(_ code: Int32) { self.code = code }
}
