// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Saves the time records of very many jobs together: after a crash either all of them count or
/// none does. One transaction for all would take long, and nothing else could be written meanwhile,
/// such as the start of a run. So they are written to a staging table in many short transactions,
/// applied by one more, and then moved to the main table.
extension Store {
    /// All current records, while those in the staging table are applied.
    static let jobsWithStaged = """
        SELECT * FROM staged_job UNION ALL
        SELECT * FROM job WHERE name NOT IN (SELECT name FROM staged_job)
        """

    /// Whether the records in the staging table are applied.
    func hasAppliedStaged(doing what: String) throws(StoreError) -> Bool {
        try connection.integer("SELECT 1 FROM staging", doing: what) != nil
    }

    func stage(_ record: JobRecord) throws(StoreError) {
        hasStaged = true
        try write(record, Self.staging)
    }

    func applyStaged() throws(StoreError) {
        try connection.run(
            "INSERT OR IGNORE INTO staging (is_applied) VALUES (1)",
            doing: "apply the staged records")
    }

    func mergeStaged(max: Int) throws(StoreError) {
        let what = "merge the staged records"
        guard try hasAppliedStaged(doing: what) else { return }
        try connection.run(
            """
            INSERT OR REPLACE INTO job (\(JobColumn.list))
                SELECT \(JobColumn.list) FROM staged_job ORDER BY name LIMIT ?
            """, [.integer(Int64(max))], doing: what)
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

    /// Removes the staged record of a job, because a newer one is saved or the job is erased.
    func forgetStaged(_ job: Job.Name) throws(StoreError) {
        guard hasStaged else { return }
        try connection.run(
            "DELETE FROM staged_job WHERE name = ?", [.text(job.description)],
            doing: "write the record of a job")
    }

    /// Merges the records that the last daemon staged if they were applied, and otherwise discards
    /// them.
    func settleStaged() throws(StoreError) {
        try mergeStaged(max: .max)
        try connection.run(
            "DELETE FROM staged_job", doing: "delete staged records that do not count")
        hasStaged = false
    }
}
