// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// What a child does after the fork and before it executes its program. It has its own memory, with only a small part
// of its parent's, so its parent never waits for it. This code cannot call a function of the C library or use a
// variable or a constant of the parent, not even a string, and must not contain what a compiler turns into a call or
// a constant, such as clearing an array. HouseTests look at the compiled code.

#define _GNU_SOURCE

#include "CLinux.h"
#include "child.h"
#include "confine.h"
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

/// How many signals the kernel knows, 1 and up; its masks have a bit for each.
enum { SIGNALS = 64 };

/// How many supplementary groups a user may be in.
enum { CSPAWN_GROUPS_MAX = 1024 };

/// The common timer slack (prctl(2), PR_SET_TIMERSLACK), in nanoseconds.
enum { TIMER_SLACK = 50000 };

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

CHILD static _Noreturn void leave(const child_order *order, cspawn_step step, long error) {
    order->launch->error = (int32_t)-error;
    __atomic_store_n(&order->launch->step, (uint32_t)step, __ATOMIC_RELEASE);
    for (;;) raw1(SYS_exit_group, 127);
}

CHILD static void check(const child_order *order, cspawn_step step, long result) {
    if (result < 0) leave(order, step, result);
}

/// Has the kernel say in the shared word when this process runs its program or is gone: it does so for every robust
/// futex that is held then, and no other trace of a program is left behind without somebody to read it.
CHILD static void announce(const child_order *order, robust_head *head, long pid) {
    cspawn_launch *launch = order->launch;
    head->list = &launch->next;
    head->futex_offset = (long)offsetof(cspawn_launch, word) - (long)offsetof(cspawn_launch, next);
    head->pending = NULL;
    launch->next = (cspawn_launch *)head;
    __atomic_store_n(&launch->word, (uint32_t)pid, __ATOMIC_RELEASE);
    // Were it refused, the end of the set-up would be seen at the end of the process.
    raw2(SYS_set_robust_list, head, sizeof *head);
}

/// Records the id of this process before it does anything else. It is one write: a process that is killed has written
/// all of it or nothing.
CHILD static void write_mark(const child_order *order, long pid) {
    const cspawn_request *request = order->request;
    if (request->mark_file < 0) return;
    struct timespec now;
    raw2(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    cspawn_mark mark;
    mark.stage = CSPAWN_MARK_PROCESS;
    mark.pid = (pid_t)pid;
    mark.earliest = order->earliest;
    mark.latest = now.tv_sec * 1000000000L + now.tv_nsec;
    long count = raw4(SYS_pwrite64, request->mark_file, &mark, sizeof mark, request->mark_offset);
    check(order, CSPAWN_STEP_MARK, count == (long)sizeof mark ? 0 : count < 0 ? count : -EIO);
}

/// The child begins with its parent's table of descriptors itself, and takes a copy of only what it needs:
/// copying and closing those of a thousand other runs would take longer than all the rest. Nothing may be
/// opened or closed before; and until then the parent closes none of what this one is handed.
CHILD static long leave_table(const cspawn_request *request) {
    int last = 2;
    if (request->input > last) last = request->input;
    if (request->output > last) last = request->output;
    if (request->error > last) last = request->error;
    if (request->control_group > last) last = request->control_group;
    if (request->passed > last) last = request->passed;
    const unsigned unshare_first = 1U << 1;  // CLOSE_RANGE_UNSHARE
    if (raw3(SYS_close_range, (unsigned)last + 1, ~0U, unshare_first) == 0) return 0;
    // Before Linux 5.9, or filtered: all of it.
    return raw1(SYS_unshare, CLONE_FILES);
}

/// A handler of the parent's is not in this memory; and a disposition that is ignored would be inherited by the
/// program. All zeroes are the default.
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

/// Gives this process the nice value of a job and the system's own time slice, whatever its parent's are: they are a
/// thread's on Linux. Without the privilege to lower the value to 0 the parent's stays; any other that cannot be had
/// is an error.
CHILD static long take_turns(const child_order *order) {
    int nice = order->request->nice;
    if (order->has_short_slice) {
        clinux_sched_attributes common;
        common.size = sizeof common;
        common.policy = SCHED_OTHER;
        common.flags = 0;
        common.nice = nice;
        common.priority = 0;
        common.runtime = common.deadline = common.period = 0;
        if (raw3(SYS_sched_setattr, 0, &common, 0) == 0) return 0;
        // The value is refused, or a flag we have: the slice by itself.
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

/// What the kernel would hand on of the parent's treatment. Where a privilege for it is missing, it stays: no job is
/// worth less for it.
CHILD static void take_common_treatment(const child_order *order) {
    raw2(SYS_prctl, PR_SET_TIMERSLACK, TIMER_SLACK);
    raw3(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, 0);
    if (order->has_affinity) {
        unsigned long all[16];
        for (int index = 0; index < 16; index++) ((volatile unsigned long *)all)[index] = ~0UL;
        raw3(SYS_sched_setaffinity, 0, sizeof all, all);
    }
    if (order->has_oom_score) {
        long file = raw4(SYS_openat, AT_FDCWD, order->texts.oom_score, O_WRONLY | O_CLOEXEC, 0);
        if (file < 0) return;
        raw3(SYS_write, file, order->texts.zero, 1);
        raw1(SYS_close, file);
    }
}

/// Where close_range(2) is not known (before Linux 5.9) or filtered: what /proc lists from `first` on, else every
/// number.
CHILD static long close_listed(const child_order *order, int first) {
    // Room for the listing's own descriptor, however full the table is.
    raw1(SYS_close, first);
    long listing = raw4(SYS_openat, AT_FDCWD, order->texts.descriptors, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
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

/// Puts the descriptors in their places and closes all others: those of this program are closed on exec, but not
/// what it inherited or a library opened. One that is in the way of another is moved first.
CHILD static long place_descriptors(const child_order *order) {
    const cspawn_request *request = order->request;
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
    return result == -ENOSYS || result == -EPERM ? close_listed(order, first_closed) : result;
}

/// What the daemon raised for itself would break programs that use select(2). After the descriptors: none
/// could be moved to a number beyond it.
CHILD static long set_soft_limit(int resource, uint64_t most) {
    raw_limit limit;
    long result = raw4(SYS_prlimit64, 0, resource, NULL, &limit);
    if (result < 0) return result;
    limit.soft = most < limit.hard ? most : limit.hard;
    return raw4(SYS_prlimit64, 0, resource, &limit, NULL);
}

/// The limits a job declares. Raising a hard one takes a privilege, so this comes before that is given up.
CHILD static void set_limits(const child_order *order) {
    const cspawn_request *request = order->request;
    int32_t *which = &order->launch->item;
    *which = -1;
    if (request->open_files != 0) {
        check(order, CSPAWN_STEP_LIMITS, set_soft_limit(RLIMIT_NOFILE, request->open_files));
    }
    if (request->data_bytes != 0) {
        check(order, CSPAWN_STEP_LIMITS, set_soft_limit(RLIMIT_DATA, request->data_bytes));
    }
    for (*which = 0; *which < request->limit_count; ++*which) {
        const cspawn_limit *wanted = &request->limits[*which];
        raw_limit limit;
        limit.soft = wanted->soft;
        limit.hard = wanted->hard;
        check(order, CSPAWN_STEP_LIMITS, raw4(SYS_prlimit64, 0, wanted->resource, &limit, NULL));
    }
}

/// Whether two lists hold the same numbers, in any order; some kernels sort them.
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

/// Each is looked at again, since a job that runs as somebody else than was asked for is worse than one that does not
/// run.
CHILD static void switch_user(const child_order *order) {
    const cspawn_request *request = order->request;
    int count = request->group_count;
    // Room for NGROUPS_MAX would not fit on every stack, and no user is in that many groups.
    gid_t groups[CSPAWN_GROUPS_MAX];
    if (count > CSPAWN_GROUPS_MAX) leave(order, CSPAWN_STEP_GROUPS, -E2BIG);
    check(order, CSPAWN_STEP_GROUPS, raw2(SYS_setgroups, count, request->groups));
    long found = raw2(SYS_getgroups, CSPAWN_GROUPS_MAX, groups);
    if (found != count || !has_same_groups(groups, request->groups, count)) {
        leave(order, CSPAWN_STEP_GROUPS, -EPERM);
    }
    gid_t gids[3];
    gid_t group = request->group;
    check(order, CSPAWN_STEP_GROUP, raw3(SYS_setresgid, group, group, group));
    if (raw3(SYS_getresgid, &gids[0], &gids[1], &gids[2]) != 0 || gids[0] != group
        || gids[1] != group || gids[2] != group) {
        leave(order, CSPAWN_STEP_GROUP, -EPERM);
    }
    uid_t uids[3];
    uid_t user = request->user;
    check(order, CSPAWN_STEP_USER, raw3(SYS_setresuid, user, user, user));
    if (raw3(SYS_getresuid, &uids[0], &uids[1], &uids[2]) != 0 || uids[0] != user
        || uids[1] != user || uids[2] != user
        // And there is no way back.
        || (user != 0 && raw3(SYS_setresuid, -1L, 0, -1L) == 0)) {
        leave(order, CSPAWN_STEP_USER, -EPERM);
    }
}

/// All processes of a session can read the keys in its session keyring, so each run joins a new one. This happens
/// before the switch of user, because a user can own only a few hundred keys (keyrings(7)), fewer than it can have
/// runs; the processes of the session can use the keys in it in any case. If the kernel has no keys, or a container
/// forbids their use, there are no keys to read.
CHILD static long leave_keyring(void) {
    long result = raw2(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    return result == -ENOSYS || result == -EPERM || result == -EACCES || result > 0 ? 0 : result;
}

/// The first candidate there is. As in execvp(3), one that is not there or may not be executed is passed
/// over, but EACCES is what is told in the end. Unlike there, a file the kernel cannot execute (ENOEXEC)
/// is not handed to a shell: a job that needs a shell names it.
CHILD static long exec_first(const cspawn_request *request) {
    bool was_denied = false;
    long result = -ENOENT;
    for (const char *const *path = request->candidates; *path != NULL; path++) {
        result = raw3(SYS_execve, *path, request->arguments, request->environment);
        if (result == -EACCES) {
            was_denied = true;
        } else if (result != -ENOENT && result != -ENOTDIR && result != -ESTALE
                   && result != -ENODEV && result != -ETIMEDOUT) {
            // The last three are a directory of PATH on a file server that is gone.
            return result;
        }
    }
    return was_denied ? -EACCES : result;
}

/// Takes what its user has and the program is not to have, or gives it what its user does not have. Before the switch
/// of user, which takes the privilege to do so away.
CHILD static void limit_privileges(const child_order *order) {
    const cspawn_request *request = order->request;
    if (!request->has_capabilities) return;
    check(order, CSPAWN_STEP_CAPABILITIES,
          limit_capabilities(request->capabilities, request->switches_user, &order->launch->item));
}

/// Once it is the user.
CHILD static void set_privileges(const child_order *order) {
    const cspawn_request *request = order->request;
    if (request->has_capabilities) {
        check(order, CSPAWN_STEP_CAPABILITIES, take_capabilities(request->capabilities));
    }
    int32_t *which = &order->launch->item;
    for (*which = 0; *which < request->label_count; ++*which) {
        const cspawn_label *label = &request->labels[*which];
        long result = write_label(label);
        if (!label->is_optional) check(order, CSPAWN_STEP_LABEL, result);
    }
    // As the last: a security module may allow less without new privileges.
    if (request->has_no_new_privileges) {
        check(order, CSPAWN_STEP_NO_NEW_PRIVILEGES, raw2(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1));
    }
}

CHILD static void enter_directory(const child_order *order) {
    const cspawn_request *request = order->request;
    long result = raw1(SYS_chdir, request->directory);
    if (result == 0) return;
    if (request->may_run_in_root && raw1(SYS_chdir, order->texts.root) == 0) return;
    leave(order, CSPAWN_STEP_DIRECTORY, result);
}

/// The last part of every set-up: it switches the user and executes the program.
CHILD static _Noreturn void become_program(const child_order *order) {
    const cspawn_request *request = order->request;
    limit_privileges(order);
    if (request->switches_user) switch_user(order);
    set_privileges(order);
    // From here on the user may send it signals: none of them may leave a core of what it was.
    raw2(SYS_prctl, PR_SET_DUMPABLE, 0);
    raw1(SYS_umask, request->umask);
    // As the user it is to be: on a file server only that one may get in. And before the program is looked
    // for, so that a path relative to the directory means what it says.
    enter_directory(order);
    // Dispatch queues block SIGTERM in their threads, and execve passes the mask on.
    const uint64_t none = 0;
    check(order, CSPAWN_STEP_SIGNALS,
          raw4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, SIGNALS / 8));
    leave(order, CSPAWN_STEP_EXEC, exec_first(request));
}

CHILD _Noreturn void cspawn_be_child(const child_order *order) {
    const cspawn_request *request = order->request;
    robust_head head;
    long pid = raw0(SYS_getpid);
    announce(order, &head, pid);
    write_mark(order, pid);
    check(order, CSPAWN_STEP_DESCRIPTORS, leave_table(request));
    __atomic_store_n(&order->launch->has_left, 1U, __ATOMIC_RELEASE);
    // A session, and with it a group, of its own: a signal reaches the whole group, and no terminal of the
    // daemon's can stop or interrupt it.
    check(order, CSPAWN_STEP_SESSION, raw0(SYS_setsid));
    check(order, CSPAWN_STEP_SIGNALS, reset_signals(request->signals));
    check(order, CSPAWN_STEP_NICE, take_turns(order));
    take_common_treatment(order);
    if (request->control_group >= 0) {
        check(order, CSPAWN_STEP_CONTROL_GROUP, raw3(SYS_write, request->control_group, order->texts.zero, 1));
    }
    check(order, CSPAWN_STEP_DESCRIPTORS, place_descriptors(order));
    set_limits(order);
    check(order, CSPAWN_STEP_KEYS, leave_keyring());
    become_program(order);
}

CHILD _Noreturn void cspawn_be_child_of_session(const child_order *order) {
    const cspawn_request *request = order->request;
    check(order, CSPAWN_STEP_SIGNALS, reset_signals(request->signals));
    // What a PAM module set stays, unless the job declares a value of its own.
    if (request->nice != 0) check(order, CSPAWN_STEP_NICE, take_turns(order));
    check(order, CSPAWN_STEP_DESCRIPTORS, place_descriptors(order));
    set_limits(order);
    become_program(order);
}
