// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "child.h"
#include "raw.h"

#include <sys/syscall.h>

/// Creates a process (clone(2)) that runs `cspawn_run_child` on a stack of its own, which ends at `stack` and is aligned
/// to 16 bytes. With a stack of its own, the process needs no copy of the stack of this thread, and this thread has no
/// page fault for each page of it that it writes to afterwards.
///
/// The order of the parameters of clone(2) after the third differs between architectures, so none of them is used.
/// Returns the process id, or the negative errno.
#if defined(__x86_64__)

static inline long clone_on_stack(unsigned long flags, void *stack, int *pidfd, const child_plan *plan) {
    long result;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    // These registers are in the child what they were here.
    register const child_plan *of_child __asm__("r12") = plan;
    register void (*body)(const child_plan *) __asm__("r13") = cspawn_run_child;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r12, %%rdi\n\t"
                     "call *%%r13\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone), "D"(flags), "S"(stack), "d"(pidfd), "r"(r10), "r"(r8), "r"(of_child),
                       "r"(body)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

#elif defined(__aarch64__)

static inline long clone_on_stack(unsigned long flags, void *stack, int *pidfd, const child_plan *plan) {
    register long x8 __asm__("x8") = SYS_clone;
    register long x0 __asm__("x0") = (long)flags;
    register long x1 __asm__("x1") = (long)stack;
    register long x2 __asm__("x2") = (long)pidfd;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    // These registers are in the child what they were here.
    register const child_plan *of_child __asm__("x19") = plan;
    register void (*body)(const child_plan *) __asm__("x20") = cspawn_run_child;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "mov x0, x19\n\t"
                     "blr x20\n\t"
                     "brk 1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(of_child), "r"(body)
                     : "memory", "cc");
    return x0;
}

#else

/// Here the process continues on its copy of this stack.
static inline long clone_on_stack(unsigned long flags, void *stack, int *pidfd, const child_plan *plan) {
    (void)stack;
    long pid = raw3(SYS_clone, flags, NULL, pidfd);
    if (pid == 0) cspawn_run_child(plan);
    return pid;
}

#endif
