// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What a machine knows of its fleet. What is shared is in the fleet's own store; this is what it must
/// remember to notice that the shared store is another one, and to report its own runs.
extension Store {
    /// A change of what this machine remembers.
    public enum FleetChange: Hashable, Sendable {
        /// A run that this machine claimed, with its value as text. It replaces what was stored.
        case record(Run.ID, value: String)
        /// The shared store has the end of this run.
        case forget(Run.ID)
        /// The shared store, with all values that were seen in it.
        case remember(KnownFleet)
        /// Some more values, by their keys, and the revision up to which they were seen. They replace what
        /// was stored.
        case values([String: KnownFleet.Value], revision: Int64)
        /// Whether a user drained this machine.
        case drain(Bool)
    }

    /// What a machine knows of the shared store.
    public struct KnownFleet: Hashable, Sendable {
        /// The cluster of etcd; nil before the first contact.
        public var cluster: String?
        /// The identity of the fleet in it, as text; nil before the first contact.
        public var identity: String?
        /// The highest revision that was seen in it. Not negative.
        public var revision: Int64
        /// The values that come back if the shared store is lost, by their keys.
        public var values: [String: Value]
        /// Whether a user drained this machine. `remember` does not change it.
        public var isDrained: Bool

        /// A value of the shared store.
        public struct Value: Hashable, Sendable {
            /// The value, as text.
            public var text: String
            /// The revision of its last change.
            public var modified: Int64

            /// A value as it was seen.
            public init(_ text: String, modified: Int64) {
                self.text = text
                self.modified = modified
            }
        }

        /// Without arguments, what a machine knows that never saw the shared store.
        public init(
            cluster: String? = nil, identity: String? = nil, revision: Int64 = 0,
            values: [String: Value] = [:], isDrained: Bool = false
        ) {
            self.isDrained = isDrained
            self.cluster = cluster
            self.identity = identity
            self.revision = revision
            self.values = values
        }
    }

    /// A run that this machine claimed, and whose end the shared store does not have.
    public struct ClaimedRecord: Hashable, Sendable {
        /// The run that this machine claimed.
        public var run: Run.ID
        /// The run's value in the shared store, as text.
        public var value: String
        /// Whether it is recorded as a run of this machine.
        public var isRecorded: Bool
        /// How it ended; nil: it has not ended, or is not recorded.
        public var end: End?

        /// How and when a run ended, as this machine recorded it.
        public struct End: Hashable, Sendable {
            public var outcome: RunOutcome
            /// When its process started; nil if none did.
            public var began: WallInstant?
            /// When it ended, by the wall clock of this machine.
            public var at: WallInstant
        }
    }

    /// What the shared store had; nil if this machine never saw one.
    ///
    /// - Throws: `StoreError`; of the code `corrupt` if it cannot be read. Then it is not known
    ///   whether the shared store is the right one.
    public func knownFleet() throws(StoreError) -> KnownFleet? {
        var known: KnownFleet?
        try connection.run(
            "SELECT cluster, identity, revision, drained FROM fleet",
            doing: "read what is known of the fleet"
        ) { row in
            known = KnownFleet(
                cluster: row.text(0), identity: row.text(1), revision: max(0, row.integer(2) ?? 0),
                isDrained: row.integer(3) == 1)
        }
        guard known != nil else { return nil }
        try connection.run(
            "SELECT key, value, modified FROM fleet_value", doing: "read the values of the fleet"
        ) { row in
            guard let key = row.text(0), let text = row.text(1), let modified = row.integer(2)
            else {
                return note("a value of the fleet in the saved state is damaged; it is ignored")
            }
            known?.values[key] = KnownFleet.Value(text, modified: modified)
        }
        return known
    }

    /// The runs that this machine claimed, with what is known of their processes.
    ///
    /// - Complexity: O(*m* log *n*) for *m* of them among *n* runs of all jobs.
    public func claimedRuns() throws(StoreError) -> [ClaimedRecord] {
        var found: [ClaimedRecord] = []
        try connection.run(
            """
            SELECT fleet_run.job, fleet_run.scheduled_us, fleet_run.attempt, fleet_run.value,
                run.id, run.outcome, run.began_us, run.ended_us
            FROM fleet_run LEFT JOIN run ON run.job = fleet_run.job
                AND run.scheduled_us = fleet_run.scheduled_us AND run.attempt = fleet_run.attempt
            ORDER BY fleet_run.job, fleet_run.scheduled_us, fleet_run.attempt
            """, doing: "read the runs of the fleet"
        ) { row in
            guard
                let run = Run.ID(
                    job: row.text(0), scheduledUs: row.integer(1), attempt: row.integer(2))
            else { return note("a run of the fleet in the saved state is damaged; it is ignored") }
            let end = row.text(5).flatMap { RunOutcome($0) }.map { outcome in
                ClaimedRecord.End(
                    outcome: outcome, began: row.integer(6).flatMap { WallInstant(kept: $0) },
                    at: row.integer(7).flatMap { WallInstant(kept: $0) } ?? run.firing.scheduled)
            }
            found.append(
                ClaimedRecord(
                    run: run, value: row.text(3) ?? "", isRecorded: row.integer(4) != nil, end: end)
            )
        }
        return found
    }

    func write(_ change: FleetChange) throws(StoreError) {
        switch change {
        case .record(let run, let value):
            try connection.run(
                "INSERT OR REPLACE INTO fleet_run (job, scheduled_us, attempt, value) VALUES (?, ?, ?, ?)",
                identity(run) + [.text(value)], doing: "write a run of the fleet")
        case .forget(let run):
            try connection.run(
                "DELETE FROM fleet_run WHERE job = ? AND scheduled_us = ? AND attempt = ?",
                identity(run), doing: "forget a run of the fleet")
        case .remember(let known): try remember(known)
        case .drain(let isDrained):
            try connection.run(
                """
                INSERT INTO fleet (one, revision, drained) VALUES (1, 0, ?)
                ON CONFLICT (one) DO UPDATE SET drained = excluded.drained
                """, [.integer(isDrained ? 1 : 0)], doing: "write whether this machine is drained")
        case .values(let values, let revision):
            try write(values)
            try connection.run(
                "UPDATE fleet SET revision = max(revision, ?)", [.integer(revision)],
                doing: "write the revision of the fleet")
        }
    }

    private func remember(_ known: KnownFleet) throws(StoreError) {
        let what = "write what is known of the fleet"
        try connection.run(
            """
            INSERT INTO fleet (one, cluster, identity, revision, drained) VALUES (1, ?, ?, ?, 0)
            ON CONFLICT (one) DO UPDATE SET cluster = excluded.cluster,
                identity = excluded.identity, revision = excluded.revision
            """,
            [
                known.cluster.map { .text($0) } ?? .null, known.identity.map { .text($0) } ?? .null,
                .integer(max(0, known.revision)),
            ], doing: what)
        try connection.run("DELETE FROM fleet_value", [], doing: what)
        try write(known.values)
    }

    private func write(_ values: [String: KnownFleet.Value]) throws(StoreError) {
        for (key, value) in values {
            try connection.run(
                "INSERT OR REPLACE INTO fleet_value (key, value, modified) VALUES (?, ?, ?)",
                [.text(key), .text(value.text), .integer(value.modified)],
                doing: "write a value of the fleet")
        }
    }
}
