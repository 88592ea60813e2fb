// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CSpawn.h"
#include "precedence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/// Enough for the child's few frames and whatever the kernel puts there at execve.
enum { STACK_BYTES = 64 * 1024 };

/// How many signals the kernel knows, 1 and up; its masks have a bit for each.
enum { SIGNALS = 64 };

/// How many supplementary groups a user may be in.
enum { CSPAWN_GROUPS_MAX = 1024 };

typedef struct {
    const cspawn_request *request;
    cspawn_step step;
    int error;
    int limit;
} child_context;

/// Whoever shares its memory with the parent must not return through atexit handlers or stdio.
static _Noreturn void give_up(child_context *context, cspawn_step step) {
    context->step = step;
    context->error = errno;
    _exit(127);
}

/// By the system call itself, since the C library's function refuses the two signals it keeps for its own use.
/// The kernel's structure begins with the handler, which is 0 for the default.
uint64_t cspawn_signals(void) {
    uint64_t found = 0;
    for (int number = 1; number <= SIGNALS; number++) {
        if (number == SIGKILL || number == SIGSTOP) continue;
        uintptr_t action[8] = {0};
        bool is_known = syscall(SYS_rt_sigaction, number, NULL, action, SIGNALS / 8) == 0;
        if (!is_known || action[0] != (uintptr_t)SIG_DFL) found |= UINT64_C(1) << (number - 1);
    }
    return found;
}

/// A handler of the parent's must not run in the child, which shares its memory; and a disposition that is
/// ignored would be inherited by the program. All zeroes are the default.
static int reset_signals(uint64_t signals) {
    const uint64_t plain[8] = {0};
    for (; signals != 0; signals &= signals - 1) {
        int number = __builtin_ctzll(signals) + 1;
        if (syscall(SYS_rt_sigaction, number, plain, NULL, SIGNALS / 8) != 0) return -1;
    }
    return 0;
}

static int64_t since_boot(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void cspawn_set_stage(cspawn_mark *mark, uint32_t stage) {
    __atomic_store_n(&mark->stage, stage, __ATOMIC_RELEASE);
}

/// Writes down which process this is. By the system call: the C library could know the parent's number.
static void write_mark(cspawn_mark *mark) {
    mark->pid = (pid_t)syscall(SYS_getpid);
    mark->latest = since_boot();
    cspawn_set_stage(mark, CSPAWN_MARK_PROCESS);
}

/// Where close_range(2) is not known (before Linux 5.9) or filtered: what /proc lists, else every number.
static int close_listed(void) {
    // Room for the listing's own descriptor, however full the table is.
    close(3);
    int listing = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listing < 0) {
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
        for (rlim_t number = 3; number < limit.rlim_cur; number++) close((int)number);
        return 0;
    }
    _Alignas(struct dirent64) char entries[1024];
    long size;
    while ((size = syscall(SYS_getdents64, listing, entries, sizeof entries)) > 0) {
        for (long at = 0; at < size;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            int number = 0;
            for (const char *digit = entry->d_name; *digit >= '0' && *digit <= '9'; digit++) {
                number = number * 10 + (*digit - '0');
            }
            if (number >= 3 && number != listing) close(number);
            at += entry->d_reclen;
        }
    }
    close(listing);
    return size == 0 ? 0 : -1;
}

/// Puts the three descriptors in their places and closes all others: those of this program are closed on
/// exec, but not what it inherited or a library opened. One that is in the way of another is moved first.
static int place_descriptors(const cspawn_request *request) {
    int wanted[3] = {request->input, request->output, request->error};
    for (int place = 0; place < 3; place++) {
        if (wanted[place] >= 3) continue;
        wanted[place] = fcntl(wanted[place], F_DUPFD_CLOEXEC, 3);
        if (wanted[place] < 0) return -1;
    }
    for (int place = 0; place < 3; place++) {
        if (dup2(wanted[place], place) < 0) return -1;
    }
    if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return 0;
    return errno == ENOSYS || errno == EPERM ? close_listed() : -1;
}

/// What the daemon raised for itself would break programs that use select(2). After the descriptors: none
/// could be moved to a number beyond it.
static int set_soft_limit(int resource, uint64_t most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) return -1;
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    return setrlimit(resource, &limit);
}

/// The limits a job declares. Raising a hard one takes a privilege, so this comes before that is given up.
static int set_limits(child_context *context) {
    const cspawn_request *request = context->request;
    context->limit = -1;
    if (set_soft_limit(RLIMIT_NOFILE, request->open_files) != 0) return -1;
    if (request->data_bytes != 0 && set_soft_limit(RLIMIT_DATA, request->data_bytes) != 0) return -1;
    for (context->limit = 0; context->limit < request->limit_count; context->limit++) {
        const cspawn_limit *wanted = &request->limits[context->limit];
        struct rlimit limit = {.rlim_cur = wanted->soft, .rlim_max = wanted->hard};
        if (setrlimit((__rlimit_resource_t)wanted->resource, &limit) != 0) return -1;
    }
    return 0;
}

/// Whether two lists hold the same numbers, in any order; some kernels sort them.
static bool has_same_groups(const gid_t *left, const gid_t *right, int count) {
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

/// By the system calls themselves: the C library's functions would change every thread of the parent, whose
/// thread list this process shares (nptl(7)). Each is looked at again, since a job that runs as somebody
/// else than was asked for is worse than one that does not run.
static void switch_user(child_context *context) {
    const cspawn_request *request = context->request;
    int count = request->group_count;
    // Room for NGROUPS_MAX would not fit on this stack, and nobody is in so many.
    gid_t groups[CSPAWN_GROUPS_MAX];
    errno = E2BIG;
    if (count > CSPAWN_GROUPS_MAX) give_up(context, CSPAWN_STEP_GROUPS);
    if (syscall(SYS_setgroups, count, request->groups) != 0) give_up(context, CSPAWN_STEP_GROUPS);
    long found = syscall(SYS_getgroups, CSPAWN_GROUPS_MAX, groups);
    errno = EPERM;
    if (found != count || !has_same_groups(groups, request->groups, count)) {
        give_up(context, CSPAWN_STEP_GROUPS);
    }
    gid_t gids[3];
    gid_t group = request->group;
    if (syscall(SYS_setresgid, group, group, group) != 0) give_up(context, CSPAWN_STEP_GROUP);
    if (syscall(SYS_getresgid, &gids[0], &gids[1], &gids[2]) != 0 || gids[0] != group
        || gids[1] != group || gids[2] != group) {
        errno = EPERM;
        give_up(context, CSPAWN_STEP_GROUP);
    }
    uid_t uids[3];
    uid_t user = request->user;
    if (syscall(SYS_setresuid, user, user, user) != 0) give_up(context, CSPAWN_STEP_USER);
    if (syscall(SYS_getresuid, &uids[0], &uids[1], &uids[2]) != 0 || uids[0] != user
        || uids[1] != user || uids[2] != user
        // And there is no way back.
        || (user != 0 && syscall(SYS_setresuid, -1, 0, -1) == 0)) {
        errno = EPERM;
        give_up(context, CSPAWN_STEP_USER);
    }
}

/// The first candidate there is. As in execvp(3), one that is not there or may not be executed is passed
/// over, but EACCES is what is told in the end. Unlike there, a file the kernel cannot execute (ENOEXEC)
/// is not handed to a shell: whoever wants one asks for it.
static void exec_first(const cspawn_request *request) {
    bool was_denied = false;
    for (const char *const *path = request->candidates; *path != NULL; path++) {
        execve(*path, request->arguments, request->environment);
        switch (errno) {
        case EACCES: was_denied = true; break;
        // The last three: a directory of PATH on a file server that is gone.
        case ENOENT: case ENOTDIR: case ESTALE: case ENODEV: case ETIMEDOUT: break;
        default: return;
        }
    }
    if (was_denied) errno = EACCES;
}

/// The child begins with its parent's table of descriptors itself, and takes a copy of only what it needs:
/// copying and closing those of a thousand other runs would take longer than all the rest. Nothing may be
/// opened or closed before.
static int leave_table(const cspawn_request *request) {
    const int kept[] = {request->input, request->output, request->error, request->control_group};
    int last = 2;
    for (size_t index = 0; index < sizeof kept / sizeof *kept; index++) {
        if (kept[index] > last) last = kept[index];
    }
    const unsigned unshare_first = 1U << 1;  // CLOSE_RANGE_UNSHARE
    if (syscall(SYS_close_range, (unsigned)last + 1, ~0U, unshare_first) == 0) return 0;
    // Before Linux 5.9, or filtered: all of it.
    return (int)syscall(SYS_unshare, CLONE_FILES);
}

static int child_main(void *argument) {
    child_context *context = argument;
    const cspawn_request *request = context->request;
    if (request->mark != NULL) write_mark(request->mark);
    if (leave_table(request) != 0) give_up(context, CSPAWN_STEP_DESCRIPTORS);
    // A session, and with it a group, of its own: a signal reaches the whole group, and no terminal of the
    // daemon's can stop or interrupt it.
    if (setsid() < 0) give_up(context, CSPAWN_STEP_SESSION);
    if (reset_signals(request->signals) != 0) give_up(context, CSPAWN_STEP_SIGNALS);
    // Nice values and slices are a thread's on Linux, and this thread's are not the job's.
    if (cspawn_become_job(request->nice) != 0) give_up(context, CSPAWN_STEP_NICE);
    if (request->control_group >= 0 && write(request->control_group, "0", 1) != 1) {
        give_up(context, CSPAWN_STEP_CONTROL_GROUP);
    }
    if (place_descriptors(request) != 0) give_up(context, CSPAWN_STEP_DESCRIPTORS);
    if (set_limits(context) != 0) give_up(context, CSPAWN_STEP_LIMITS);
    if (request->switches_user) switch_user(context);
    // Not the parent's: clone without CLONE_FS gave the child its own mask and directory.
    umask(request->umask);
    // As the user it is to be: on a file server only that one may get in. And before the program is looked
    // for, so that a path relative to the directory means what it says.
    if (chdir(request->directory) != 0) {
        int error = errno;
        if (!request->may_run_in_root || chdir("/") != 0) {
            errno = error;
            give_up(context, CSPAWN_STEP_DIRECTORY);
        }
    }
    // Dispatch queues block SIGTERM in their threads, and execve passes the mask on. Last, so that no signal
    // meets the child before it stands on its own.
    const uint64_t none = 0;
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, SIGNALS / 8) != 0) {
        give_up(context, CSPAWN_STEP_SIGNALS);
    }
    exec_first(request);
    give_up(context, CSPAWN_STEP_EXEC);
}

/// Looks after the start that is under way. Its thread sleeps while nothing starts.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t begun;
    bool has_thread, sleeps, was_killed;
    /// How many starts there were: while they follow each other, the thread is not woken for each.
    uint64_t starts;
    /// The child, as the kernel writes it down before the child takes its first step; -1 before.
    volatile int pidfd;
    /// 0 while nothing starts, and once the child is killed.
    time_t deadline;
    bool is_taken;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER, .pidfd = -1};

static time_t awake(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void *watch_starts(void *argument) {
    (void)argument;
    pthread_setname_np(pthread_self(), "timerd.guard");
    pthread_mutex_lock(&guard.lock);
    uint64_t seen = 0;
    for (;;) {
        if (guard.deadline == 0 && guard.starts == seen) {
            guard.sleeps = true;
            pthread_cond_wait(&guard.begun, &guard.lock);
            guard.sleeps = false;
        }
        if (guard.deadline != 0 && awake() >= guard.deadline) {
            // The descriptor is this child's: the start closes it only once it has had the lock.
            if (guard.pidfd >= 0) {
                guard.was_killed = true;
                syscall(SYS_pidfd_send_signal, guard.pidfd, SIGKILL, NULL, 0U);
            }
            guard.deadline = 0;
        }
        // At worst it looks a second late.
        seen = guard.starts;
        pthread_mutex_unlock(&guard.lock);
        sleep(1);
        pthread_mutex_lock(&guard.lock);
    }
    return NULL;
}

/// Whether this start is looked after.
static bool begin_guard(int patience) {
    pthread_mutex_lock(&guard.lock);
    bool is_free = !guard.is_taken;
    if (is_free && !guard.has_thread) {
        pthread_t thread;
        // With every signal blocked, as the caller's are now.
        guard.has_thread = pthread_create(&thread, NULL, watch_starts, NULL) == 0;
        if (guard.has_thread) pthread_detach(thread);
    }
    is_free = is_free && guard.has_thread;
    if (is_free) {
        guard.is_taken = true;
        guard.starts++;
        guard.pidfd = -1;
        guard.deadline = awake() + patience + 1;
        guard.was_killed = false;
    }
    bool must_wake = is_free && guard.sleeps;
    pthread_mutex_unlock(&guard.lock);
    // Behind the lock: woken before, it would go to sleep again over it.
    if (must_wake) pthread_cond_signal(&guard.begun);
    return is_free;
}

/// Returns whether the child was killed.
static bool end_guard(void) {
    pthread_mutex_lock(&guard.lock);
    bool was_killed = guard.was_killed;
    guard.deadline = 0;
    guard.is_taken = false;
    guard.was_killed = false;
    pthread_mutex_unlock(&guard.lock);
    return was_killed;
}

/// Descriptors with low numbers, for what a child is handed: it copies the table up to the highest of them.
/// For the start that is looked after; /dev/null between starts.
static int slots[3] = {-1, -1, -1};

/// Puts what a child is handed into the slots. Where one cannot be made or filled, it is handed as it is.
static void fill_slots(cspawn_request *request) {
    int *handed[3] = {&request->output, &request->error, &request->control_group};
    for (int index = 0; index < 3; index++) {
        if (*handed[index] < 0) continue;
        if (slots[index] < 0) slots[index] = fcntl(request->input, F_DUPFD_CLOEXEC, 3);
        if (slots[index] < 0 || dup3(*handed[index], slots[index], O_CLOEXEC) < 0) continue;
        *handed[index] = slots[index];
    }
}

/// Lets go of it: a pipe ends only once nobody holds it.
static void empty_slots(int nothing) {
    for (int index = 0; index < 3; index++) {
        if (slots[index] >= 0) dup3(nothing, slots[index], O_CLOEXEC);
    }
}

/// Takes the end of a child that gave up: nobody else is to see it.
static void bury(int pidfd) {
    siginfo_t info;
    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 && errno == EINTR) {}
    close(pidfd);
}

/// Where a child stands until it runs its program; MAP_FAILED, with errno set. Of the starts that are looked
/// after there is one at a time, and their stack is kept: to unmap it would interrupt every other processor
/// this program runs on.
static char *take_stack(bool is_guarded) {
    static char *kept = MAP_FAILED;
    if (is_guarded && kept != MAP_FAILED) return kept;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (is_guarded) kept = stack;
    return stack;
}

/// Makes the process, and waits until it runs its program or is gone. Fills in what came of it but for what
/// the child itself says; `pidfd` is its descriptor then.
static void make_process(child_context *context, bool is_guarded, cspawn_result *result) {
    char *stack = take_stack(is_guarded);
    if (stack == MAP_FAILED) {
        result->step = CSPAWN_STEP_STACK;
        result->error = errno;
        return;
    }
    int own = -1;
    volatile int *pidfd_place = is_guarded ? &guard.pidfd : &own;
    // VM: no page tables are copied, however much memory there is. VFORK: this thread waits until the child
    // has let go of it. FILES: nor is the table of descriptors. PIDFD: a handle no other process can ever be
    // behind, closed on exec.
    int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD;
    cspawn_mark *mark = context->request->mark;
    if (mark != NULL) mark->earliest = since_boot();
    result->pid =
        clone(child_main, stack + STACK_BYTES, flags, context, (int *)pidfd_place, NULL, NULL);
    result->error = errno;
    result->pidfd = *pidfd_place;
    if (result->pid < 0) result->step = CSPAWN_STEP_CLONE;
    if (!is_guarded) munmap(stack, STACK_BYTES);
}

cspawn_result cspawn_start(const cspawn_request *request) {
    cspawn_result result = {.pid = -1, .pidfd = -1};
    cspawn_request handed = *request;
    child_context context = {.request = &handed};
    // With every signal blocked, no handler of this process runs in the child while it shares its memory.
    // By the system call itself: the C library leaves its own two open.
    const uint64_t all = ~UINT64_C(0);
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, SIGNALS / 8);
    // A cancelled thread would unwind while the child stands on its memory.
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    bool is_guarded = begin_guard(request->patience);
    if (is_guarded) fill_slots(&handed);
    make_process(&context, is_guarded, &result);
    if (is_guarded) empty_slots(request->input);
    bool was_killed = is_guarded && end_guard();
    pthread_setcancelstate(state, NULL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, SIGNALS / 8);
    if (result.step != CSPAWN_STEP_NONE) return result;
    if (context.step != CSPAWN_STEP_NONE) {
        bury(result.pidfd);
        return (cspawn_result){.pid = -1, .pidfd = -1, .step = context.step, .error = context.error,
                               .limit = context.limit};
    }
    if (was_killed) {
        bury(result.pidfd);
        return (cspawn_result){.pid = -1, .pidfd = -1, .step = CSPAWN_STEP_PATIENCE, .error = ETIMEDOUT};
    }
    return result;
}
