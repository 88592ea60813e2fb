// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "CSpawn.h"
#include "memory.h"

/// Attributes of a function that runs in the child. It has no instrumentation, because the counters are in memory that
/// the child does not have, and no stack protector, whose value is in the memory of a thread.
#if defined(__clang__)
#define CHILD                                                                                        \
    __attribute__((no_profile_instrument_function, no_sanitize("address", "thread", "undefined"), \
                   no_stack_protector))
#else
#define CHILD
#endif

/// What a child reports about its set-up, in memory that it shares with its parent.
typedef struct cspawn_launch {
    /// The child's entry in its list of robust futexes (set_robust_list(2)). Only its address is used.
    struct cspawn_launch *next;
    /// The child's process id while it sets itself up. The kernel sets LAUNCH_OVER here when the child executes its
    /// program or ends. 0 before the first step.
    uint32_t word;
    /// Whether it has its own descriptor table.
    uint32_t has_own_descriptors;
    /// The step that failed, its error, and `item` as in `cspawn_failure`.
    uint32_t step;
    int32_t error;
    int32_t item;
} cspawn_launch;

/// FUTEX_OWNER_DIED of <linux/futex.h>.
#define LAUNCH_OVER 0x40000000U

/// The strings that a child needs. They are not string constants: those are on the same pages as initialised data that
/// this program writes to, and the child would have to get a copy of all of it.
typedef struct {
    char oom_score[sizeof "/proc/self/oom_score_adj"];
    char descriptors[sizeof "/proc/self/fd"];
    char root[sizeof "/"];
    char zero[sizeof "0"];
    char open_files_max[sizeof "/proc/sys/fs/nr_open"];
    /// The OOM score adjustment of the process, with `oom_length` characters.
    char oom_value[sizeof "-1000"];
} child_texts;
#define CHILD_TEXTS \
    ((child_texts){"/proc/self/oom_score_adj", "/proc/self/fd", "/", "0", "/proc/sys/fs/nr_open", "0"})

/// Everything that a child needs.
typedef struct {
    child_texts texts;
    const cspawn_request *request;
    cspawn_launch *launch;
    /// CLOCK_BOOTTIME right before it was created, in nanoseconds.
    int64_t earliest;
    /// Whether it inherits a short time slice, which it has to reset.
    bool has_short_slice;
    /// What it inherits and has to reset.
    cspawn_inherited inherited;
    size_t oom_length;
} child_plan;

/// A plan for this request, without a launch.
__attribute__((visibility("hidden"))) child_plan cspawn_make_plan(const cspawn_request *request);

/// Sets this process up and executes the requested program, or reports the failed step and exits. It only makes system
/// calls: of the parent's memory it has its own code and what `plan` points to.
__attribute__((visibility("hidden"))) _Noreturn void cspawn_run_child(const child_plan *plan);

/// The same for a child of `timerd-session`. `timerd-session` was set up like any other child, so this one stays in its
/// process group, control group and session keyring. It has a copy of all memory of its parent.
__attribute__((visibility("hidden"))) _Noreturn void cspawn_run_session_child(const child_plan *plan);
