// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CSpawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
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

typedef struct {
    const cspawn_request *request;
    cspawn_step step;
    int error;
} child_context;

/// Whoever shares its memory with the parent must not return through atexit handlers or stdio.
static _Noreturn void give_up(child_context *context, cspawn_step step) {
    context->step = step;
    context->error = errno;
    _exit(127);
}

/// A handler of the parent's must not run in the child, which shares its memory; and a disposition that is
/// ignored, or a mask that blocks, would be inherited by the program: dispatch queues block SIGTERM in
/// their threads.
static int reset_signals(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        // The C library keeps some for itself and says EINVAL; KILL and STOP have no disposition.
        if (sigaction(number, &action, NULL) != 0 && errno != EINVAL) return -1;
    }
    // sigaction refuses the two signals the C library uses; the kernel does not.
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } plain = {0};
    for (int number = 32; number < 34; number++) {
        syscall(SYS_rt_sigaction, number, &plain, NULL, sizeof plain.mask);
    }
    return 0;
}

/// Puts the three descriptors in their places and closes all others. One that is in the way of another is
/// moved out of it first.
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
    if (errno != ENOSYS) return -1;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    for (rlim_t number = 3; number < limit.rlim_cur; number++) close((int)number);
    return 0;
}

/// As execvp(3): the first candidate there is; one that may not be executed is passed over, but remembered.
static void exec_first(const cspawn_request *request) {
    int best = ENOENT;
    for (const char *const *path = request->candidates; *path != NULL; path++) {
        execve(*path, request->arguments, request->environment);
        if (errno == EACCES) {
            best = EACCES;
        } else if (errno != ENOENT && errno != ENOTDIR) {
            return;
        }
    }
    errno = best;
}

static int child_main(void *argument) {
    child_context *context = argument;
    const cspawn_request *request = context->request;
    // A session, and with it a group, of its own: a limit ends the whole group, and no terminal of the
    // daemon's can stop it.
    if (setsid() < 0) give_up(context, CSPAWN_STEP_SESSION);
    if (reset_signals() != 0) give_up(context, CSPAWN_STEP_SIGNALS);
    // The thread's nice value, which dispatch sets by the queue's QoS, is not the job's.
    if (setpriority(PRIO_PROCESS, 0, request->nice) != 0) {
        // Only a privileged process may lower it; to run at the daemon's own is no failure then.
        errno = 0;
        if (getpriority(PRIO_PROCESS, 0) < request->nice || errno != 0) {
            errno = EPERM;
            give_up(context, CSPAWN_STEP_NICE);
        }
    }
    // What the daemon raised for itself would break programs that use select(2).
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) give_up(context, CSPAWN_STEP_LIMITS);
    limit.rlim_cur = request->open_files < limit.rlim_max ? request->open_files : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) give_up(context, CSPAWN_STEP_LIMITS);
    umask(request->umask);
    if (request->directory != NULL && chdir(request->directory) != 0) {
        give_up(context, CSPAWN_STEP_DIRECTORY);
    }
    if (place_descriptors(request) != 0) give_up(context, CSPAWN_STEP_DESCRIPTORS);
    // Last, so that no signal meets the child before it stands on its own.
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) != 0) give_up(context, CSPAWN_STEP_SIGNALS);
    exec_first(request);
    give_up(context, CSPAWN_STEP_EXEC);
}

cspawn_result cspawn_start(const cspawn_request *request) {
    cspawn_result result = {.pid = -1, .pidfd = -1};
    child_context context = {.request = request};
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        result.step = CSPAWN_STEP_STACK;
        result.error = errno;
        return result;
    }
    // With every signal blocked, no handler of this process runs in the child while it shares its memory.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    int pidfd = -1;
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
    pid_t pid = clone(child_main, stack + STACK_BYTES, flags, &context, &pidfd, NULL, NULL);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(state, NULL);
    munmap(stack, STACK_BYTES);
    if (pid < 0) {
        result.step = CSPAWN_STEP_CLONE;
        result.error = error;
        return result;
    }
    if (context.step != CSPAWN_STEP_NONE) {
        // It has ended already; nobody else is to see it.
        siginfo_t info;
        while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 && errno == EINTR) {}
        close(pidfd);
        result.step = context.step;
        result.error = context.error;
        return result;
    }
    result.pid = pid;
    result.pidfd = pidfd;
    return result;
}

int cspawn_reap(int pidfd, cspawn_end *end) {
    siginfo_t info = {0};
    struct rusage usage;
    // The system call itself tells what was used; the C library's waitid does not.
    long result;
    do {
        result = syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | WNOHANG, &usage);
    } while (result != 0 && errno == EINTR);
    if (result != 0) return -1;
    if (info.si_pid == 0) return 0;
    end->code = info.si_code;
    end->status = info.si_status;
    end->user_microseconds = usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec;
    end->system_microseconds = usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec;
    end->peak_kibibytes = usage.ru_maxrss;
    return 1;
}

int cspawn_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0U);
}

int cspawn_pipe(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    // Only our end: the other is the job's, which expects its output to wait.
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return -1;
    }
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

int cspawn_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

const char *cspawn_signal_name(int signal) { return sigabbrev_np(signal); }

const char *cspawn_error_name(int error) { return strerrorname_np(error); }

void cspawn_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
