// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sqlite3.h>

/// Has SQLite not count the memory it takes, which nobody asks for: for each piece of it, it would take a lock.
/// Before anything else of it is used; later it has no effect.
static inline void csqlite_count_no_memory(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
