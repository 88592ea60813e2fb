// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CSpawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

void cspawn_reset_sigchld(void) {
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) != 0) return;
    if (action.sa_handler == SIG_IGN) action.sa_handler = SIG_DFL;
    action.sa_flags &= ~SA_NOCLDWAIT;
    sigaction(SIGCHLD, &action, NULL);
}

void cspawn_hide_memory(void) { prctl(PR_SET_DUMPABLE, 0); }

/// Reaps a child, without waiting: 1, or 0 if none of them has ended, or -1.
static int reap(idtype_t kind, id_t which, cspawn_end *end, pid_t *pid) {
    siginfo_t info = {0};
    struct rusage usage;
    // The system call returns the resource usage; the C library's waitid does not.
    long result;
    do {
        result = syscall(SYS_waitid, kind, which, &info, WEXITED | WNOHANG, &usage);
    } while (result != 0 && errno == EINTR);
    if (result != 0) return -1;
    if (info.si_pid == 0) return 0;
    *pid = info.si_pid;
    end->code = info.si_code;
    end->status = info.si_status;
    end->user_microseconds = usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec;
    end->system_microseconds = usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec;
    end->peak_kibibytes = usage.ru_maxrss;
    return 1;
}

int cspawn_reap(int pidfd, cspawn_end *end) {
    pid_t pid;
    return reap(P_PIDFD, (id_t)pidfd, end, &pid);
}

int cspawn_reap_child(pid_t pid, cspawn_end *end) {
    return reap(P_PID, (id_t)pid, end, &pid);
}

int cspawn_open_process(pid_t pid) {
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);
    // The kernel sets FD_CLOEXEC itself (pidfd_open(2)).
    return pidfd;
}

int cspawn_watch_orphans(void) {
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return -1;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void cspawn_drain_watch(int watch) {
    // SIGCHLD is pending once or not at all (signal(7)).
    struct signalfd_siginfo info;
    if (read(watch, &info, sizeof info) < 0) {}
}

pid_t cspawn_reap_any(cspawn_end *end) {
    pid_t pid = 0;
    return reap(P_ALL, 0, end, &pid) == 1 ? pid : 0;
}

int cspawn_signal_group(int pidfd, pid_t group, bool is_reaped, int signal) {
    static bool has_no_groups;
    if (pidfd >= 0 && !__atomic_load_n(&has_no_groups, __ATOMIC_RELAXED)) {
        const unsigned process_group = 1U << 2;
        if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, process_group) == 0) return 0;
        if (errno != EINVAL && errno != ENOSYS) return -1;
        // EINVAL may also mean that the signal number is invalid.
        bool is_known = syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, process_group) == 0
            || (errno != EINVAL && errno != ENOSYS);
        if (is_known) {
            errno = EINVAL;
            return -1;
        }
        __atomic_store_n(&has_no_groups, true, __ATOMIC_RELAXED);
    }
    // The kernel gives the number of an existing group to no new process. So a process with this number means that the
    // group is gone and the number was reused.
    if (is_reaped && (kill(group, 0) == 0 || errno == EPERM)) {
        errno = ESRCH;
        return -1;
    }
    return kill(-group, signal);
}

/// Waits until the process is ready (true) or has ended (false). Signals that stop this process are meant for that
/// process and are forwarded to it.
static bool wait_until_ready(int descriptor, pid_t pid) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    // If no signalfd can be created, which needs only a descriptor, signals stay blocked until this process ends.
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd wanted[] = {{.fd = descriptor, .events = POLLIN},
                              {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(wanted, 2, -1) < 0 && errno != EINTR) return false;
        struct signalfd_siginfo info;
        while (signals >= 0 && read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
            kill(pid, (int)info.ssi_signo);
        }
        if (wanted[0].revents == 0) continue;
        char word;
        ssize_t count = read(descriptor, &word, 1);
        if (count == 1) return true;
        if (count == 0 || errno != EINTR) return false;
    }
}

int cspawn_detach(char *const *arguments) {
    if (syscall(SYS_close_range, 3U, ~0U, 0U) != 0) return -1;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    pid_t pid = fork();
    if (pid < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return -1;
    }
    if (pid == 0) {
        setsid();
        // Both ends are closed on exec, but not this copy.
        if (dup2(ends[1], CSPAWN_READY_DESCRIPTOR) < 0) _exit(1);
        if (ends[1] == CSPAWN_READY_DESCRIPTOR) fcntl(ends[1], F_SETFD, 0);
        execv("/proc/self/exe", arguments);
        _exit(1);
    }
    close(ends[1]);
    if (wait_until_ready(ends[0], pid)) _exit(0);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    _exit(WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1);
}

void cspawn_notify_parent(int descriptor) {
    // If the write fails, the parent has ended.
    if (write(descriptor, "", 1) < 0) {}
    close(descriptor);
}

int cspawn_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0U);
}

int cspawn_pipe(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    // Only the reading end: the job has the other one and expects writes to block.
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

const char *cspawn_signal_name(int signal) { return sigabbrev_np(signal); }

const char *cspawn_error_name(int error) { return strerrorname_np(error); }
