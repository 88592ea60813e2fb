// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The variables that a user sets for one run, in addition to those of its job. They may contain
/// secrets, so they are kept only in memory, and their values are never printed.
public struct RunVariables: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The maximum number of variables of one run; a request with more is refused.
    public static let countMax = 64
    /// The maximum total size of all names and values in bytes.
    public static let bytesMax = 32 << 10

    /// The values by the names of the variables.
    public let values: [String: String]
    /// Whether the run had variables in an earlier daemon instance, which lost them when it ended:
    /// neither the run nor a retry of it is started without them.
    public let areLost: Bool

    /// No variables.
    public init() { (values, areLost) = ([:], false) }

    /// Values by name, which are not checked; see `fault(allowed:)`.
    public init(_ values: [String: String]) { (self.values, areLost) = (values, false) }

    private init(areLost: Bool) { (values, self.areLost) = ([:], areLost) }

    /// The lost variables of a run of an earlier daemon instance.
    public static let lost = RunVariables(areLost: true)

    /// Whether the run has none and never had.
    public var isEmpty: Bool { values.isEmpty && !areLost }

    /// The approximate memory in bytes.
    public var cost: Int { values.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 64 } }

    public var description: String {
        isEmpty ? "none" : areLost ? "lost" : plural(values.count, "variable")
    }

    /// It has no children, so that code that prints a value with its properties shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Why a run must not have these variables; nil if it may.
    ///
    /// - Parameter allowed: the names that its job allows.
    public func fault(allowed: Set<String>) -> String? {
        guard values.count <= Self.countMax else {
            return "has \(values.count) variables; at most \(Self.countMax)"
        }
        let bytes = values.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard bytes <= Self.bytesMax else {
            return "its variables have \(bytes) bytes; at most \(Self.bytesMax)"
        }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard allowed.contains(name), Self.fault(inName: name) == nil else {
                return
                    "run-environment of the job does not allow \(name.prefix(64).debugDescription)"
            }
            guard !value.utf8.contains(0) else { return "the value of \(name) has a NUL character" }
        }
        return nil
    }
}
