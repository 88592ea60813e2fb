// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Store {
    /// Identifies a database. A copy has the same identity and continues with the generations from
    /// there. So it can be detected that another database, or an older copy, has replaced a
    /// database.
    public struct Identity: Hashable, Sendable {
        /// Chosen at random when the database was created: 32 hexadecimal digits.
        public var id: String
        /// Incremented by the first commit after each start, and then about once per second if
        /// something is written. Not negative.
        public var generation: Int64

        public init(id: String, generation: Int64) {
            self.id = id
            self.generation = generation
        }
    }

    /// The number of stored jobs that are still in the configuration.
    /// - Complexity: O(*n*) in the number of jobs.
    public func jobCount() throws(StoreError) -> Int {
        Int(
            try connection.integer(
                "SELECT count(*) FROM job WHERE removed_us IS NULL", doing: "count its jobs") ?? 0)
    }

    func readIdentity() throws(StoreError) -> Identity {
        var found: Identity?
        try connection.run("SELECT id, generation FROM identity", doing: "read its identity") {
            guard let id = $0.text(0), let generation = $0.integer(1),
                Self.generations.contains(generation)
            else { return }
            found = Identity(id: id, generation: generation)
        }
        guard let found else {
            throw StoreError(
                code: .corrupt, path: connection.path, what: "its identity cannot be read",
                hint: StoreError.restoreHint)
        }
        return found
    }

    /// The upper bound leaves room to increment it.
    private static let generations: ClosedRange<Int64> = 0...(1 << 62)
}

extension Connection {
    /// The version of the tables; 0 for a database without tables.
    func version() throws(StoreError) -> Int64 {
        try integer("PRAGMA user_version", doing: "read it") ?? 0
    }
}
