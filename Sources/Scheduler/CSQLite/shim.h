// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sqlite3.h>
#include <stdint.h>
#include <time.h>

/// Makes SQLite not count the memory that it uses, because the counter needs a lock for each allocation and is never
/// read. Must be called before any other function of SQLite; later it has no effect.
static inline void csqlite_count_no_memory(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

/// The write-ahead log of a database that a connection writes to.
struct csqlite_log {
    /// How many pages it has since it last began.
    int pages;
    /// At how many a commit writes them into the database.
    int limit;
};

static inline int csqlite_note_log(void *log, sqlite3 *database, const char *schema, int pages)
{
    ((struct csqlite_log *)log)->pages = pages;
    // As SQLite's own hook does it, which this one replaces: whether it succeeded does not matter to the commit.
    if (pages >= ((struct csqlite_log *)log)->limit)
        sqlite3_wal_checkpoint(database, schema);
    return SQLITE_OK;
}

/// Has every commit of the connection note its log, which must be valid until the connection is closed. To be called
/// once it is in WAL mode (c3ref/wal_hook.html).
static inline void csqlite_watch_log(sqlite3 *database, struct csqlite_log *log)
{
    sqlite3_wal_hook(database, csqlite_note_log, log);
}

static inline int64_t csqlite_monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int csqlite_is_late(void *deadline) { return csqlite_monotonic() > (int64_t)(intptr_t)deadline; }

/// Has whatever the connection does end with SQLITE_INTERRUPT once so many nanoseconds passed. It is looked at
/// every thousand steps of SQLite's virtual machine.
static inline void csqlite_set_deadline(sqlite3 *database, int64_t nanoseconds)
{
    int64_t now = csqlite_monotonic();
    int64_t deadline = nanoseconds > INT64_MAX - now ? INT64_MAX : now + nanoseconds;
    sqlite3_progress_handler(database, 1000, csqlite_is_late, (void *)(intptr_t)deadline);
}
