// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
public import TimerCore

/// The definition of a job as it is written in its file.
public struct DefinitionText: Hashable, Sendable {
    public let file: String
    /// The line of its first line, from 1.
    public let line: Int
    /// Its lines, with comments among them, and without those between it and the next table.
    public let lines: [String]

    /// All lines of the file, if it has nothing but this definition and comments; nil if it has more.
    public let wholeFile: [String]?
}

extension ConfigReader {
    /// The definition of a job, with or without errors; nil if no readable file has it.
    ///
    /// - Throws: `ConfigError` if the main file, or that of the job, cannot be read or is no TOML.
    /// - Complexity: O(*n*) in the bytes of all files.
    public static func definition(
        of job: Job.Name, path: String, ownerUID: UInt32
    ) throws(ConfigError) -> DefinitionText? {
        guard let place = try place(of: job, path: path, ownerUID: ownerUID) else { return nil }
        let files = ConfigFiles(main: path, ownerUID: ownerUID)
        let other = (files.others().0 + files.oneOffs().0).first { $0.path == place.file }
        let bytes =
            if let other { try files.read(other) } else { try files.readMain() }
        let entries: [TomlEntry]
        do throws(TomlFault) { entries = try Toml.parse(bytes, file: place.file) } catch {
            throw ConfigError(file: place.file, message: error.message)
        }
        return DefinitionText(bytes, entries, place.file, from: place.line)
    }
}

extension DefinitionText {
    init(_ bytes: [UInt8], _ entries: [TomlEntry], _ file: String, from line: Int) {
        let all = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // The tables of the file, and those of its jobs, dates, slots and notifiers.
        let tables = entries.filter { $0.node.entries != nil }
        let inner = tables.flatMap { $0.node.entries ?? [] }.filter { $0.node.entries != nil }
        let begins = (tables + inner).map(\.mark.line).sorted()
        let end = begins.first { $0 > line } ?? all.count + 1
        var lines = Array(all[max(0, line - 1)..<max(line, end - 1)])
        // Comments above the next table are about that.
        while let last = lines.last, lines.count > 1,
            last.allSatisfy(\.isWhitespace) || last.hasPrefix("#")
        { lines.removeLast() }
        self.file = file
        self.line = line
        self.lines = lines
        // What is after the last line end is not a line.
        let written = all.last?.isEmpty == true ? all.dropLast() : all
        wholeFile = inner.count == 1 && entries.count == 1 ? written : nil
    }
}

extension TomlNode {
    /// What a table has; nil if it is none.
    fileprivate var entries: [TomlEntry]? {
        if case .table(let entries) = value { entries } else { nil }
    }
}
