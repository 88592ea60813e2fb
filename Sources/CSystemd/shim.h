// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

// Files in memory, which the journal takes for entries too large for a datagram. Glibc shows
// memfd_create(2) and the seals only to those who define _GNU_SOURCE, and fcntl(2) and syscall(2) are
// variadic, which Swift cannot call.

// A new file that can be sealed and is closed on exec; -1 and errno if there is none to be had.
static inline int systemd_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

// Lets nobody change the file any more: F_ADD_SEALS with SEAL, SHRINK, GROW and WRITE, whose numbers are
// the kernel's interface. 0, or -1 and errno.
static inline int systemd_seal(int file) { return fcntl(file, 1024 + 9, 0x1 | 0x2 | 0x4 | 0x8); }
