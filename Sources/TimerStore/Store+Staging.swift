// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Very many accounts that are saved together: after a kill all of them count or none does. In one transaction they
/// would take as long as they take, and nothing else could be written meanwhile, such as the start of a run. So
/// they are staged in a table of their own by many short transactions, count by one more, and move to the others
/// afterwards.
extension Store {
    /// All accounts that count.
    static var jobs: String {
        """
        SELECT * FROM staged_job WHERE EXISTS (SELECT 1 FROM staging) UNION ALL
        SELECT * FROM job WHERE NOT EXISTS (SELECT 1 FROM staging)
            OR name NOT IN (SELECT name FROM staged_job)
        """
    }

    func stage(_ record: JobRecord) throws(StoreError) {
        hasStaged = true
        try write(record, Self.staging)
    }

    func applyStaged() throws(StoreError) {
        try connection.run(
            "INSERT OR IGNORE INTO staging VALUES (1)", doing: "apply the staged accounts")
    }

    func mergeStaged(max: Int) throws(StoreError) {
        let what = "merge the staged accounts"
        guard try connection.integer("SELECT is_applied FROM staging", doing: what) != nil else {
            return
        }
        try connection.run(
            "INSERT OR REPLACE INTO job SELECT * FROM staged_job ORDER BY name LIMIT ?",
            [.integer(Int64(max))], doing: what)
        try connection.run(
            """
            DELETE FROM staged_job WHERE name IN (SELECT name FROM staged_job ORDER BY name LIMIT ?)
            """, [.integer(Int64(max))], doing: what)
        guard try connection.integer("SELECT 1 FROM staged_job LIMIT 1", doing: what) == nil else {
            return
        }
        try connection.run("DELETE FROM staging", doing: what)
        hasStaged = false
    }

    /// A newer account of the job is saved, or it has none any more.
    func forgetStaged(_ job: Job.Name) throws(StoreError) {
        guard hasStaged else { return }
        try connection.run(
            "DELETE FROM staged_job WHERE name = ?", [.text(job.description)],
            doing: "write a job's account")
    }

    /// What the last daemon staged: it counts if it was applied; otherwise nothing of it does.
    func settleStaged() throws(StoreError) {
        try mergeStaged(max: .max)
        try connection.run("DELETE FROM staged_job", doing: "settle the staged accounts")
        hasStaged = false
    }
}
