// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What must be true when a run of an imported job is about to start: the table `condition`.
struct ImportedCondition: Hashable {
    /// Paths that must be there; one with `!` in front must not.
    var pathExists: [String] = []
    /// Paths where a file system must be mounted; with `!` in front, none may be.
    var mounted: [String] = []
    var acPower: Bool?
    var isNetworkOnline = false
    var loadBelow: Double?
    var command: [String] = []
    /// Whether a run waits until it is true, and is not skipped at once.
    var waits = false
    /// How long it waits; nil: as long as timerd waits without the key.
    var waitMax: String?

    /// The most paths of one key (`ConditionDraft` of the configuration).
    static let pathsMax = 32

    /// The table; nil if nothing is asked.
    var value: TomlValue? {
        var entries: [TomlEntry] = []
        func add(_ key: String, _ value: TomlValue?) {
            if let value { entries.append(TomlEntry(key, value)) }
        }
        add("path-exists", pathExists.isEmpty ? nil : .strings(pathExists))
        add("mounted", mounted.isEmpty ? nil : .strings(mounted))
        add("ac-power", acPower.map { .boolean($0) })
        add("network-online", isNetworkOnline ? .boolean(true) : nil)
        add("load-below", loadBelow.map { .number($0) })
        add("command", command.isEmpty ? nil : .strings(command))
        guard !entries.isEmpty else { return nil }
        if waits { add("otherwise", .string("wait")) }
        add("wait-max", waitMax.map { .string($0) })
        return .table(entries)
    }
}
