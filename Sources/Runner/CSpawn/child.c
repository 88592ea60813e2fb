// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// What a child does after the fork and before it executes its program. It has its own memory, with only a small part of
// its parent's, so its parent never waits for it. This code cannot call a function of the C library or use a variable
// or a constant of the parent, not even a string. It must not contain what a compiler turns into a call or a constant,
// such as clearing an array. HouseTests check the compiled code.

#define _GNU_SOURCE

#include "child.h"
#include "confine.h"
#include "priority.h"
#include "raw.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

/// The kernel's signals are 1 to 64; its masks have a bit for each.
enum { SIGNALS = 64 };

/// The most supplementary groups that a user may be in.
enum { CSPAWN_GROUPS_MAX = 1024 };

/// As in <linux/futex.h>.
typedef struct {
    void *list;
    long futex_offset;
    void *pending;
} robust_head;

/// struct rlimit64 of prlimit(2).
typedef struct {
    uint64_t soft, hard;
} raw_limit;

CHILD static _Noreturn void child_fail(const child_plan *plan, cspawn_step step, long error) {
    plan->launch->error = (int32_t)-error;
    __atomic_store_n(&plan->launch->step, (uint32_t)step, __ATOMIC_RELEASE);
    for (;;) raw1(SYS_exit_group, 127);
}

CHILD static void check(const child_plan *plan, cspawn_step step, long result) {
    if (result < 0) child_fail(plan, step, result);
}

/// Makes the kernel set a bit in the shared word when this process executes its program or ends: it does that for every
/// robust futex that the process holds then. A pipe that is closed on exec would tell the same, but would need two
/// descriptors for each start and a system call to read it.
CHILD static void register_launch_futex(const child_plan *plan, robust_head *head, long pid) {
    cspawn_launch *launch = plan->launch;
    head->list = &launch->next;
    head->futex_offset = (long)offsetof(cspawn_launch, word) - (long)offsetof(cspawn_launch, next);
    head->pending = NULL;
    launch->next = (cspawn_launch *)head;
    __atomic_store_n(&launch->word, (uint32_t)pid, __ATOMIC_RELEASE);
    // If this fails, the parent notices the end of the set-up only when the process ends.
    raw2(SYS_set_robust_list, head, sizeof *head);
}

/// Records the id of this process before it does anything else. It is one write: a process that is killed has written
/// all of it or nothing.
CHILD static void write_record(const child_plan *plan, long pid) {
    const cspawn_request *request = plan->request;
    if (request->record_file < 0) return;
    struct timespec now;
    raw2(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    cspawn_run_record record;
    record.stage = CSPAWN_RECORD_SPAWNED;
    record.pid = (pid_t)pid;
    record.earliest = plan->earliest;
    record.latest = now.tv_sec * 1000000000L + now.tv_nsec;
    long count = raw4(SYS_pwrite64, request->record_file, &record, sizeof record, request->record_offset);
    check(plan, CSPAWN_STEP_RECORD, count == (long)sizeof record ? 0 : count < 0 ? count : -EIO);
}

/// The child starts with the descriptor table of its parent and copies only the part that it needs: copying and closing
/// the descriptors of a thousand other runs would take longer than everything else. The child must not open or close a
/// descriptor before this, and until then the parent closes none of those that it passed.
CHILD static long unshare_descriptors(const cspawn_request *request) {
    int last = 2;
    if (request->input > last) last = request->input;
    if (request->output > last) last = request->output;
    if (request->error > last) last = request->error;
    if (request->control_group > last) last = request->control_group;
    if (request->passed > last) last = request->passed;
    const unsigned unshare_first = 1U << 1;  // CLOSE_RANGE_UNSHARE
    if (raw3(SYS_close_range, (unsigned)last + 1, ~0U, unshare_first) == 0) return 0;
    // Before Linux 5.9, or if the call is filtered, copy the whole table.
    return raw1(SYS_unshare, CLONE_FILES);
}

/// Resets these signals to their default, which is all zeros for the kernel. The code of the parent's signal handlers
/// is not in this memory, and the program would inherit that a signal is ignored.
CHILD static long reset_signals(uint64_t signals) {
    uint64_t plain[4];
    for (int index = 0; index < 4; index++) ((volatile uint64_t *)plain)[index] = 0;
    for (; signals != 0; signals &= signals - 1) {
        int number = __builtin_ctzll(signals) + 1;
        long result = raw4(SYS_rt_sigaction, number, plain, NULL, SIGNALS / 8);
        if (result < 0) return result;
    }
    return 0;
}

/// The fallback if close_range(2) does not exist (before Linux 5.9) or is filtered: it closes what /proc lists from
/// `first` on, or every number if /proc is not available.
CHILD static long close_listed(const child_plan *plan, int first) {
    // Frees a number for the listing's own descriptor, in case the table is full.
    raw1(SYS_close, first);
    long listing = raw4(SYS_openat, AT_FDCWD, plan->texts.descriptors, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (listing < 0) {
        raw_limit limit;
        long result = raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
        if (result < 0) return result;
        for (uint64_t number = (uint64_t)first; number < limit.soft; number++) raw1(SYS_close, number);
        return 0;
    }
    _Alignas(struct dirent64) char entries[1024];
    long size;
    while ((size = raw3(SYS_getdents64, listing, entries, sizeof entries)) > 0) {
        for (long at = 0; at < size;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            int number = 0;
            for (const char *digit = entry->d_name; *digit >= '0' && *digit <= '9'; digit++) {
                number = number * 10 + (*digit - '0');
            }
            if (number >= first && number != listing) raw1(SYS_close, number);
            at += entry->d_reclen;
        }
    }
    raw1(SYS_close, listing);
    return size;
}

/// Moves the descriptors to 0, 1, 2 and 3 and closes all others: this program's own are closed on exec, but not those
/// that it inherited or a library opened. A descriptor whose number is needed for another one is moved first.
CHILD static long place_descriptors(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    int first_closed = 3;
    long passed = request->passed;
    if (passed >= 0) {
        first_closed = 4;
        if (passed <= 3) passed = raw3(SYS_fcntl, passed, F_DUPFD_CLOEXEC, 4);
        if (passed < 0) return passed;
    }
    int wanted[3];
    wanted[0] = request->input;
    wanted[1] = request->output;
    wanted[2] = request->error;
    for (int place = 0; place < 3; place++) {
        if (wanted[place] >= 3) continue;
        long moved = raw3(SYS_fcntl, wanted[place], F_DUPFD_CLOEXEC, 3);
        if (moved < 0) return moved;
        wanted[place] = (int)moved;
    }
    for (int place = 0; place < 3; place++) {
        long result = raw3(SYS_dup3, wanted[place], place, 0);
        if (result < 0) return result;
    }
    if (first_closed == 4) {
        long result = raw3(SYS_dup3, passed, 3, 0);
        if (result < 0) return result;
    }
    long result = raw3(SYS_close_range, (unsigned)first_closed, ~0U, 0U);
    return result == -ENOSYS || result == -EPERM ? close_listed(plan, first_closed) : result;
}

/// Sets a soft limit that the daemon has changed for itself: with its high limit of open files, programs that use
/// select(2) could fail. This comes after the descriptors are placed, because none can be moved to a number above the
/// limit.
CHILD static long set_soft_limit(int resource, uint64_t most) {
    raw_limit limit;
    long result = raw4(SYS_prlimit64, 0, resource, NULL, &limit);
    if (result < 0) return result;
    limit.soft = most < limit.hard ? most : limit.hard;
    return raw4(SYS_prlimit64, 0, resource, &limit, NULL);
}

/// The highest limit of open files that the kernel allows any process, fs.nr_open; UINT64_MAX if it cannot be read.
CHILD static uint64_t highest_open_files(const child_plan *plan) {
    long file = raw4(SYS_openat, AT_FDCWD, plan->texts.open_files_max, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return UINT64_MAX;
    char digits[24];
    long count = raw3(SYS_read, file, digits, sizeof digits);
    raw1(SYS_close, file);
    uint64_t number = 0;
    for (long at = 0; at < count && digits[at] >= '0' && digits[at] <= '9'; at++) {
        number = number * 10 + (uint64_t)(digits[at] - '0');
    }
    return number > 0 ? number : UINT64_MAX;
}

CHILD static void lower(raw_limit *limit, uint64_t most) {
    if (limit->soft > most) limit->soft = most;
    if (limit->hard > most) limit->hard = most;
}

/// Sets a limit of the job, or the highest one that this process may set, as systemd and pam_limits(8) do: a hard limit
/// can be raised only with a privilege, and no process can have a limit of open files above fs.nr_open.
CHILD static long set_limit(const child_plan *plan, const cspawn_limit *wanted) {
    raw_limit limit, current;
    limit.soft = wanted->soft;
    limit.hard = wanted->hard;
    long result = raw4(SYS_prlimit64, 0, wanted->resource, &limit, NULL);
    if (result == -EPERM && wanted->resource == RLIMIT_NOFILE) {
        lower(&limit, highest_open_files(plan));
        result = raw4(SYS_prlimit64, 0, wanted->resource, &limit, NULL);
    }
    if (result != -EPERM) return result;
    result = raw4(SYS_prlimit64, 0, wanted->resource, NULL, &current);
    if (result < 0) return result;
    lower(&limit, current.hard);
    return raw4(SYS_prlimit64, 0, wanted->resource, &limit, NULL);
}

/// Sets the limits that the job declares. Raising a hard limit needs a privilege, so this comes before the privileges
/// are dropped.
CHILD static void set_limits(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    int32_t *which = &plan->launch->item;
    *which = -1;
    if (request->open_files != 0) {
        check(plan, CSPAWN_STEP_LIMITS, set_soft_limit(RLIMIT_NOFILE, request->open_files));
    }
    if (request->data_bytes != 0) {
        check(plan, CSPAWN_STEP_LIMITS, set_soft_limit(RLIMIT_DATA, request->data_bytes));
    }
    for (*which = 0; *which < request->limit_count; ++*which) {
        check(plan, CSPAWN_STEP_LIMITS, set_limit(plan, &request->limits[*which]));
    }
}

/// Whether two lists contain the same numbers, in any order; some kernels sort them.
CHILD static bool has_same_groups(const gid_t *left, const gid_t *right, int count) {
    for (int index = 0; index < count; index++) {
        int there = 0, here = 0;
        for (int other = 0; other < count; other++) {
            if (right[other] == left[index]) there++;
            if (left[other] == left[index]) here++;
        }
        if (there != here) return false;
    }
    return true;
}

/// Switches to the user of the run. Each id is read back, because a job that runs as the wrong user is worse than one
/// that does not run.
CHILD static void switch_user(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    int count = request->group_count;
    // An array of NGROUPS_MAX would not fit on every stack, and no real user is in that many groups.
    gid_t groups[CSPAWN_GROUPS_MAX];
    if (count > CSPAWN_GROUPS_MAX) child_fail(plan, CSPAWN_STEP_GROUPS, -E2BIG);
    check(plan, CSPAWN_STEP_GROUPS, raw2(SYS_setgroups, count, request->groups));
    long found = raw2(SYS_getgroups, CSPAWN_GROUPS_MAX, groups);
    if (found != count || !has_same_groups(groups, request->groups, count)) {
        child_fail(plan, CSPAWN_STEP_GROUPS, -EPERM);
    }
    gid_t gids[3];
    gid_t group = request->group;
    check(plan, CSPAWN_STEP_GROUP, raw3(SYS_setresgid, group, group, group));
    if (raw3(SYS_getresgid, &gids[0], &gids[1], &gids[2]) != 0 || gids[0] != group
        || gids[1] != group || gids[2] != group) {
        child_fail(plan, CSPAWN_STEP_GROUP, -EPERM);
    }
    uid_t uids[3];
    uid_t user = request->user;
    check(plan, CSPAWN_STEP_USER, raw3(SYS_setresuid, user, user, user));
    if (raw3(SYS_getresuid, &uids[0], &uids[1], &uids[2]) != 0 || uids[0] != user
        || uids[1] != user || uids[2] != user
        // The process must not be able to become root again.
        || (user != 0 && raw3(SYS_setresuid, -1L, 0, -1L) == 0)) {
        child_fail(plan, CSPAWN_STEP_USER, -EPERM);
    }
}

/// All processes of a session can read the keys in its session keyring, so each run joins a new one. This happens
/// before the switch of user, because a user can own only a few hundred keys (keyrings(7)), fewer than it can have
/// runs; the processes of the session can use the keys in it in any case. If the kernel has no keys, or a container
/// forbids their use, there are no keys to read.
CHILD static long join_new_keyring(void) {
    long result = raw2(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    return result == -ENOSYS || result == -EPERM || result == -EACCES || result > 0 ? 0 : result;
}

/// Executes the first candidate that exists. As in execvp(3), a file that does not exist or may not be executed is
/// skipped, and EACCES takes precedence as the error in the end. Unlike execvp(3), a file that the kernel cannot
/// execute (ENOEXEC) is not passed to a shell: a job that needs a shell names one.
CHILD static long exec_first(const cspawn_request *request) {
    bool was_denied = false;
    long result = -ENOENT;
    for (const char *const *path = request->candidates; *path != NULL; path++) {
        result = raw3(SYS_execve, *path, request->arguments, request->environment);
        if (result == -EACCES) {
            was_denied = true;
        } else if (result != -ENOENT && result != -ENOTDIR && result != -ESTALE
                   && result != -ENODEV && result != -ETIMEDOUT) {
            // The last three errors come from a directory of PATH on a file server that is not available.
            return result;
        }
    }
    return was_denied ? -EACCES : result;
}

/// Restricts the capabilities to those of the job, which may be fewer or more than its user has. This comes before the
/// switch of the user, which removes the privilege to do it.
CHILD static void limit_privileges(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    if (!request->has_capabilities) return;
    check(plan, CSPAWN_STEP_CAPABILITIES,
          limit_capabilities(request->capabilities, request->switches_user, &plan->launch->item));
}

/// Sets the capabilities, the security labels and `no_new_privileges`, after the switch of the user, which would change
/// the capabilities again.
CHILD static void set_privileges(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    if (request->has_capabilities) {
        check(plan, CSPAWN_STEP_CAPABILITIES, set_capabilities(request->capabilities));
    }
    int32_t *which = &plan->launch->item;
    for (*which = 0; *which < request->label_count; ++*which) {
        const cspawn_label *label = &request->labels[*which];
        long result = write_label(label);
        if (!label->is_optional) check(plan, CSPAWN_STEP_LABEL, result);
    }
    // This comes last, because a security module may allow less when the process cannot get new privileges.
    if (request->has_no_new_privileges) {
        check(plan, CSPAWN_STEP_NO_NEW_PRIVILEGES, raw2(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1));
    }
}

CHILD static void enter_directory(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    long result = raw1(SYS_chdir, request->directory);
    if (result == 0) return;
    if (request->may_run_in_root && raw1(SYS_chdir, plan->texts.root) == 0) return;
    child_fail(plan, CSPAWN_STEP_DIRECTORY, result);
}

/// Waits until the program may be executed. The kernel may add the timer slack of the process to each wait (prctl(2),
/// PR_SET_TIMERSLACK), so it is the least meanwhile.
CHILD static void wait_for_start(const cspawn_request *request) {
    if (request->not_before <= 0) return;
    struct timespec until;
    until.tv_sec = request->not_before / 1000000000;
    until.tv_nsec = request->not_before % 1000000000;
    raw2(SYS_prctl, PR_SET_TIMERSLACK, 1);
    while (raw4(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == -EINTR) {}
}

/// The last part of every set-up: it switches the user and executes the program.
CHILD static _Noreturn void become_program(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    limit_privileges(plan);
    if (request->switches_user) switch_user(plan);
    set_privileges(plan);
    // From here on the user may send it signals, and none of them may cause a core dump of what it was before.
    raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
    raw1(SYS_umask, request->umask);
    // The process enters the directory as the new user, because on a file server only that user may have access, and
    // before it scans for the program, so that a path relative to the directory is resolved there.
    enter_directory(plan);
    // Dispatch queues block SIGTERM in their threads, and execve keeps the signal mask.
    const uint64_t none = 0;
    check(plan, CSPAWN_STEP_SIGNALS,
          raw4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, SIGNALS / 8));
    wait_for_start(request);
    raw2(SYS_prctl, PR_SET_TIMERSLACK, request->timer_slack);
    child_fail(plan, CSPAWN_STEP_EXEC, exec_first(request));
}

CHILD _Noreturn void cspawn_run_child(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    robust_head head;
    long pid = raw0(SYS_getpid);
    register_launch_futex(plan, &head, pid);
    write_record(plan, pid);
    check(plan, CSPAWN_STEP_DESCRIPTORS, unshare_descriptors(request));
    __atomic_store_n(&plan->launch->has_own_descriptors, 1U, __ATOMIC_RELEASE);
    // It gets its own session and with it its own process group: a signal reaches the whole group, and the daemon's
    // terminal cannot stop or interrupt it.
    check(plan, CSPAWN_STEP_SESSION, raw0(SYS_setsid));
    check(plan, CSPAWN_STEP_SIGNALS, reset_signals(request->signals));
    check(plan, CSPAWN_STEP_NICE, apply_child_priority(plan));
    reset_inherited_attributes(plan);
    if (request->control_group >= 0) {
        check(plan, CSPAWN_STEP_CONTROL_GROUP, raw3(SYS_write, request->control_group, plan->texts.zero, 1));
    }
    // This comes after the control group, because a kernel may refuse to move a process with a realtime policy.
    check(plan, CSPAWN_STEP_CPU_POLICY, set_cpu_policy(plan));
    check(plan, CSPAWN_STEP_IO_PRIORITY, set_io_priority(request));
    check(plan, CSPAWN_STEP_OOM_SCORE, set_oom_score(plan));
    check(plan, CSPAWN_STEP_DESCRIPTORS, place_descriptors(plan));
    set_limits(plan);
    check(plan, CSPAWN_STEP_KEYS, join_new_keyring());
    become_program(plan);
}

CHILD _Noreturn void cspawn_run_session_child(const child_plan *plan) {
    const cspawn_request *request = plan->request;
    check(plan, CSPAWN_STEP_SIGNALS, reset_signals(request->signals));
    // A value that a PAM module set stays, unless the job declares one.
    if (request->nice != 0) check(plan, CSPAWN_STEP_NICE, apply_child_priority(plan));
    check(plan, CSPAWN_STEP_CPU_POLICY, set_cpu_policy(plan));
    if (request->io_priority != 0) check(plan, CSPAWN_STEP_IO_PRIORITY, set_io_priority(request));
    check(plan, CSPAWN_STEP_OOM_SCORE, set_oom_score(plan));
    check(plan, CSPAWN_STEP_DESCRIPTORS, place_descriptors(plan));
    set_limits(plan);
    become_program(plan);
}
