// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Creates and restores backup copies of a database. A copy is one file without a log.
public enum StoreCopy {
    /// The name of the last good copy in the state directory.
    public static let fileName = "timerd.backup.db"

    /// Writes a copy of the current database with its own connection, so that it does not delay
    /// writers. Nothing is synced to the disk.
    ///
    /// - Parameters:
    ///   - path: the database.
    ///   - copy: the path of the copy; the file must not exist or be empty.
    ///   - limit: how long it may take.
    /// - Throws: `StoreError`, also if the database is damaged; a part of the copy may exist then.
    public static func write(
        _ path: String, to copy: String, limit: Duration
    ) throws(StoreError) {
        let connection = try Connection(path: path)
        connection.limit(to: limit)
        try connection.run("VACUUM INTO ?", [.text(copy)], doing: "copy it")
    }

    /// What is in a copy, for the user who restores it.
    public struct Content: Hashable, Sendable {
        /// The identity of the original database, and its generation.
        public var identity: Store.Identity
        /// How many jobs it has, with those that are not configured any more.
        public var jobs: Int
    }

    /// Restores a database from a copy: checks every page and index of it, and writes the valid
    /// content to a new file.
    ///
    /// - Parameters:
    ///   - source: the copy, with its log if it has one. Nothing may write to it.
    ///   - target: the path of the database; the file must not exist or be empty.
    ///   - id: the identity of the new database; nil: that of the copy.
    ///   - generation: the new generation is higher than this one. The next instance of the daemon
    ///     learns that what happened after the copy is not known (`RecoveredState.isRestored`).
    /// - Throws: `StoreError` if the copy is damaged or not a database of timerd; a part of the
    ///   target may exist.
    public static func restore(
        _ source: String, to target: String, as id: String?, newerThan generation: Int64
    ) throws(StoreError) -> Content {
        try copyIfWhole(source, to: target)
        let store = try Store(path: target, mayMake: false)
        let connection = store.connection
        let next = max(store.identity.generation, generation) + 1
        try connection.run(
            "UPDATE identity SET generation = ?, id = ?, is_restored = 1",
            [.integer(next), .text(id ?? store.identity.id)], doing: "write its generation")
        let jobs = try connection.integer("SELECT count(*) FROM job", doing: "count its jobs") ?? 0
        // Without WAL it is one file, so that one rename can put it in place.
        try connection.run("PRAGMA journal_mode = DELETE", doing: "write it")
        let identity = Store.Identity(id: id ?? store.identity.id, generation: next)
        return Content(identity: identity, jobs: Int(jobs))
    }

    private static func copyIfWhole(_ source: String, to target: String) throws(StoreError) {
        let connection = try Connection(path: source, .readingAlone)
        let faults = try connection.texts("PRAGMA integrity_check(3)", doing: "check it")
        guard faults == ["ok"] else {
            throw StoreError(
                code: .corrupt, path: source,
                what: "is damaged: \(faults.joined(separator: "; "))",
                hint: "choose another copy")
        }
        try connection.run("VACUUM INTO ?", [.text(target)], doing: "copy it")
    }
}
