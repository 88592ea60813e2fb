// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A table of the configuration that jobs refer to by its name, such as `[notify.NAME]`.
public protocol NamedTable {
    /// What the table describes, in a message: `notifier`.
    static var kind: String { get }
}

/// The name of such a table. The same characters are allowed as in the name of a job.
public struct TableName<Table: NamedTable>: Hashable, Comparable, Sendable,
    CustomStringConvertible
{
    public let description: String

    /// Returns nil if `text` is not a valid name.
    public init?(_ text: String) {
        guard Self.fault(in: text) == nil else { return nil }
        description = text
    }

    /// What is wrong with `text` as a name, as the end of a sentence; nil if it is valid.
    public static func fault(in text: String) -> String? {
        Job.Name.fault(in: text, as: "the name of a \(Table.kind)")
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.description < right.description
    }
}
