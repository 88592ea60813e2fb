// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Store {
    /// Which database it is. A copy has the identity of what it was copied from, and goes on from its generation: so
    /// another database in the place of one, and an older copy of it, can be told.
    public struct Identity: Hashable, Sendable {
        /// Drawn at random when the database was made: 32 hexadecimal digits.
        public var id: String
        /// Grows by one with the first commit of each start, and then about once in each second something is
        /// written. Not negative.
        public var generation: Int64

        /// An identity as described.
        public init(id: String, generation: Int64) {
            self.id = id
            self.generation = generation
        }
    }

    /// How many jobs it knows that the configuration still names.
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

    /// There is always a next one.
    private static let generations: ClosedRange<Int64> = 0...(1 << 62)
}

extension Connection {
    /// The version of the tables; 0 for a database that has none yet.
    func version() throws(StoreError) -> Int64 {
        try integer("PRAGMA user_version", doing: "read it") ?? 0
    }
}
