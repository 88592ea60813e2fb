// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

// System calls of Linux that glibc declares only with _GNU_SOURCE.

/// Creates a timerfd(2) that becomes readable when the wall clock is set (TFD_TIMER_CANCEL_ON_SET), closed on exec and
/// not blocking. Returns it, or -1 with errno set.
int clinux_clock_watch(void);

/// Reads whether the clock was set, and rearms the timer. Returns 1 if it was set, 0 if not, -1 with errno set if the
/// timer cannot be rearmed.
int clinux_clock_watch_again(int watch);

/// Creates a signalfd(2) for these signals, closed on exec and not blocking. They must be blocked in every thread.
/// Returns it, or -1 with errno set.
int clinux_signal_descriptor(const sigset_t *signals);

/// Reads the next pending signal. Returns its number, or 0 if there is none.
int clinux_signal_take(int descriptor);

/// Creates a file in memory that can be sealed, closed on exec (memfd_create(2)). Returns it, or -1 with errno set.
int clinux_memory_file(const char *name);

/// Makes that file immutable (fcntl(2), F_ADD_SEALS: SEAL, SHRINK, GROW and WRITE). Returns 0, or -1 with errno set.
int clinux_seal(int file);

/// How many bytes of a unix datagram socket's datagrams the peers have not read yet (SIOCOUTQ, with the kernel's own bytes for
/// each). Returns it, or -1 with errno set.
int clinux_unread(int socket);

/// Reads how many columns and rows a terminal has (ioctl_tty(2), TIOCGWINSZ). Returns 0, or -1 with errno set if the
/// descriptor is not a terminal or the terminal does not know its size.
int clinux_terminal_size(int terminal, int *columns, int *rows);

/// How many columns a character takes on a terminal (wcwidth(3)), independent of the locale of this process: 0 for a
/// combining character, 2 for a wide one, 1 for an unknown one.
int clinux_columns(uint32_t scalar);

/// Returns 1 if the file is on tmpfs or ramfs (statfs(2)), so that no write to it waits for a disk; otherwise 0.
int clinux_is_in_memory(int file);

/// Returns 1 if a file has an access control list beside its mode (acl(5)), or if that cannot be found out because the path
/// is wrong; else 0.
int clinux_has_access_list(const char *path);

/// Whether a process of this user with these groups could connect to the unix socket at this path: whether it may search
/// each directory on the way and write to the socket, according to modes and access control lists (acl(5)). Capabilities do
/// not count. Returns 1 or 0, or -1 with errno set if a file on the way cannot be examined.
int clinux_may_connect(
    const char *path, unsigned int user, const unsigned int *groups, int count);

/// Starts a program of this user with the terminal and the environment of this process, and waits for its end. Signals
/// of the keyboard are meanwhile for it alone, as with system(3). A name without a slash is looked up in PATH. Returns
/// its exit status, 128 and the signal that ended it, or -1 with errno set if it could not be started.
int clinux_run(const char *const *arguments);

/// Keeps the heap of a process with several threads close to the size that is in use (mallopt(3)): it limits malloc to
/// so many arenas instead of eight for each core, and allocates large blocks, such as a long response, with mmap, so
/// that they are returned to the system when they are freed. Without this, glibc raises its mmap threshold when a large
/// block is freed, and keeps later ones in an arena. Call it before there are other threads. It does nothing with
/// another C library than glibc.
void clinux_heap_keep_small(int arenas);

/// Returns the unused pages of the heap to the system (malloc_trim(3)). This takes milliseconds for each 100 MiB.
void clinux_heap_give_back(void);

/// While `join` is not 0, each piece of memory that is freed is joined with its free neighbours at once, of whichever
/// size it is (mallopt(3), M_MXFAST). Otherwise malloc keeps small ones apart, which is faster; but if millions of them
/// are freed at once, in the memory of a thread that has ended, `clinux_heap_give_back` may leave all of them.
void clinux_heap_join_freed(int join);

/// The peer of a unix socket, as recorded by the kernel when it connected (unix(7), SO_PEERCRED).
struct clinux_peer {
    int pid;
    unsigned int uid;
    unsigned int gid;
};

/// Accepts a connection of a listening unix socket, closed on exec and not blocking, and reports its peer. Returns it,
/// or a negative errno.
int clinux_accept(int listening, struct clinux_peer *peer);

/// The supplementary groups of the process that connected to this unix socket, as recorded by the kernel then
/// (SO_PEERGROUPS). Writes at most `count` of them, and returns how many there are; 0 if they cannot be had, or if there
/// are more than that.
int clinux_peer_groups(int connection, unsigned int *groups, int count);

/// Sends this process the signal when its parent ends (prctl(2), PR_SET_PDEATHSIG). Call it on a thread that stays.
void clinux_end_with_parent(int signal);

/// Creates an eventfd(2) that is closed on exec and does not block. Returns it, or -1 with errno set.
int clinux_eventfd(void);

/// Sets the name of the calling thread for debuggers and ps(1): at most 15 bytes.
void clinux_name_thread(const char *name);

/// Gives the calling thread, and the threads it creates from then on, the shortest time slice, which needs no
/// privilege: a thread that wakes up preempts threads with longer slices and need not wait for the end of theirs
/// (sched_setattr(2): sched_runtime of SCHED_OTHER, since Linux 6.12; older kernels ignore it). A process started by
/// `cspawn_start` of CSpawn gets the system's default slice. Under another policy, or if the call is filtered, nothing
/// changes.
void clinux_take_short_slice(void);

/// Gives only the calling thread this nice value and the shortest time slice: the threads and processes it creates
/// start with a nice value of 0 and, since Linux 6.12, with the system's default slice (sched(7), SCHED_RESET_ON_FORK).
/// So a child does not have to reset them, which would make it yield the processor. Returns false, and changes nothing,
/// if it is not permitted.
bool clinux_raise_thread_priority(int nice);

/// Undoes `clinux_raise_thread_priority`: the threads that the calling thread creates inherit the shortest time slice
/// again, as with `clinux_take_short_slice`, and its nice value is 0 again.
void clinux_restore_thread_priority(void);

/// Gives the calling thread, and the threads it creates from then on, the system's default time slice.
void clinux_reset_slice(void);

/// Whether the calling thread has a short time slice, which its children inherit and have to reset.
bool clinux_has_short_slice(void);

/// CLOCK_MONOTONIC, in nanoseconds. The clocks of Swift's standard library belong to its module for concurrency, with
/// which a program that uses nothing else of it grows by 0.7 MB.
int64_t clinux_awake(void);

/// Writes what is buffered for standard output. Returns 0 if that and all that was printed before could be written, or
/// else an errno.
int clinux_output_fault(void);

/// The first version of struct sched_attr of sched_setattr(2).
typedef struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} clinux_sched_attributes;
