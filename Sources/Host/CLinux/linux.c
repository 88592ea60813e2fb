// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sockios.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

int64_t clinux_awake(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Arms the timer for a time that no clock reaches: it can only be cancelled, which happens when the clock is set.
static int arm(int watch) {
    struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX / 1000000000LL - 1}};
    return timerfd_settime(watch, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

int clinux_clock_watch(void) {
    int watch = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (watch < 0) return -1;
    if (arm(watch) == 0) return watch;
    int error = errno;
    close(watch);
    errno = error;
    return -1;
}

int clinux_clock_watch_again(int watch) {
    uint64_t expirations;
    ssize_t count = read(watch, &expirations, sizeof expirations);
    int was_set = count < 0 && errno == ECANCELED;
    if (arm(watch) != 0 && errno != ECANCELED) return -1;
    return was_set;
}

int clinux_signal_descriptor(const sigset_t *signals) { return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK); }

int clinux_signal_take(int descriptor) {
    struct signalfd_siginfo info;
    ssize_t count;
    do count = read(descriptor, &info, sizeof info);
    while (count < 0 && errno == EINTR);
    return count == sizeof info ? (int)info.ssi_signo : 0;
}

int clinux_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int clinux_seal(int file) {
    return fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

int clinux_unread(int socket) {
    int bytes;
    return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

int clinux_terminal_size(int terminal, int *columns, int *rows) {
    struct winsize size = {0};
    if (ioctl(terminal, TIOCGWINSZ, &size) != 0) return -1;
    if (size.ws_col == 0) {
        errno = ENOTTY;
        return -1;
    }
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}

int clinux_columns(uint32_t scalar) {
    // glibc has this locale built in. Without it, each character counts as one column.
    static locale_t unicode;
    if (unicode == (locale_t)0) unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (unicode == (locale_t)0) return 1;
    locale_t before = uselocale(unicode);
    int columns = wcwidth((wchar_t)scalar);
    uselocale(before);
    return columns < 0 ? 1 : columns;
}

int clinux_is_in_memory(int file) {
    struct statfs system;
    if (fstatfs(file, &system) != 0) return 0;
    return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

void clinux_heap_keep_small(int arenas) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, arenas);
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    // Without this, glibc would return and request 128 KiB thousands of times a second under load.
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
#else
    (void)arenas;
#endif
}

void clinux_heap_join_freed(int join) {
#ifdef __GLIBC__
    // The default of glibc.
    const int standard = 64 * sizeof(size_t) / 4;
    mallopt(M_MXFAST, join ? 0 : standard);
#else
    (void)join;
#endif
}

void clinux_heap_give_back(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

int clinux_accept(int listening, struct clinux_peer *peer) {
    int connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) return -errno;
    struct ucred found;
    socklen_t size = sizeof found;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) {
        int code = errno;
        close(connection);
        return -code;
    }
    peer->pid = found.pid;
    peer->uid = found.uid;
    peer->gid = found.gid;
    return connection;
}

int clinux_peer_groups(int connection, unsigned int *groups, int count) {
#ifdef SO_PEERGROUPS
    socklen_t size = (socklen_t)count * sizeof *groups;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0) return (int)(size / sizeof *groups);
#else
    (void)connection;
    (void)groups;
    (void)count;
#endif
    return 0;
}

void clinux_end_with_parent(int signal) { prctl(PR_SET_PDEATHSIG, (unsigned long)signal); }

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int clinux_has_access_list(const char *path) {
    if (getxattr(path, "system.posix_acl_access", NULL, 0) >= 0) return 1;
    // The file system has none, or the file.
    return errno != ENODATA && errno != EOPNOTSUPP;
}

int clinux_run(const char *const *arguments) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    sigset_t none, defaults;
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    pid_t process;
    int code = posix_spawnp(
        &process, arguments[0], NULL, &attributes, (char *const *)arguments, environ);
    posix_spawnattr_destroy(&attributes);
    int status = 0;
    if (code == 0) {
        while (waitpid(process, &status, 0) < 0) {
            if (errno == EINTR) continue;
            code = errno;
            break;
        }
    }
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    if (code != 0) {
        errno = code;
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int clinux_output_fault(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    // Which error an earlier write had is not known any more.
    return errno ? errno : EIO;
}
