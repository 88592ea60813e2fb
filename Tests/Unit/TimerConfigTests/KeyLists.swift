// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TimerJSON

@testable import TimerConfig

/// What the pages say of a key, from its declaration.
struct KeyFacts {
    let name: String
    let type: String
    let limits: String?
    let help: String
    /// The default as TOML; nil if there is none.
    let standard: String?
    let isDefault: Bool

    init<Target>(_ key: Key<Target>) {
        (name, type, limits, help) = (key.name, key.type, key.limits, key.help)
        standard = key.standard()?.text()
        isDefault = key.isDefault
    }

    /// Whether the default is a value, and not the absence of one.
    var hasValue: Bool {
        standard.map { !["\"none\"", "\"\"", "[]", "{}"].contains($0) } ?? false
    }

    /// The keys of each table, by its name: `daemon`, `job`.
    static let tables: [String: [KeyFacts]] = {
        var tables = [
            "job": JobKey.all.map(KeyFacts.init), "notify": NotifierKey.all.map(KeyFacts.init),
            "slot": SlotDraft.keys.map(KeyFacts.init),
            "dates": DatesDraft.keys.map(KeyFacts.init),
            "condition": ConditionDraft.keys.map(KeyFacts.init),
        ]
        for table in SettingsTable.all { tables[table.name] = table.keys.map(KeyFacts.init) }
        return tables
    }()
}

/// A text with lists of keys in it, each between two lines that say so.
struct KeyLists {
    /// A list that cannot be made, and why.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - begin: how the line before a list begins; the rest of it names the table.
    ///   - list: the lines of a list, from the name of its table, what is above it and what is below.
    static func replaced(
        in text: String, from begin: String, to end: String,
        _ list: (String, _ above: [String], _ below: ArraySlice<String>) throws -> [String]
    ) throws -> String {
        var rest = text.components(separatedBy: "\n")[...]
        var lines: [String] = []
        while let line = rest.popFirst() {
            lines.append(line)
            guard line.hasPrefix(begin) else { continue }
            guard let last = rest.firstIndex(of: end) else {
                throw Fault(description: "a line \"\(end)\" is missing after \"\(line)\"")
            }
            rest = rest[last...]
            lines += try list(String(line.dropFirst(begin.count)), lines, rest)
        }
        return lines.joined(separator: "\n")
    }

    // MARK: - timerd.toml(5)

    /// The page with a table of the keys that are explained below it in the same section.
    static func manual(_ page: String) throws -> String {
        try replaced(
            in: page, from: ".\\\" Written by `make generated`: keys of ", to: ".\\\" End."
        ) {
            table, _, below in
            let section = below.prefix { !$0.hasPrefix(".Sh ") }
            let names = section.filter { $0.hasPrefix(".It Ic ") }.map {
                $0.dropFirst(7).replacing("\\-", with: "-")
            }
            let keys = try names.map { name in
                guard let key = KeyFacts.tables[table]?.first(where: { $0.name == name }) else {
                    throw Fault(description: "there is no key \(name) in [\(table)]")
                }
                return key
            }
            return rows(of: keys) + (table == "job" ? defaultsSentence(of: keys) : [])
        }
    }

    private static func rows(of keys: [KeyFacts]) -> [String] {
        let rows = keys.map { key in
            [key.name, key.type, shown(key.standard), key.limits ?? ""]
        }
        let heads = ["Key", "Type", "Default", "Values"]
        let widths = (0..<3).map { column in
            let most = ([heads] + rows).map { $0[column].count }.max() ?? 0
            // A line of a terminal must have room for the last column.
            return String(repeating: "x", count: min(most, column == 2 ? 12 : 28))
        }
        return [
            ".Bl -column \(widths.joined(separator: " "))",
            ".It " + heads.map { "Sy \($0)" }.joined(separator: " Ta "),
        ] + rows.map { ".It " + $0.map(escaped).joined(separator: " Ta ") } + [".El"]
    }

    /// A default as TOML, a text without its quotes.
    private static func shown(_ standard: String?) -> String {
        guard let standard, standard.hasPrefix("\""), standard.count > 2 else {
            return standard ?? ""
        }
        return String(standard.dropFirst().dropLast())
    }

    private static func escaped(_ cell: String) -> String {
        cell.isEmpty
            ? "\\&"
            : cell.replacing("-", with: "\\-").replacing("...", with: "...\\&")
                .replacing("\"", with: "\\(dq")
    }

    private static func defaultsSentence(of keys: [KeyFacts]) -> [String] {
        let names = keys.filter { !$0.isDefault }.map { $0.name.replacing("-", with: "\\-") }
        guard let last = names.last else { return [] }
        let others = names.dropLast().joined(separator: " , ")
        let list = others.isEmpty ? [] : [".Sy \(others)", "and"]
        return [".Pp", ".Li [defaults]", "cannot have"] + list + [".Sy \(last) ."]
    }

    // MARK: - config/timerd.toml

    /// The key of a line such as `#nice = 0`, and its value.
    static func key(in line: String) -> (name: String, value: String)? {
        guard let match = line.wholeMatch(of: /#?([a-z][a-z-]*) = (.*)/) else { return nil }
        return (String(match.1), String(match.2))
    }

    /// The table of a line such as `[job.report]` or `#[fleet]`.
    static func table(in line: String) -> String? {
        line.wholeMatch(of: /#?\[([a-z]+).*\]/).map { String($0.1) }
    }

    /// The configuration with a list of those keys of a table that the rest of it does not have.
    static func configuration(_ text: String) throws -> String {
        try replaced(
            in: text, from: "# The other keys of ",
            to: "# (This list is written by `make generated`.)"
        ) { title, above, below in
            let table = String(title.dropFirst().prefix { $0.isLetter })
            let there = names(in: above, of: table) + names(in: below, of: table, startsInIt: true)
            let others = (KeyFacts.tables[table] ?? []).filter { !there.contains($0.name) }
            return try others.flatMap { key in
                guard let standard = key.standard else {
                    throw Fault(
                        description:
                            "\(key.name) of [\(table)] has no default: write an example of it above the list"
                    )
                }
                return wrapped("# \(key.help)") + ["#\(key.name) = \(standard)"]
            }
        }
    }

    /// The names of the keys that lines have in a table.
    private static func names(
        in lines: some Sequence<String>, of table: String, startsInIt: Bool = false
    ) -> [String] {
        var isInIt = startsInIt
        return lines.compactMap { line in
            if let other = Self.table(in: line) { isInIt = other == table }
            return isInIt ? key(in: line)?.name : nil
        }
    }

    /// Lines of at most 120 columns.
    private static func wrapped(_ text: String) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + word.count < 120 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(lines.isEmpty ? String(word) : "# \(word)")
            }
        }
        return lines
    }
}
