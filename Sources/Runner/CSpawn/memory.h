// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>

/// Attributes that a child inherits and that are not the default.
typedef struct {
    /// Whether there is an OOM score adjustment other than 0, a restriction to some processors, or a scheduling policy
    /// other than SCHED_OTHER.
    bool has_oom_score, has_affinity, has_policy;
} cspawn_inherited;

/// Marks this process's memory so that a child created by clone(2) without CLONE_VM gets a copy of only what it needs:
/// the code of the child and the memory at these two addresses. Copying the rest, in the child and at each page that
/// this process writes to afterwards, would cost three times as much as everything else in a start.
///
/// The calling thread gives up its restartable sequences (rseq(2)) with the first call: a child inherits them, and the
/// kernel would write to the memory of the thread, which the child does not have, and end the child. If the thread
/// cannot give them up, children get a copy of the memory of the thread.
///
/// It scans the memory of this process from time to time, because the memory grows. Memory mapped since the last scan
/// is copied as usual, except what the heap has grown by (brk(2)), which is marked before each start. At each scan it
/// also looks for attributes of this process that a child has to reset.
///
/// Call it before each start. It is not thread-safe: `spawn.c` calls it with its lock held.
void cspawn_prepare_memory(const void *first, const void *second, cspawn_inherited *inherited);

/// Makes the next call of `cspawn_prepare_memory` scan.
void cspawn_rescan_memory(void);
