// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "CSpawn.h"

/// Of a function of the child: no instrumentation, since what it would count in is not there.
#if defined(__clang__)
#define CHILD __attribute__((no_profile_instrument_function, no_sanitize("address", "thread", "undefined")))
#else
#define CHILD
#endif

/// What a child says of its set-up, in memory it shares with its parent.
typedef struct cspawn_launch {
    /// The child's entry of its list of robust futexes (set_robust_list(2)): its address alone counts.
    struct cspawn_launch *next;
    /// The child's number while it sets itself up; the kernel puts LAUNCH_OVER here, when the child runs its
    /// program or is gone. 0 before its first step.
    uint32_t word;
    /// Whether it has a table of descriptors of its own.
    uint32_t has_left;
    /// The step that failed, with its error and its `item` of `cspawn_failure`.
    uint32_t step;
    int32_t error;
    int32_t item;
} cspawn_launch;

/// FUTEX_OWNER_DIED of <linux/futex.h>.
#define LAUNCH_OVER 0x40000000U

/// The texts a child needs. They are not constants of its code: those are in the midst of everything this program
/// has written into its data, and it would get a copy of all that.
typedef struct {
    char oom_score[sizeof "/proc/self/oom_score_adj"];
    char descriptors[sizeof "/proc/self/fd"];
    char root[sizeof "/"];
    char zero[sizeof "0"];
} child_texts;
#define CHILD_TEXTS ((child_texts){"/proc/self/oom_score_adj", "/proc/self/fd", "/", "0"})

/// What a child needs beside the request.
typedef struct {
    child_texts texts;
    const cspawn_request *request;
    cspawn_launch *launch;
    /// CLOCK_BOOTTIME right before it was made, in nanoseconds.
    int64_t earliest;
    /// Whether it begins with a short time slice, which it has to give up.
    bool has_short_slice;
    /// Whether it begins with another adjustment for the OOM killer than 0, or with some processors alone.
    bool has_oom_score, has_affinity;
} child_order;

/// Becomes the program that is asked for, or says why not and exits. It makes system calls and nothing else: of
/// the parent's memory it has its stack, its own code, and what `order` leads to.
__attribute__((visibility("hidden"))) _Noreturn void cspawn_be_child(const child_order *order);

/// The same for a child of `timerd-session`, which was set up like any other and has all of its parent's memory: it
/// stays in the process group, the control group and the session of keys.
__attribute__((visibility("hidden"))) _Noreturn void cspawn_be_child_of_session(const child_order *order);
