// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The file of jobs.d that has the jobs of a switched source. Each job has a guard, which is a comment unless the
/// source is being switched. The first lines say what the jobs were before, which `--back` needs.
///
/// Each key is in one line, so that guards come and go without reading TOML, also after a user has edited the file.
public struct SwitchFile: Hashable, Sendable {
    public let source: SwitchedSource
    private var lines: [String]

    private static let title =
        "# Made by `timerctl import --all --switch`; `timerctl import --all --back` takes it back. It needs the next lines."
    private static let from = "# switched-from: "
    private static let line = "# switched-line: "
    private static let (guardMark, ownMark) = ("#guard# ", "#own# ")
    private static let active = " # guard"
    private static let key = "condition"

    /// The file with guards.
    ///
    /// - Parameter tableLines: the lines of a crontab that are switched, by `MarkedTable.key`.
    /// - Complexity: O(*n*) in the size of the source.
    public init(_ source: SwitchedSource, _ result: ImportResult, tableLines: [String] = []) {
        self.source = source
        lines = [Self.title, Self.from + source.header] + tableLines.map { Self.line + $0 }
        lines += result.report.shown.entries.compactMap { $0.message.map(Self.comment) }
        for notifier in result.notifiers {
            lines += ["", "[notify.\(Toml.key(notifier.name))]"] + notifier.keys.map(Self.text)
        }
        for job in result.jobs { lines += [""] + Self.lines(of: job, source) }
    }

    /// Reads such a file; nil if it is another one.
    public init?(_ text: String) {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard lines.first == Self.title, lines.count > 1, lines[1].hasPrefix(Self.from),
            let source = SwitchedSource(header: lines[1].dropFirst(Self.from.count))
        else { return nil }
        self.source = source
    }

    public var text: String { lines.joined(separator: "\n") + "\n" }

    /// The switched lines of a crontab, by `MarkedTable.key`.
    public var tableLines: Set<String> {
        Set(
            lines.filter { $0.hasPrefix(Self.line) }.map { String($0.dropFirst(Self.line.count)) })
    }

    /// Whether its jobs run only while the source is off.
    public var isGuarded: Bool { lines.contains(where: Self.isGuard) }

    /// The file with guards, or without.
    public func withGuards(_ isGuarded: Bool) -> SwitchFile {
        guard isGuarded != self.isGuarded else { return self }
        var file = self
        var isInJob = false
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("[") { isInJob = Self.job(inHeader: line) != nil }
            if isGuarded {
                if line.hasPrefix(Self.guardMark) {
                    file.lines[index] = line.dropFirst(Self.guardMark.count) + Self.active
                } else if isInJob, line.hasPrefix("\(Self.key) ") || line.hasPrefix("\(Self.key).")
                {
                    file.lines[index] = Self.ownMark + line
                }
            } else if Self.isGuard(line) {
                file.lines[index] = Self.guardMark + line.dropLast(Self.active.count)
            } else if line.hasPrefix(Self.ownMark) {
                file.lines[index] = String(line.dropFirst(Self.ownMark.count))
            }
        }
        return file
    }

    /// The names of its jobs, also of those that a user has added.
    public var jobs: [String] { lines.compactMap(Self.job(inHeader:)) }

    /// The users as whom its jobs run.
    public var users: [String] {
        let prefix = "user = \""
        let users = lines.filter { $0.hasPrefix(prefix) && $0.hasSuffix("\"") }
        return Set(users.map { String($0.dropFirst(prefix.count).dropLast()) }).sorted()
    }

    private static func isGuard(_ line: String) -> Bool {
        line.hasPrefix("\(key) = ") && line.hasSuffix(active)
    }

    /// The job of a line `[job.NAME]`; nil for another line.
    private static func job(inHeader line: String) -> String? {
        guard line.hasPrefix("[job."), let end = line.lastIndex(of: "]") else { return nil }
        let name = line[..<end].dropFirst("[job.".count)
        guard name.hasPrefix("\"") else { return name.contains(".") ? nil : String(name) }
        let inner = name.dropFirst().prefix { $0 != "\"" }
        return inner.utf8.count + 2 == name.utf8.count ? String(inner) : nil
    }

    private static func lines(of job: ImportedJob, _ source: SwitchedSource) -> [String] {
        var lines = [comment("\(job.place)")] + job.source.map { comment("  \($0)") }
        lines += job.notes.map { comment("note: \($0)") }
        lines.append("[job.\(Toml.key(job.name.description))]")
        let own = job.value(of: key)
        let condition = SwitchGuard.condition(of: source, and: own)
        lines.append(text(TomlEntry(key, condition)) + active)
        for entry in job.keys {
            lines.append((entry.key == key ? ownMark : "") + text(entry))
        }
        return lines
    }

    private static func text(_ entry: TomlEntry) -> String {
        "\(Toml.key(entry.key)) = \(entry.value.inline)"
    }

    /// A comment in one line, which begins like none of the marks.
    private static func comment(_ text: String) -> String {
        Toml.comment(text.replacing("\n", with: " "))
    }
}
