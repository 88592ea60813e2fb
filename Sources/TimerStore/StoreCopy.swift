// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Copies of a database, to go back to. A copy is one file without a log.
public enum StoreCopy {
    /// The name of the last good copy in the state directory.
    public static let fileName = "timerd.backup.db"

    /// Writes a copy of a database as it is now, by a connection of its own: whoever writes to the database is not held
    /// up. Nothing is synced to the disk.
    ///
    /// - Parameters:
    ///   - path: the database.
    ///   - copy: where the copy goes; there must be no file, or an empty one.
    ///   - limit: how long it may take.
    /// - Throws: `StoreError`, also for a database that is damaged; a part of the copy may be there then.
    public static func write(
        _ path: String, to copy: String, limit: Duration
    ) throws(StoreError) {
        let connection = try Connection(path: path)
        connection.limit(to: limit)
        try connection.run("VACUUM INTO ?", [.text(copy)], doing: "copy it")
    }

    /// What a copy holds.
    public struct Content: Hashable, Sendable {
        /// The database it is a copy of, and how new it is.
        public var identity: Store.Identity
        /// How many jobs it knows.
        public var jobs: Int
    }

    /// Makes a database of a copy: checks every page and index of it, and writes what is good to a new file.
    ///
    /// - Parameters:
    ///   - source: the copy, with its log if it has one. Nothing may be writing to it.
    ///   - target: where the database goes; there must be no file, or an empty one.
    ///   - id: which database it is to be; nil: the one it is a copy of.
    ///   - generation: a generation that it must be newer than.
    /// - Throws: `StoreError` if the copy is damaged or not a database of timerd; a part of the target may be there.
    public static func restore(
        _ source: String, to target: String, as id: String?, newerThan generation: Int64
    ) throws(StoreError) -> Content {
        try copyIfWhole(source, to: target)
        let store = try Store(path: target, mayMake: false)
        let connection = store.connection
        let next = max(store.identity.generation, generation) + 1
        try connection.run(
            "UPDATE identity SET generation = ?, id = ?",
            [.integer(next), .text(id ?? store.identity.id)], doing: "write its generation")
        let jobs = try connection.integer("SELECT count(*) FROM job", doing: "count its jobs") ?? 0
        // One file without a log, so that one rename puts it in its place.
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
