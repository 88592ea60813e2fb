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

extension Notifier.Name: ConfiguredName {}

extension RunSlot.Name: ConfiguredName {}

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
}
