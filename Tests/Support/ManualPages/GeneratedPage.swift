// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The parts of a manual page that are made of what the program says about its command line. Such a
/// part is between `.\" Made by "make generated": …` and `.\" End.`, and what it is follows the colon:
///
/// - `synopsis`
/// - `options of pause`; with several commands, as in `options of list, top`: those that all of them
///   have. `options of every command` are those of the program itself.
/// - `readers`
public struct GeneratedPage {
    private static let start = #".\" Made by "make generated": "#
    private static let end = #".\" End."#

    private let tool: Tool
    private let readers: [(command: String, part: String?)]
    private var missing: [String: [Tool.Argument]] = [:]

    /// Why a page cannot be made.
    public struct Fault: Error, CustomStringConvertible {
        public var description: String
    }

    /// - Parameter readers: the commands that a user can give who may only read, each with what
    ///   limits it: an option, or words as "without its commands"; nil: nothing.
    public init(_ tool: Tool, readers: [(command: String, part: String?)] = []) {
        self.tool = tool
        self.readers = readers
        for (words, command) in tool.leaves {
            missing[words] = tool.own(command).filter { !$0.isPositional }
        }
    }

    /// The page with all of its parts made again.
    ///
    /// - Throws: `Fault` if a part is unknown, or if there is a part with options, but an option of
    ///   a command is in none.
    public func applied(to page: String) throws -> String {
        var made = self
        let blocks = page.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { $0.hasPrefix(Self.start) }.map { String($0.dropFirst(Self.start.count)) }
        let parts = try made.parts(blocks)
        var lines: [Substring] = []
        var isInside = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == Self.end { isInside = false }
            if !isInside { lines.append(line) }
            if line.hasPrefix(Self.start) {
                isInside = true
                lines += (parts[String(line.dropFirst(Self.start.count))] ?? []).map { $0[...] }
            }
        }
        guard !isInside else { throw Fault(description: "the last part has no \(Self.end)") }
        return lines.joined(separator: "\n")
    }

    private mutating func parts(_ names: [String]) throws -> [String: [String]] {
        var parts: [String: [String]] = [:]
        var hasOptions = false
        // An option is in the part that has the most commands.
        for name in names.sorted(by: { $0.count(of: ",") > $1.count(of: ",") }) {
            switch name {
            case "synopsis": parts[name] = tool.leaves.flatMap { synopsis($0.words, $0.command) }
            case "readers": parts[name] = readerLines
            case "options of every command": parts[name] = list(tool.command.shown)
            case _ where name.hasPrefix("options of "):
                hasOptions = true
                let commands = name.dropFirst("options of ".count).components(separatedBy: ", ")
                parts[name] = list(try take(of: commands, in: name))
            default: throw Fault(description: "there is no part \"\(name)\"")
            }
        }
        for (command, rest) in missing.sorted(by: { $0.key < $1.key }) where hasOptions {
            guard let option = rest.first?.names?.last?.flag else { continue }
            throw Fault(
                description: "no part has the option \(option) of \(command): "
                    + "add `\(Self.start)options of \(command)` below its text")
        }
        return parts
    }

    /// The options that all of these commands have, and that are in no other part.
    private mutating func take(of commands: [String], in part: String) throws -> [Tool.Argument] {
        guard let first = missing[commands[0]], commands.allSatisfy({ missing[$0] != nil }) else {
            throw Fault(description: "\"\(part)\": there is no such command")
        }
        let common = first.filter { option in
            commands.allSatisfy { missing[$0]?.contains { $0.isSame(as: option) } == true }
        }
        guard !common.isEmpty else { throw Fault(description: "\"\(part)\" has no option") }
        for command in commands {
            missing[command]?.removeAll { option in common.contains { $0.isSame(as: option) } }
        }
        return common
    }

    // MARK: - The lines of a part

    private func synopsis(_ words: String, _ command: Tool.Command) -> [String] {
        let names = [words] + (command.aliases ?? [])
        var lines = [".Nm"]
        let verb = words.split(separator: " ").map(String.init)
        let outer = tool.verbs.first { $0.commandName == verb.first }
        if verb.count == 2, outer?.defaultSubcommand == verb[1] {
            lines.append(".Cm \(verb[0]) Op Cm \(verb[1])")
        } else if !verb.isEmpty {
            lines.append(".Cm \(Roff.escaped(names.joined(separator: " | ")))")
        }
        let own = tool.own(command)
        for option in own where !option.isPositional {
            let name = option.names?.min { $0.flag.count < $1.flag.count }?.flag ?? ""
            let flag = "Fl \(Roff.escaped(name))" + value(of: option)
            lines.append(option.isOptional ? ".Op \(flag)" : ".\(flag)")
        }
        for argument in own where argument.isPositional {
            let text = Self.placeholder(argument) + (argument.isRepeating ? " ..." : "")
            if argument.parsingStrategy == "postTerminator" {
                lines += [".Cm \\-\\-", ".Ar \(text)"]
            } else {
                lines.append(argument.isOptional ? ".Op Ar \(text)" : ".Ar \(text)")
            }
        }
        return lines
    }

    private func value(of option: Tool.Argument) -> String {
        option.kind == "flag" ? "" : " Ar \(Self.placeholder(option))"
    }

    /// `job|run` is JOB | RUN.
    private static func placeholder(_ argument: Tool.Argument) -> String {
        Roff.escaped((argument.valueName ?? "").uppercased().replacing("|", with: " | "))
    }

    private func list(_ options: [Tool.Argument]) -> [String] {
        [".Bl -tag -width Ds"] + options.flatMap(entry) + [".El"]
    }

    private func entry(_ option: Tool.Argument) -> [String] {
        let names = (option.names ?? []).map(\.flag).sorted { $0.count < $1.count }
        let flags = names.map { "Fl \(Roff.escaped($0))" }.joined(separator: " , ")
        let text = option.abstract ?? ""
        var lines = [".It \(flags)\(value(of: option))"] + Roff.lines(text)
        if let values = option.allValues, !values.isEmpty {
            lines += ["One of"] + Roff.words("Cm", values, last: "or", end: " .")
        }
        if let standard = option.defaultValue, option.kind != "flag", !text.contains("default") {
            lines += ["The default is", ".Cm \(Roff.escaped(standard)) ."]
        }
        if option.isRepeating, !text.contains("more than once") {
            lines.append("It may be given more than once.")
        }
        return lines
    }

    private var readerLines: [String] {
        var lines: [String] = []
        for (index, reader) in readers.enumerated() {
            let end = index == readers.count - 1 ? "." : ","
            if index == readers.count - 1, index > 0 { lines.append("and") }
            let command = ".Cm \(Roff.escaped(reader.command))"
            switch reader.part {
            case nil: lines.append("\(command) \(end)")
            case let option? where option.hasPrefix("-"):
                lines.append("\(command) Fl \(Roff.escaped(option.dropFirst())) \(end)")
            case let words?: lines += [command, Roff.escaped(words) + end]
            }
        }
        return lines
    }
}

extension String {
    fileprivate func count(of character: Character) -> Int { self.count { $0 == character } }
}
