// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The incidents of jobs that are not over, such as a failure that notifiers were told of.
extension Store {
    /// The stored incidents, in no order of time. An incident that is over has no row.
    func incidents() throws(StoreError) -> [IncidentRecord] {
        var found: [IncidentRecord] = []
        try connection.run(
            "SELECT \(IncidentColumn.list) FROM incident ORDER BY job, notifier, kind",
            doing: "read the incidents"
        ) { row in
            guard let incident = IncidentRecord(Columns(row)) else {
                return note("an incident in the saved state is damaged; it is ignored")
            }
            found.append(incident)
        }
        return found
    }

    func write(_ change: IncidentChange) throws(StoreError) {
        let id = change.id
        let key: [Value] = [
            .text(id.job.description), .text(id.notifier.description), .text(id.kind.rawValue),
        ]
        switch change {
        case .set(let incident):
            try connection.run(
                "INSERT OR REPLACE INTO incident (\(IncidentColumn.list)) VALUES (?, ?, ?, ?, ?, ?)",
                key + [
                    Value(incident.since), .integer(incident.count.keepable),
                    Value(incident.notified),
                ], doing: "write an incident")
        case .remove:
            try connection.run(
                "DELETE FROM incident WHERE job = ? AND notifier = ? AND kind = ?", key,
                doing: "write the end of an incident")
        }
    }
}

extension IncidentRecord {
    /// Reads a row of an incident; nil if it is not valid.
    fileprivate init?(_ row: Columns<IncidentColumn>) {
        guard let job = row.text(.job).flatMap({ Job.Name($0) }),
            let notifier = row.text(.notifier).flatMap({ Notifier.Name($0) }),
            let kind = row.text(.kind).flatMap({ NotificationKind(rawValue: $0) }),
            NotificationKind.incidents.contains(kind),
            let since = row.integer(.sinceUs).flatMap({ WallInstant(kept: $0) }),
            let count = row.integer(.count).flatMap({ Int(kept: $0) })
        else { return nil }
        self.init(
            id: ID(job: job, notifier: notifier, kind: kind), since: since, count: count,
            notified: row.integer(.notifiedUs).flatMap { WallInstant(kept: $0) })
    }
}
