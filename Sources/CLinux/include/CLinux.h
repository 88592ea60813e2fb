// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

// System calls of Linux that Glibc shows only to those who define _GNU_SOURCE.

/// A timerfd(2) that becomes readable when somebody sets the calendar clock (TFD_TIMER_CANCEL_ON_SET), closed
/// on exec and not blocking. Returns it, or -1 with errno set.
int clinux_clock_watch(void);

/// Takes the word of a clock that was set, and watches on. Returns 1 if it was set, 0 if not, -1 with errno
/// set if it cannot be watched on.
int clinux_clock_watch_again(int watch);

/// A signalfd(2) for these signals, closed on exec and not blocking. They must be blocked in every thread. Returns
/// it, or -1 with errno set.
int clinux_signal_descriptor(const sigset_t *signals);

/// Takes the next signal that came. Returns its number, or 0 if none came.
int clinux_signal_take(int descriptor);

/// A new file in memory that can be sealed, closed on exec (memfd_create(2)). Returns it, or -1 with errno set.
int clinux_memory_file(const char *name);

/// Lets nobody change that file any more (fcntl(2), F_ADD_SEALS: SEAL, SHRINK, GROW and WRITE). Returns 0, or -1 with
/// errno set.
int clinux_seal(int file);

/// How many columns and rows the terminal behind a descriptor has (ioctl_tty(2), TIOCGWINSZ). Returns 0, or -1 with errno
/// set if it is no terminal, or one that does not know.
int clinux_terminal_size(int terminal, int *columns, int *rows);

/// How many columns a terminal gives a character (wcwidth(3)), whatever the locale of this process: 0 for one that is
/// joined to the one before, 2 for a wide one, 1 for one that is not known.
int clinux_columns(uint32_t scalar);

/// Returns 1 if the file lies in memory, tmpfs or ramfs (statfs(2)), so that no write to it waits for a disk; else 0.
int clinux_is_in_memory(int file);

/// Has the heap of a process of several threads stay near what is in use (mallopt(3)): two arenas and not
/// eight for each core, and what is large, such as a long answer, apart from it, so that it goes back to the
/// machine when it is freed. Without this, glibc puts large pieces into an arena once one was freed, and
/// keeps them. To be called before there are threads; does nothing where the C library is another.
void clinux_heap_keep_small(void);

/// Gives the pages of the heap in which nothing lies any more back to the machine (malloc_trim(3)). Takes
/// milliseconds for each 100 MiB.
void clinux_heap_give_back(void);

/// Who connected to a unix socket, as the kernel knew it then (unix(7), SO_PEERCRED).
struct clinux_peer {
    int pid;
    unsigned int uid;
    unsigned int gid;
};

/// Accepts a connection of a listening unix socket, closed on exec and not blocking, and says whose it is. Returns it,
/// or the negative of errno.
int clinux_accept(int listening, struct clinux_peer *peer);

/// An eventfd(2) that is closed on exec and does not block. Returns it, or -1 with errno set.
int clinux_eventfd(void);

/// Names the calling thread, for debuggers and ps(1): at most 15 bytes.
void clinux_name_thread(const char *name);

/// Has the calling thread, and those it makes from then on, take the shortest turns at a processor there are,
/// which costs no privilege: when it wakes it goes before whoever has longer ones, and need not wait for the end
/// of the other's turn (sched_setattr(2): sched_runtime of SCHED_OTHER, since Linux 6.12; older kernels take no
/// notice of it). What such a thread starts by `cspawn_start` of CSpawn has the system's own.
/// Under another policy, or where the call is filtered, nothing changes.
void clinux_take_short_slice(void);

/// Has the calling thread have this nice value and the shortest turns for itself alone: the threads it makes
/// and the processes it starts begin with a nice value of 0 and, since Linux 6.12, with turns of the system's
/// own length (sched(7), SCHED_RESET_ON_FORK). They have nothing to give up, which would cost them their turn.
/// False if it may not; nothing is changed then.
bool clinux_keep_precedence(int nice);

/// Has it share the shortest turns with them again, as `clinux_take_short_slice` does; where it kept a nice
/// value for itself, at one of 0.
void clinux_share_precedence(void);

/// Has the calling thread, and those it makes from then on, take turns as long as all others' again.
void clinux_give_up_short_slice(void);

/// Whether the calling thread has a short time slice, which a child of its begins with and has to give up.
bool clinux_has_short_slice(void);

/// struct sched_attr of sched_setattr(2), as far as its first version goes.
typedef struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} clinux_sched_attributes;
