// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CLinux.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The shortest time slice that the kernel allows, in nanoseconds; 0 asks for the system's default, a millisecond or
/// more.
enum { SHORT_SLICE = 100 * 1000, OWN_SLICE = 0 };

/// A bit of `flags`: neither the threads nor the children of a thread inherit its scheduling attributes (sched(7)).
enum { RESET_ON_FORK = 1 };

/// Whether this thread has a short slice, which a child inherits and has to reset.
static _Thread_local bool has_short_slice;

static int get(clinux_sched_attributes *found) {
    return (int)syscall(SYS_sched_getattr, 0, found, sizeof *found, 0U);
}

static int set(clinux_sched_attributes *wanted) {
    wanted->size = sizeof *wanted;
    return (int)syscall(SYS_sched_setattr, 0, wanted, 0U);
}

/// Reads the attributes of this thread. If an administrator chose another policy for it, there are no time slices of
/// this kind, and the policy stays.
static bool get_common(clinux_sched_attributes *own) {
    return get(own) == 0 && own->policy == SCHED_OTHER;
}

static bool set_slice(uint64_t nanoseconds) {
    clinux_sched_attributes own = {0};
    if (!get_common(&own)) return false;
    own.runtime = nanoseconds;
    return set(&own) == 0;
}

void clinux_take_short_slice(void) {
    if (set_slice(SHORT_SLICE)) has_short_slice = true;
}

bool clinux_raise_thread_priority(int nice) {
    clinux_sched_attributes own = {0};
    if (!get_common(&own)) return false;
    own.flags |= RESET_ON_FORK;
    own.nice = nice;
    own.runtime = SHORT_SLICE;
    if (set(&own) != 0) return false;
    has_short_slice = false;
    return true;
}

void clinux_restore_thread_priority(void) {
    clinux_sched_attributes own = {0};
    if (!get_common(&own)) return;
    if ((own.flags & RESET_ON_FORK) == 0) {
        // This thread got no nice value of its own, and may not change the one it has.
        clinux_take_short_slice();
        return;
    }
    own.nice = 0;
    own.runtime = SHORT_SLICE;
    own.flags &= ~(uint64_t)RESET_ON_FORK;
    if (set(&own) == 0) {
        has_short_slice = true;
        return;
    }
    // Clearing the flag needs CAP_SYS_NICE, while setting it and a lower nice value may be allowed without.
    own.flags |= RESET_ON_FORK;
    set(&own);
}

void clinux_reset_slice(void) {
    if (set_slice(OWN_SLICE)) has_short_slice = false;
}

bool clinux_has_short_slice(void) { return has_short_slice; }
