// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CLinux.h"
#include "CSpawn.h"
#include "child.h"
#include "clone.h"
#include "memory.h"
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// The kernel's signals are 1 to 64; its masks have a bit for each.
enum { SIGNALS = 64 };

/// How many starts may be in progress at a time.
enum { LAUNCHES = 65536 };

/// For how many starts low descriptor numbers are reserved, and how many of them each start needs.
enum { SET_COUNT = 32, SET_SIZE = 3 };

/// This makes the system call directly, because the C library's function refuses the two signals that it reserves for
/// its own use. The kernel's structure starts with the handler, which is 0 for the default.
uint64_t cspawn_signals(void) {
    uint64_t found = 0;
    for (int number = 1; number <= SIGNALS; number++) {
        if (number == SIGKILL || number == SIGSTOP) continue;
        uintptr_t action[8] = {0};
        bool is_known = syscall(SYS_rt_sigaction, number, NULL, action, SIGNALS / 8) == 0;
        if (!is_known || action[0] != (uintptr_t)SIG_DFL) found |= UINT64_C(1) << (number - 1);
    }
    return found;
}

static int64_t since_boot(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void cspawn_set_stage(cspawn_run_record *record, uint32_t stage) {
    __atomic_store_n(&record->stage, stage, __ATOMIC_RELEASE);
}

/// What the parent keeps about a start in progress.
typedef struct {
    /// The next free entry, if this one is free; -1 for none.
    int next_free;
    /// The reserved set that holds its descriptors; -1 for none.
    int set;
    /// The copies of its descriptors that are not in a set; -1 for none.
    int copies[SET_SIZE];
    /// The copy of what becomes its descriptor 3, and the text that it reads; -1 for none.
    int passed, text;
} launch_resources;

/// Protects everything below: several threads of a program may start processes, although the runner uses one.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/// Shared with the children; NULL before the first start.
static cspawn_launch *launches;
static launch_resources resources[LAUNCHES];
/// The entry that was freed last, which is probably still in the CPU cache, or -1; and how many entries were ever used.
static int first_free = -1, made_launches;

/// Reserved low descriptor numbers for what a child gets: the child copies the descriptor table up to the highest of
/// them, so low numbers make a start cheap. They refer to /dev/null while they are unused.
static struct {
    bool is_made;
    int descriptors[SET_SIZE];
    bool is_taken;
} descriptor_sets[SET_COUNT];

/// What a child gets a copy of.
typedef struct {
    child_plan plan;
    cspawn_request request;
    /// Everything that the request points to.
    _Alignas(max_align_t) char data[];
} child_memory;

/// The memory for that, with the child's stack in front of it.
static struct {
    child_memory *memory;
    /// The bytes that fit into `data`.
    size_t size;
} packed;

/// The size above which that memory is unmapped after use.
enum { PACKED_MAX = 256 * 1024 };

/// The inaccessible bytes on each side of it: at least the size of a page on any machine.
enum { GUARD_BYTES = 64 * 1024 };

/// Enough for a list of groups and of files, of which a child has at most one at a time.
enum { STACK_BYTES = 64 * 1024 };

// MARK: - The packed request

static size_t packed_bytes(size_t size) { return STACK_BYTES + sizeof(child_memory) + size; }

static void free_packed(void) {
    if (packed.memory == NULL) return;
    munmap((char *)packed.memory - STACK_BYTES - GUARD_BYTES, packed_bytes(packed.size) + 2 * GUARD_BYTES);
    packed.memory = NULL;
    packed.size = 0;
}

static int grow_packed(size_t size) {
    if (packed.memory != NULL && size <= packed.size) return 0;
    size_t bytes = (packed_bytes(size * 2) + 65535) / 65536 * 65536;
    // Inaccessible pages on both sides: without them the kernel would merge this range with its neighbours, and a child
    // would get a copy of all of it.
    char *base = mmap(NULL, bytes + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return -1;
    if (mprotect(base + GUARD_BYTES, bytes, PROT_READ | PROT_WRITE) != 0) {
        int error = errno;
        munmap(base, bytes + 2 * GUARD_BYTES);
        errno = error;
        return -1;
    }
    free_packed();
    packed.memory = (child_memory *)(base + GUARD_BYTES + STACK_BYTES);
    packed.size = bytes - packed_bytes(0);
    return 0;
}

static void shrink_packed(void) {
    if (packed.size > PACKED_MAX) free_packed();
}

/// Copies the request and everything that it points to into that memory, with a plan for it. False, with errno set, if
/// there is not enough memory.
static bool pack_request(const cspawn_request *request) {
    if (grow_packed(cspawn_packed_size(request)) != 0) return false;
    packed.memory->request = *request;
    cspawn_pack(&packed.memory->request, packed.memory->data);
    packed.memory->plan = cspawn_make_plan(&packed.memory->request);
    return true;
}

// MARK: - The child's descriptors

static bool make_set(int index, int null_device) {
    if (descriptor_sets[index].is_made) return true;
    for (int each = 0; each < SET_SIZE; each++) {
        descriptor_sets[index].descriptors[each] = fcntl(null_device, F_DUPFD_CLOEXEC, 3);
        if (descriptor_sets[index].descriptors[each] >= 0) continue;
        while (each-- > 0) close(descriptor_sets[index].descriptors[each]);
        return false;
    }
    return descriptor_sets[index].is_made = true;
}

/// The descriptor of /dev/null; -1 with errno set if it cannot be opened.
static int dev_null(void) {
    static int null_device = -1;
    if (null_device < 0) null_device = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return null_device;
}

/// How many sets this process can afford: at most an eighth of the descriptors that it may have.
static int affordable_sets(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 8 / SET_SIZE >= SET_COUNT) return SET_COUNT;
    return (int)(limit.rlim_cur / 8 / SET_SIZE);
}

/// All sets are created at the first start, while low numbers are free.
static void make_sets(void) {
    static bool are_made;
    if (are_made) return;
    int null_device = dev_null();
    int count = affordable_sets();
    for (int index = 0; index < count && null_device >= 0; index++) make_set(index, null_device);
    are_made = true;
}

static int take_set(void) {
    make_sets();
    for (int index = 0; index < SET_COUNT; index++) {
        if (descriptor_sets[index].is_taken || !descriptor_sets[index].is_made) continue;
        descriptor_sets[index].is_taken = true;
        return index;
    }
    return -1;
}

/// Copies the descriptors for the child and keeps the copies until the child has its own table, so that the caller can
/// close the originals at any time. False, with errno set, if there are no free descriptors.
static bool copy_descriptors(cspawn_request *request, launch_resources *held) {
    int *passed_on[SET_SIZE] = {&request->output, &request->error, &request->control_group};
    held->set = take_set();
    for (int each = 0; each < SET_SIZE; each++) {
        if (*passed_on[each] < 0) continue;
        int copy;
        if (held->set >= 0) {
            copy = dup3(*passed_on[each], descriptor_sets[held->set].descriptors[each], O_CLOEXEC);
        } else {
            copy = held->copies[each] = fcntl(*passed_on[each], F_DUPFD_CLOEXEC, 3);
        }
        if (copy < 0) return false;
        *passed_on[each] = copy;
    }
    if (request->passed < 0) return true;
    // Few children have one, so no number is reserved for it.
    request->passed = held->passed = fcntl(request->passed, F_DUPFD_CLOEXEC, 3);
    return request->passed >= 0;
}

/// The same, and creates the file with the text for its standard input. Returns the step that failed, with errno set, or NONE.
static cspawn_step give_descriptors(cspawn_request *request, launch_resources *held) {
    if (request->text != NULL) {
        held->text = cspawn_make_text(request->text, request->text_length);
        if (held->text < 0) return CSPAWN_STEP_INPUT;
        request->input = held->text;
    }
    return copy_descriptors(request, held) ? CSPAWN_STEP_NONE : CSPAWN_STEP_DESCRIPTORS;
}

/// Closes these copies: the reader of a pipe sees its end only when all descriptors of it are closed. Reserved numbers
/// refer to /dev/null again.
static void release_descriptors(launch_resources *held) {
    if (held->set >= 0) {
        int null_device = dev_null();
        for (int each = 0; each < SET_SIZE; each++) {
            int descriptor = descriptor_sets[held->set].descriptors[each];
            if (null_device >= 0 && dup3(null_device, descriptor, O_CLOEXEC) >= 0) continue;
            // This set cannot be used any more.
            close(descriptor);
            descriptor_sets[held->set].is_made = false;
        }
        descriptor_sets[held->set].is_taken = false;
        held->set = -1;
    }
    for (int each = 0; each < SET_SIZE; each++) {
        if (held->copies[each] >= 0) close(held->copies[each]);
        held->copies[each] = -1;
    }
    if (held->passed >= 0) close(held->passed);
    if (held->text >= 0) close(held->text);
    held->passed = held->text = -1;
}

// MARK: - Starts in progress

static bool make_launches(void) {
    if (launches != NULL) return true;
    void *shared = mmap(NULL, LAUNCHES * sizeof *launches, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED) return false;
    launches = shared;
    return true;
}

static int take_launch(void) {
    int index = first_free;
    if (index >= 0) {
        first_free = resources[index].next_free;
    } else if (made_launches < LAUNCHES) {
        index = made_launches++;
    } else {
        errno = EAGAIN;
        return -1;
    }
    cspawn_launch *launch = &launches[index];
    __atomic_store_n(&launch->word, 0U, __ATOMIC_RELAXED);
    __atomic_store_n(&launch->has_own_descriptors, 0U, __ATOMIC_RELAXED);
    __atomic_store_n(&launch->step, (uint32_t)CSPAWN_STEP_NONE, __ATOMIC_RELAXED);
    launch->error = 0;
    launch->item = 0;
    resources[index] = (launch_resources){.set = -1, .copies = {-1, -1, -1}, .passed = -1, .text = -1};
    return index;
}

static void free_launch(int index) {
    release_descriptors(&resources[index]);
    resources[index].next_free = first_free;
    first_free = index;
}

cspawn_progress cspawn_poll_launch(int number, cspawn_failure *failure) {
    pthread_mutex_lock(&lock);
    cspawn_launch *launch = &launches[number];
    bool is_over = __atomic_load_n(&launch->word, __ATOMIC_ACQUIRE) & LAUNCH_OVER;
    bool has_own_descriptors = is_over || __atomic_load_n(&launch->has_own_descriptors, __ATOMIC_ACQUIRE) != 0;
    if (has_own_descriptors) release_descriptors(&resources[number]);
    pthread_mutex_unlock(&lock);
    failure->step = (cspawn_step)__atomic_load_n(&launch->step, __ATOMIC_ACQUIRE);
    failure->error = launch->error;
    failure->item = launch->item;
    return is_over ? CSPAWN_IS_OVER : has_own_descriptors ? CSPAWN_HAS_OWN_DESCRIPTORS : CSPAWN_SHARES_DESCRIPTORS;
}

bool cspawn_give_back_descriptors(int number) {
    if (__atomic_load_n(&launches[number].has_own_descriptors, __ATOMIC_ACQUIRE) == 0) return false;
    pthread_mutex_lock(&lock);
    release_descriptors(&resources[number]);
    pthread_mutex_unlock(&lock);
    return true;
}

bool cspawn_is_over(int number) {
    return __atomic_load_n(&launches[number].word, __ATOMIC_ACQUIRE) & LAUNCH_OVER;
}

void cspawn_release_launch(int number) {
    pthread_mutex_lock(&lock);
    free_launch(number);
    pthread_mutex_unlock(&lock);
}

// MARK: - A start

/// Creates the process, with its own memory: a copy of the little that it needs of this process's memory (`memory.h`).
static void make_process(child_plan *plan, cspawn_result *result) {
    int pidfd = -1;
    // CLONE_FILES: the descriptor table is not copied either. CLONE_PIDFD: a handle that can never refer to another
    // process, closed on exec. Most runs need none, and each takes a place in the table that later children copy.
    unsigned long flags = CLONE_FILES | SIGCHLD;
    if (plan->request->wants_pidfd) flags |= CLONE_PIDFD;
    plan->earliest = since_boot();
    if (plan->request->record != NULL) plan->request->record->earliest = plan->earliest;
    long pid = clone_on_stack(flags, packed.memory, &pidfd, plan);
    result->pid = pid < 0 ? -1 : (pid_t)pid;
    result->pidfd = pidfd;
    if (pid < 0) {
        result->step = CSPAWN_STEP_CLONE;
        result->error = (int)-pid;
    }
}

static void start(const cspawn_request *request, cspawn_result *result) {
    result->step = CSPAWN_STEP_MEMORY;
    if (!make_launches() || !pack_request(request)) {
        result->error = errno;
        return;
    }
    child_plan *plan = &packed.memory->plan;
    cspawn_prepare_memory(packed.memory, launches, &plan->inherited);
    result->launch = take_launch();
    if (result->launch < 0) {
        result->error = errno;
        return;
    }
    plan->launch = &launches[result->launch];
    plan->has_short_slice = clinux_has_short_slice();
    result->step = give_descriptors(&packed.memory->request, &resources[result->launch]);
    result->error = result->step == CSPAWN_STEP_NONE ? 0 : errno;
    if (result->step == CSPAWN_STEP_NONE) make_process(plan, result);
    shrink_packed();
    if (result->step != CSPAWN_STEP_NONE) free_launch(result->launch);
}

void cspawn_prepare(void) {
    pthread_mutex_lock(&lock);
    make_sets();
    if (make_launches() && grow_packed(0) == 0) {
        cspawn_inherited inherited;
        cspawn_rescan_memory();
        cspawn_prepare_memory(packed.memory, launches, &inherited);
    }
    pthread_mutex_unlock(&lock);
}

cspawn_result cspawn_start(const cspawn_request *request) {
    cspawn_result result = {.pid = -1, .pidfd = -1, .launch = -1};
    // With every signal blocked, no signal handler runs in the child, which does not have the memory that the handler
    // needs. This makes the system call directly, because the C library leaves its own two signals unblocked.
    const uint64_t all = ~UINT64_C(0);
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, SIGNALS / 8);
    pthread_mutex_lock(&lock);
    start(request, &result);
    pthread_mutex_unlock(&lock);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, SIGNALS / 8);
    return result;
}
