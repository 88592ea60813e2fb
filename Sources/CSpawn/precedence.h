// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>
#include <stdint.h>

/// struct sched_attr of sched_setattr(2), as far as its first version goes.
typedef struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} sched_attributes;

/// Whether the calling thread has a short time slice, which a child of its begins with and has to give up.
bool cspawn_has_short_slice(void);
