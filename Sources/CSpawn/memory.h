// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>

/// Has a child that is made by clone(2) without CLONE_VM get only what it needs of this process's memory: the
/// calling thread's stack, its own code, and what is at these two addresses. What a copy of
/// the rest would cost, in the child and at each page that this process then writes to, is three times all else.
///
/// It looks through this process's memory now and then, since it grows; what came since then is copied as usual.
/// Every so often it looks as well whether this process has another adjustment for the OOM killer than 0, and
/// whether it may run on some processors alone.
///
/// To be called under a lock, before each start.
void cspawn_prepare_memory(const void *first, const void *second, bool *has_oom_score, bool *has_affinity);

/// Has `cspawn_prepare_memory` look the next time.
void cspawn_look_at_memory(void);
