// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "memory.h"

#include "child.h"
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

/// After how many starts the memory is scanned again. Memory that was mapped since the last scan is copied for each
/// child, which takes time, and so does a scan.
enum { STARTS_PER_SCAN = 256 };

/// How many bytes of memory the C library registers for restartable sequences (rseq(2)).
enum { RSEQ_BYTES = 32 };

/// How many addresses are given whose memory ranges a child gets a copy of.
enum { COPIED_MAX = 4 };

/// How many scans there were, and the number of the scan at which the memory of this thread was last marked for copying,
/// if children need it.
static unsigned scans;
static _Thread_local unsigned copied_at_scan;

/// Whether children need the memory of this thread; unknown before its first start.
static _Thread_local enum { UNKNOWN, NEEDED, NOT_NEEDED } thread_memory;

typedef void (*range_body)(uintptr_t from, uintptr_t to, void *context);

/// Reads a hexadecimal number and skips the one character after it.
static uintptr_t read_number(const char **at) {
    char *end;
    uintptr_t number = strtoul(*at, &end, 16);
    *at = *end == '\0' ? end : end + 1;
    return number;
}

/// Calls this for each range of this process's memory (proc(5), maps).
static void each_range(range_body body, void *context) {
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    static char text[32768];
    size_t filled = 0;
    ssize_t count;
    while ((count = read(file, text + filled, sizeof text - 1 - filled)) > 0 || (count < 0 && errno == EINTR)) {
        if (count < 0) continue;
        filled += (size_t)count;
        text[filled] = '\0';
        char *line = text;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            const char *at = line;
            uintptr_t from = read_number(&at);
            uintptr_t to = read_number(&at);
            if (from < to) body(from, to, context);
        }
        filled -= (size_t)(line - text);
        memmove(text, line, filled);
    }
    close(file);
}

typedef struct {
    uintptr_t addresses[COPIED_MAX];
    int count;
} copied_addresses;

static bool is_copied(const copied_addresses *copied, uintptr_t from, uintptr_t to) {
    for (int index = 0; index < copied->count; index++) {
        if (from <= copied->addresses[index] && copied->addresses[index] < to) return true;
    }
    return false;
}

static void mark_range(uintptr_t from, uintptr_t to, void *context) {
    // The kernel refuses this for some ranges, such as its own pages; they stay unchanged.
    madvise((void *)from, to - from, is_copied(context, from, to) ? MADV_DOFORK : MADV_DONTFORK);
}

static void mark_if_copied(uintptr_t from, uintptr_t to, void *context) {
    if (is_copied(context, from, to)) madvise((void *)from, to - from, MADV_DOFORK);
}

/// Marks what the heap has grown by since the last call. A burst of starts makes it grow, and then uses that memory the
/// most: without this, each start until the next scan would copy a dozen pages of it.
///
/// If the heap was cut and has grown again in between, only what is beyond its previous end is marked; the next scan
/// marks the rest.
static void mark_heap_growth(void) {
    static uintptr_t marked_end;
    // This only reads a variable of the C library.
    uintptr_t end = (uintptr_t)sbrk(0);
    if (marked_end != 0 && end > marked_end) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t from = marked_end / page * page;
        madvise((void *)from, end - from, MADV_DONTFORK);
    }
    marked_end = end;
}

static bool has_oom_score(void) {
    int file = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char text[16] = {0};
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    return count > 0 && atoi(text) != 0;
}

/// Whether the calling thread may not run on all processors that are online.
static bool has_affinity(void) {
    unsigned long allowed[128] = {0};
    if (sched_getaffinity(0, sizeof allowed, (cpu_set_t *)allowed) != 0) return false;
    int count = 0;
    for (size_t index = 0; index < sizeof allowed / sizeof *allowed; index++) {
        count += __builtin_popcountl(allowed[index]);
    }
    return count < sysconf(_SC_NPROCESSORS_ONLN);
}

/// Gives up the restartable sequences of this thread, which the C library uses for sched_getcpu(3) alone. False if it
/// cannot, for example because another library uses them.
static bool give_up_rseq(void) {
#if __has_include(<sys/rseq.h>)
    // The C library has not registered any.
    if (__rseq_size == 0) return true;
    const long unregister = 1;  // RSEQ_FLAG_UNREGISTER
    return syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, RSEQ_BYTES, unregister, RSEQ_SIG) == 0;
#else
    return false;
#endif
}

/// How many starts there were since the last scan; 0 means that the next start scans.
static unsigned starts;

void cspawn_rescan_memory(void) { starts = 0; }

void cspawn_prepare_memory(const void *first, const void *second, cspawn_inherited *inherited) {
    static cspawn_inherited found;
    bool is_time = starts == 0;
    starts = (starts + 1) % STARTS_PER_SCAN;
    if (is_time) {
        found.has_oom_score = has_oom_score();
        found.has_affinity = has_affinity();
        int policy = sched_getscheduler(0);
        found.has_policy = policy >= 0 && (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER;
    }
    *inherited = found;
    if (!CSPAWN_HAS_RAW) return;
    mark_heap_growth();
    // A change of these two means that they were mapped after the last scan.
    static const void *pages[2];
    bool is_new = pages[0] != first || pages[1] != second;
    pages[0] = first;
    pages[1] = second;
    if (thread_memory == UNKNOWN) thread_memory = give_up_rseq() ? NOT_NEEDED : NEEDED;
    bool is_missing = thread_memory == NEEDED && copied_at_scan != scans;
    if (!is_time && !is_new && !is_missing) return;
    copied_addresses copied = {
        .addresses = {(uintptr_t)cspawn_run_child, (uintptr_t)first, (uintptr_t)second, (uintptr_t)&copied_at_scan},
        .count = thread_memory == NEEDED ? COPIED_MAX : COPIED_MAX - 1,
    };
    if (is_time) {
        scans++;
        each_range(mark_range, &copied);
    } else {
        // Another thread made the last scan, without the memory of this thread.
        each_range(mark_if_copied, &copied);
    }
    copied_at_scan = scans;
}
