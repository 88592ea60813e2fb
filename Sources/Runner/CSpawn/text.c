// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CSpawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/// Writes without moving the position, at which the program begins to read.
static int write_text(int file, const char *text, size_t length) {
    for (size_t written = 0; written < length;) {
        ssize_t count = pwrite(file, text + written, length - written, (off_t)written);
        if (count > 0) {
            written += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            if (count == 0) errno = EIO;
            return -1;
        }
    }
    return fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

int cspawn_make_text(const char *text, size_t length) {
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int file = memfd_create("timerd-stdin", flags | MFD_NOEXEC_SEAL);
    // Before Linux 6.3 there is no MFD_NOEXEC_SEAL.
    if (file < 0 && errno == EINVAL) file = memfd_create("timerd-stdin", flags);
    if (file < 0 || write_text(file, text, length) == 0) return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}
