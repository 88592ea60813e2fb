// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sqlite3.h>
#include <stdint.h>
#include <time.h>

/// Has SQLite not count the memory it takes, which nobody asks for: for each piece of it, it would take a lock.
/// Before anything else of it is used; later it has no effect.
static inline void csqlite_count_no_memory(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

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
