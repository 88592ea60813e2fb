// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// System calls without the C library. A child that has only some of its parent's memory can use neither the functions
// of the library nor errno, so each call returns the negative errno instead.

#if defined(__x86_64__)

static inline long raw6(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#define CSPAWN_HAS_RAW 1

#elif defined(__aarch64__)

static inline long raw6(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}
#define CSPAWN_HAS_RAW 1

#else

// Without these functions the child needs the C library, so here it gets a copy of all of its parent's memory:
// `cspawn_prepare_memory` marks nothing.
#include <errno.h>
#include <unistd.h>
static inline long raw6(long number, long a, long b, long c, long d, long e, long f) {
    long result = syscall(number, a, b, c, d, e, f);
    return result == -1 ? -errno : result;
}
#define CSPAWN_HAS_RAW 0

#endif

#define RAW_AS_LONG(value) ((long)(value))
#define raw0(number) raw6(number, 0, 0, 0, 0, 0, 0)
#define raw1(number, a) raw6(number, RAW_AS_LONG(a), 0, 0, 0, 0, 0)
#define raw2(number, a, b) raw6(number, RAW_AS_LONG(a), RAW_AS_LONG(b), 0, 0, 0, 0)
#define raw3(number, a, b, c) raw6(number, RAW_AS_LONG(a), RAW_AS_LONG(b), RAW_AS_LONG(c), 0, 0, 0)
#define raw4(number, a, b, c, d) \
    raw6(number, RAW_AS_LONG(a), RAW_AS_LONG(b), RAW_AS_LONG(c), RAW_AS_LONG(d), 0, 0)
#define raw5(number, a, b, c, d, e) \
    raw6(number, RAW_AS_LONG(a), RAW_AS_LONG(b), RAW_AS_LONG(c), RAW_AS_LONG(d), RAW_AS_LONG(e), 0)
