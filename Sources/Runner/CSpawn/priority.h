// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sets the priorities of a child, whatever its parent has. This is a part of `child.c` and follows the same rules: the
// functions are static, so that the code of a child refers to nothing outside of itself.

#include "CLinux.h"
#include "child.h"
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/// Gives this process the nice value of the job and the system's default time slice, whatever its parent has: both are
/// attributes of a thread on Linux. Without the privilege to lower the nice value to 0, the process keeps that of its
/// parent. Any other value that cannot be set is an error.
CHILD static long apply_child_priority(const child_plan *plan) {
    int nice = plan->request->nice;
    if (plan->has_short_slice) {
        clinux_sched_attributes common;
        common.size = sizeof common;
        common.policy = SCHED_OTHER;
        common.flags = 0;
        common.nice = nice;
        common.priority = 0;
        common.runtime = common.deadline = common.period = 0;
        if (raw3(SYS_sched_setattr, 0, &common, 0) == 0) return 0;
        // The kernel refused the nice value, or the removal of a flag that this thread has: reset only the slice.
        if (raw4(SYS_sched_getattr, 0, &common, sizeof common, 0) == 0
            && common.policy == SCHED_OTHER) {
            common.size = sizeof common;
            common.runtime = 0;
            raw3(SYS_sched_setattr, 0, &common, 0);
        }
    }
    long result = raw3(SYS_setpriority, PRIO_PROCESS, 0, nice);
    return nice == 0 && (result == -EACCES || result == -EPERM) ? 0 : result;
}

/// Resets other attributes that a child inherits from its parent. If the privilege for one of them is missing, the
/// inherited value stays, because that is no reason to fail the job.
CHILD static void reset_inherited_attributes(const child_plan *plan) {
    if (plan->inherited.has_affinity) {
        unsigned long all[16];
        for (int index = 0; index < 16; index++) ((volatile unsigned long *)all)[index] = ~0UL;
        raw3(SYS_sched_setaffinity, 0, sizeof all, all);
    }
}

/// Sets the scheduling policy. It makes no system call if the process has the right policy already.
CHILD static long set_cpu_policy(const child_plan *plan) {
    int policy = plan->request->cpu_policy;
    if (policy == SCHED_OTHER && !plan->inherited.has_policy) return 0;
    // This is struct sched_param, which has one member.
    int priority = plan->request->cpu_priority;
    long result = raw3(SYS_sched_setscheduler, 0, policy, &priority);
    return policy == SCHED_OTHER ? 0 : result;
}

/// Sets the I/O class and level. The default, 0, is set as well, because the parent may have another one.
CHILD static long set_io_priority(const cspawn_request *request) {
    long result = raw3(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, request->io_priority);
    return request->io_priority == 0 ? 0 : result;
}

/// Sets the OOM score adjustment. It makes no system call if the process has the right one already.
CHILD static long set_oom_score(const child_plan *plan) {
    bool is_declared = plan->request->has_oom_score;
    if (!is_declared && !plan->inherited.has_oom_score) return 0;
    long file = raw4(SYS_openat, AT_FDCWD, plan->texts.oom_score, O_WRONLY | O_CLOEXEC, 0);
    if (file < 0) return is_declared ? file : 0;
    long count = raw3(SYS_write, file, plan->texts.oom_value, plan->oom_length);
    raw1(SYS_close, file);
    return is_declared && count < 0 ? count : 0;
}
