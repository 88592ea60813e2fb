// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The hold of the machine: at most one row.
extension Store {
    /// The stored hold; nil if the machine is not held. A row that cannot be read holds it too:
    /// nothing must start that a user has stopped.
    func hold() throws(StoreError) -> MachineHold? {
        var found: MachineHold?
        try connection.run(
            """
            SELECT since_us, since_awake_ns, since_boot_ns, boot_id, instance, held_by, note, until_us,
                with_run
            FROM hold
            """, doing: "read the hold of the machine"
        ) { row in
            let wall = row.integer(0).flatMap { WallInstant(kept: $0) }
            let bootID = row.text(3).flatMap { BootID($0) }
            if wall == nil || bootID == nil {
                note("the hold of this machine in the saved state is damaged; it goes on")
            }
            found = MachineHold(
                since: Now(
                    wall: wall ?? WallInstant(secondsSinceEpoch: 0),
                    awake: AwakeInstant(nanoseconds: row.integer(1) ?? 0),
                    boot: BootInstant(nanoseconds: row.integer(2) ?? 0),
                    bootID: bootID ?? .unknown),
                instance: row.integer(4) ?? 0, by: Initiator(stored: row.text(5) ?? ""),
                note: row.text(6), until: row.integer(7).flatMap { WallInstant(kept: $0) },
                withRun: row.integer(8) == 1)
        }
        return found
    }

    func write(_ change: HoldChange) throws(StoreError) {
        switch change {
        case .ended:
            try connection.run("DELETE FROM hold", doing: "delete the hold of the machine")
        case .set(let hold):
            let since = hold.since
            try connection.run(
                """
                INSERT OR REPLACE INTO hold (one, since_us, since_awake_ns, since_boot_ns, boot_id,
                    instance, held_by, note, until_us, with_run)
                VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    Value(since.wall), .integer(since.awake.nanoseconds),
                    .integer(since.boot.nanoseconds), .text(since.bootID.description),
                    .integer(hold.instance), .text(hold.by.stored),
                    hold.note.map { .text($0) } ?? .null, Value(hold.until),
                    .integer(hold.withRun ? 1 : 0),
                ], doing: "write the hold of the machine")
        }
    }
}
