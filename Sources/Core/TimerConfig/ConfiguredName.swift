// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A name that the configuration gives to something, or by which it refers to it.
protocol ConfiguredName {
    /// Returns nil if `text` is not a valid name.
    init?(_ text: String)
    /// What is wrong with `text` as a name, as the end of a sentence; nil if it is valid.
    static func fault(in text: String) -> String?
}

extension Job.Name: ConfiguredName {}

extension TableName: ConfiguredName {}

extension ConfiguredName {
    /// Reads a name that is written at `mark`.
    static func read(_ text: String, at mark: SourceMark) throws(Fault) -> Self {
        guard let name = Self(text) else {
            throw Fault(mark, fault(in: text) ?? "not a valid name")
        }
        return name
    }
}

extension FileReader {
    /// Reads the name of a table such as `[job.NAME]`. A name that is not valid, or that another
    /// table has, is reported.
    ///
    /// - Parameter other: the file that has a table with this name already; nil: there is none.
    /// - Returns: nil if the name is not valid.
    mutating func name<Name: ConfiguredName>(
        _ key: TomlEntry, usedIn other: String?,
        _ subject: @autoclosure () -> String
    ) -> Name? {
        let name = attempt(subject()) { () throws(Fault) in
            try Name.read(key.key, at: key.mark)
        }
        if name != nil, let other {
            report(Fault(key.mark, "is in \(other) already; give one another name"), subject())
        }
        return name
    }

    /// Reads the name and the entries of a table such as `[notify.NAME]`, and notes its place.
    ///
    /// - Parameters:
    ///   - kind: the first word of the table, such as `notify`.
    ///   - places: those of the tables of this kind that were read.
    ///   - most: how many there may be in all files, and what they are.
    /// - Returns: nil if it has no valid name or is no table.
    mutating func table<Name: ConfiguredName>(
        _ key: TomlEntry, of kind: String,
        _ places: inout [String: (file: String, mark: SourceMark, excerpt: String?)],
        most: (count: Int, what: String), _ subject: String
    ) -> (Name, [TomlEntry])? {
        let other = places[key.key]
        guard let name: Name = name(key, usedIn: other?.file, subject) else { return nil }
        if other == nil {
            places[key.key] = (document.file, key.mark, document.text.excerpt(at: key.mark))
        }
        if places.count == most.count + 1 {
            report(
                Fault(key.mark, "is one too many; at most \(most.count) \(most.what)"), subject)
        }
        guard case .table(let entries) = key.node.value else {
            report(
                Fault(
                    key.node.mark,
                    "must be a table, [\(kind).\(key.key)], not \(key.node.value.kind)"), subject)
            return nil
        }
        return (name, entries)
    }
}
