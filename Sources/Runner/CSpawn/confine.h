// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Restricts the privileges of a child. This is a part of `child.c` and follows the same rules: the functions are
// static, so that the code of a child refers to nothing outside of itself.

#include "child.h"
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/// The highest possible number of capabilities in a kernel.
enum { CAPABILITIES = 64 };

CHILD static inline bool has_bit(uint64_t set, int number) { return (set >> number & 1) != 0; }

CHILD static long read_permitted(uint64_t *permitted) {
    struct __user_cap_header_struct head;
    struct __user_cap_data_struct sets[2];
    head.version = _LINUX_CAPABILITY_VERSION_3;
    head.pid = 0;
    long result = raw2(SYS_capget, &head, sets);
    *permitted = (uint64_t)sets[1].permitted << 32 | sets[0].permitted;
    return result;
}

/// Makes sure that no program can get a capability that is not wanted, and that the wanted ones survive the switch of
/// the user. `missing` becomes the wanted capability that this process does not have, or -1.
CHILD static long limit_capabilities(uint64_t wanted, bool switches_user, int32_t *missing) {
    uint64_t permitted;
    *missing = -1;
    long result = read_permitted(&permitted);
    // This includes capabilities whose name this program does not know.
    for (int number = 0; number < CAPABILITIES && result >= 0; number++) {
        long is_bounded = raw2(SYS_prctl, PR_CAPBSET_READ, number);
        if (has_bit(wanted, number) && (is_bounded != 1 || !has_bit(permitted, number))) {
            *missing = number;
            return is_bounded < 0 ? is_bounded : -EPERM;
        }
        if (is_bounded == 1 && !has_bit(wanted, number)) {
            result = raw2(SYS_prctl, PR_CAPBSET_DROP, number);
        }
    }
    if (result < 0 || wanted == 0 || !switches_user) return result;
    return raw2(SYS_prctl, PR_SET_KEEPCAPS, 1);
}

/// Sets exactly the wanted capabilities. A program that does not run as root keeps only its ambient ones.
CHILD static long set_capabilities(uint64_t wanted) {
    struct __user_cap_header_struct head;
    struct __user_cap_data_struct sets[2];
    head.version = _LINUX_CAPABILITY_VERSION_3;
    head.pid = 0;
    for (int half = 0; half < 2; half++) {
        uint32_t bits = (uint32_t)(wanted >> (32 * half));
        sets[half].effective = bits;
        sets[half].permitted = bits;
        sets[half].inheritable = bits;
    }
    long result = raw2(SYS_capset, &head, sets);
    if (result >= 0) result = raw2(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
    for (int number = 0; number < CAPABILITIES && result >= 0; number++) {
        if (!has_bit(wanted, number)) continue;
        result = raw3(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number);
    }
    return result;
}

/// If the file does not exist, the kernel does not have the security module.
CHILD static long write_label(const cspawn_label *label) {
    long file = raw4(SYS_openat, AT_FDCWD, label->file, O_WRONLY | O_CLOEXEC, 0);
    if (file < 0) return file == -ENOENT ? -EOPNOTSUPP : file;
    long count = raw3(SYS_write, file, label->text, label->length);
    raw1(SYS_close, file);
    return count == (long)label->length ? 0 : count < 0 ? count : -EIO;
}
