// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The tables, and the migration steps from each version to the next. A step is never changed after
/// its release: a database of any version is migrated by the steps that it lacks.
enum Schema {
    static let steps = [first, second, third, fourth]

    /// The columns of a time record. `staged_job` has the same columns in the same order. While
    /// `staging` has a row, the rows of `staged_job` replace the rows with the same name in `job`;
    /// otherwise they were never applied.
    ///
    /// - Parameter check: the rule for `accrued_ns`.
    private static func jobColumns(_ check: String) -> String {
        """
        name TEXT PRIMARY KEY,
        phase TEXT NOT NULL CHECK
            (phase = 'armed' OR phase = 'paused' OR phase = 'stopped' OR phase = 'finished'),
        pause_since_us INTEGER, pause_by TEXT, pause_note TEXT,
        pause_until_us INTEGER, pause_with_run INTEGER NOT NULL,
        basis TEXT NOT NULL CHECK
            (basis = 'active' OR basis = 'uptime' OR basis = 'boottime' OR basis = 'wall'),
        active_ns INTEGER NOT NULL CHECK (active_ns >= 0),
        accrued_ns INTEGER NOT NULL CHECK (\(check)),
        max_loss_ns INTEGER NOT NULL CHECK (max_loss_ns >= 0),
        counting INTEGER NOT NULL,
        firings INTEGER NOT NULL,
        skips INTEGER NOT NULL CHECK (skips >= 0),
        last_scheduled_us INTEGER,
        processed_through_us INTEGER,
        clock_epoch INTEGER NOT NULL CHECK (clock_epoch >= 0),
        due_this_boot INTEGER NOT NULL,
        awaits_end INTEGER NOT NULL,
        ended_in_pause_us INTEGER,
        last_success_us INTEGER,
        watched_since_us INTEGER,
        configured_paused INTEGER NOT NULL,
        removed_us INTEGER,
        at_us INTEGER NOT NULL, at_awake_ns INTEGER NOT NULL, at_boot_ns INTEGER NOT NULL,
        boot_id TEXT NOT NULL,
        instance INTEGER NOT NULL
        """
    }

    /// The names contain the units: `_us` microseconds since 1970, `_ns` nanoseconds. STRICT and
    /// NOT NULL make the database refuse values that no reader could use; UNIQUE prevents that a
    /// firing runs twice.
    ///
    /// A run's `cause` is NULL if the schedule made it, as most runs.
    ///
    /// A run's `job` is part of its identity and never changes; its `owner` is the current name of
    /// the job.
    ///
    /// The checks compare one word at a time: for a list of more than two words, SQLite creates a
    /// temporary table for each row written (EXPLAIN: OpenEphemeral), which takes longer than
    /// writing the row.
    ///
    /// A row of `notification` belongs to a message when that is written (`Store+Messages`).
    /// Numbers of messages are never used again (AUTOINCREMENT), because receivers know messages by
    /// them; those of notifications neither, because only those above the last one are read. A
    /// notification's `job` is the name in its message; its `owner` is the current name of the job.
    ///
    /// The index of `notification` by job has everything that is asked about an incident, so that one
    /// that began a moment ago is found among years of notifications. Each notifier has its own
    /// latest message and latest error: without the indexes, a hundred notifiers would read all
    /// messages a hundred times.
    ///
    /// A row of `skip` stands for runs in a row that were skipped for the same reason; its `job` is
    /// the current name of the job. Its index, and those of `run` by job, contain everything that the
    /// sums of a day need. The one of `run` is for queries that name no other column, not even
    /// `outcome`: only then SQLite reads nothing but the index, which takes a quarter less time.
    ///
    /// A row of `pause` is a pause that ended; the current one is in the job's own row.
    ///
    /// The rows of `fleet` and `fleet_value` tell whether the store that a fleet shares is the one
    /// that this machine knows, and what comes back if it is lost. A row of `fleet_run` is a run that this machine claimed there, whose
    /// end is not there yet.
    private static let first = """
        CREATE TABLE identity (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            id TEXT NOT NULL,
            generation INTEGER NOT NULL CHECK (generation >= 0)
        ) STRICT;
        INSERT INTO identity (one, id, generation) VALUES (1, lower(hex(randomblob(16))), 0);
        CREATE TABLE instance (
            id INTEGER PRIMARY KEY,
            boot_id TEXT NOT NULL,
            began_us INTEGER NOT NULL, began_awake_ns INTEGER NOT NULL, began_boot_ns INTEGER NOT NULL,
            ended_us INTEGER, ended_awake_ns INTEGER, ended_boot_ns INTEGER
        ) STRICT;
        CREATE TABLE job (
        \(jobColumns("accrued_ns >= 0"))
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE staged_job (
        \(jobColumns("accrued_ns >= 0"))
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE staging (is_applied INTEGER PRIMARY KEY) STRICT;
        CREATE TABLE run (
            id INTEGER PRIMARY KEY,
            job TEXT NOT NULL,
            owner TEXT NOT NULL,
            scheduled_us INTEGER NOT NULL,
            attempt INTEGER NOT NULL CHECK (attempt >= 1),
            missed INTEGER NOT NULL,
            cause TEXT,
            active_ns INTEGER NOT NULL,
            boot_id TEXT NOT NULL,
            recorded_us INTEGER NOT NULL,
            began_us INTEGER,
            ended_us INTEGER,
            outcome TEXT,
            failed INTEGER NOT NULL DEFAULT 0,
            elapsed_us INTEGER, user_us INTEGER, system_us INTEGER, peak_bytes INTEGER,
            tail BLOB,
            UNIQUE (job, scheduled_us, attempt)
        ) STRICT;
        CREATE INDEX run_open ON run (owner) WHERE outcome IS NULL;
        CREATE INDEX run_ended ON run (ended_us) WHERE outcome IS NOT NULL;
        CREATE INDEX run_of_job ON run (owner, ended_us, elapsed_us) WHERE ended_us IS NOT NULL;
        CREATE INDEX run_failed ON run (ended_us) WHERE failed = 1;
        CREATE INDEX run_failed_of_job ON run (owner, ended_us) WHERE failed = 1;
        CREATE TABLE skip (
            id INTEGER PRIMARY KEY,
            job TEXT NOT NULL,
            reason TEXT NOT NULL,
            blocked_by TEXT,
            count INTEGER NOT NULL CHECK (count >= 1),
            first_us INTEGER NOT NULL, last_us INTEGER NOT NULL,
            at_us INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX skip_at ON skip (at_us);
        CREATE INDEX skip_of_job ON skip (job, at_us, count);
        CREATE TABLE pause (
            job TEXT NOT NULL,
            since_us INTEGER NOT NULL,
            ended_us INTEGER NOT NULL,
            paused_by TEXT NOT NULL,
            ended_by TEXT NOT NULL,
            note TEXT,
            until_us INTEGER,
            with_run INTEGER NOT NULL,
            PRIMARY KEY (job, since_us)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX pause_ended ON pause (ended_us);
        CREATE TABLE fleet (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            cluster TEXT,
            identity TEXT,
            revision INTEGER NOT NULL CHECK (revision >= 0),
            drained INTEGER NOT NULL CHECK (drained IN (0, 1))
        ) STRICT;
        CREATE TABLE fleet_value (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            modified INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE fleet_run (
            job TEXT NOT NULL,
            scheduled_us INTEGER NOT NULL,
            attempt INTEGER NOT NULL CHECK (attempt >= 1),
            value TEXT NOT NULL,
            PRIMARY KEY (job, scheduled_us, attempt)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE incident (
            job TEXT NOT NULL,
            notifier TEXT NOT NULL,
            kind TEXT NOT NULL,
            since_us INTEGER NOT NULL,
            count INTEGER NOT NULL CHECK (count >= 0),
            notified_us INTEGER,
            PRIMARY KEY (job, notifier, kind)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE message (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            notifier TEXT NOT NULL,
            created_us INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state = 'waiting' OR state = 'sent' OR state = 'dead'),
            attempts INTEGER NOT NULL CHECK (attempts >= 0),
            next_us INTEGER,
            error TEXT,
            sent_us INTEGER
        ) STRICT;
        CREATE INDEX message_waiting ON message (id) WHERE state = 'waiting';
        CREATE INDEX message_of_notifier ON message (notifier);
        CREATE INDEX message_failed ON message (notifier) WHERE error IS NOT NULL;
        CREATE TABLE notification (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            notifier TEXT NOT NULL,
            kind TEXT NOT NULL,
            job TEXT,
            run TEXT,
            at_us INTEGER NOT NULL,
            outcome TEXT,
            failed_in_a_row INTEGER NOT NULL,
            since_us INTEGER,
            is_repeat INTEGER NOT NULL,
            will_retry INTEGER NOT NULL,
            elapsed_us INTEGER, user_us INTEGER, system_us INTEGER, peak_bytes INTEGER,
            skip_reason TEXT,
            recovered_from TEXT,
            message INTEGER,
            owner TEXT
        ) STRICT;
        CREATE INDEX notification_of_message ON notification (message);
        CREATE INDEX notification_of_job ON notification (owner, notifier, kind, at_us, message);
        """

    /// A run whose row is not `released` waits, and no runner has heard of it. A run of a version
    /// that did not know the difference may have started. A database `is_restored` from a copy until
    /// an instance of the daemon has saved its records.
    ///
    /// A record of a firing that was decided ahead of the clocks is of an instant before its grid point
    /// (`JobEntry.record`). SQLite changes the rule of a column only with its table.
    private static let second = """
        ALTER TABLE run ADD COLUMN released INTEGER NOT NULL DEFAULT 1
            CHECK (released = 0 OR released = 1);
        ALTER TABLE identity ADD COLUMN is_restored INTEGER NOT NULL DEFAULT 0;
        """ + ["job", "staged_job"].map { replacement(of: $0) }.joined()

    /// `chain` has the ends of other jobs' runs after which a job has not run, a line for each. The run
    /// that another one caused has that one's identity in `cause_run`: one of each job and attempt.
    private static let third = """
        ALTER TABLE job ADD COLUMN chain TEXT;
        ALTER TABLE staged_job ADD COLUMN chain TEXT;
        ALTER TABLE run ADD COLUMN cause_run TEXT;
        CREATE UNIQUE INDEX run_caused ON run (cause_run, job, attempt) WHERE cause_run IS NOT NULL;
        """

    /// The hold of the machine, in at most one row. How many runs a job had, if their number is limited.
    private static let fourth = """
        ALTER TABLE job ADD COLUMN limited_runs INTEGER NOT NULL DEFAULT 0 CHECK (limited_runs >= 0);
        ALTER TABLE job ADD COLUMN limited_successes INTEGER NOT NULL DEFAULT 0
            CHECK (limited_successes >= 0);
        ALTER TABLE staged_job ADD COLUMN limited_runs INTEGER NOT NULL DEFAULT 0
            CHECK (limited_runs >= 0);
        ALTER TABLE staged_job ADD COLUMN limited_successes INTEGER NOT NULL DEFAULT 0
            CHECK (limited_successes >= 0);
        CREATE TABLE hold (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            since_us INTEGER NOT NULL, since_awake_ns INTEGER NOT NULL, since_boot_ns INTEGER NOT NULL,
            boot_id TEXT NOT NULL,
            instance INTEGER NOT NULL,
            held_by TEXT NOT NULL,
            note TEXT,
            until_us INTEGER,
            with_run INTEGER NOT NULL CHECK (with_run = 0 OR with_run = 1)
        ) STRICT;
        """

    private static func replacement(of table: String) -> String {
        """

        CREATE TABLE signed_\(table) (
        \(jobColumns("accrued_ns >= -31000000"))
        ) STRICT, WITHOUT ROWID;
        INSERT INTO signed_\(table) SELECT * FROM \(table);
        DROP TABLE \(table);
        ALTER TABLE signed_\(table) RENAME TO \(table);
        """
    }
}
