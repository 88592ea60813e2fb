// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// Passes a request to the program `timerd-session`, and receives its reports.

#define _GNU_SOURCE

#include "CSpawn.h"
#include "child.h"
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The start of the shared memory in which a request is passed. The request points to the data behind it.
typedef struct {
    /// Tells layouts apart: `timerd-session` may have been upgraded while the runner runs.
    char version[16];
    uint64_t request_bytes;
    /// The address at which it was mapped when it was written.
    uint64_t address;
    uint64_t service_at, user_at, end;
    cspawn_request request;
} session_image;

static const char VERSION[16] = "timerd-session1";

/// Rounded up, so that the parts behind the image are aligned.
enum { IMAGE_BYTES = (sizeof(session_image) + 63) / 64 * 64 };

// MARK: - The runner's side

static void write_image(char *memory, size_t size, const cspawn_request *request, const cspawn_session *session) {
    session_image *image = (session_image *)memory;
    memcpy(image->version, VERSION, sizeof VERSION);
    image->request_bytes = sizeof image->request;
    image->address = (uint64_t)(uintptr_t)memory;
    image->request = *request;
    // `timerd-session` inherits the text as its own standard input.
    image->request.text = NULL;
    image->request.text_length = 0;
    cspawn_pack(&image->request, memory + IMAGE_BYTES);
    size_t user_bytes = strlen(session->user) + 1, service_bytes = strlen(session->service) + 1;
    image->end = size;
    image->user_at = size - user_bytes;
    image->service_at = image->user_at - service_bytes;
    memcpy(memory + image->user_at, session->user, user_bytes);
    memcpy(memory + image->service_at, session->service, service_bytes);
}

/// Creates a file in memory with the request; -1 with errno set.
static int make_file(const cspawn_request *request, const cspawn_session *session) {
    int file = (int)syscall(SYS_memfd_create, "timerd-session", 1U /* MFD_CLOEXEC */);
    if (file < 0) return -1;
    size_t size = IMAGE_BYTES + cspawn_packed_size(request) + strlen(session->service) + strlen(session->user) + 2;
    void *memory = MAP_FAILED;
    if (ftruncate(file, (off_t)size) == 0) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (memory == MAP_FAILED) {
        int error = errno;
        close(file);
        errno = error;
        return -1;
    }
    write_image(memory, size, request, session);
    munmap(memory, size);
    return file;
}

/// Room for one descriptor sent along with a message.
typedef union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} descriptor_room;

static ssize_t send_with(int socket, void *bytes, size_t count, int descriptor) {
    descriptor_room room = {0};
    struct iovec vector = {.iov_base = bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = &room;
        message.msg_controllen = sizeof room.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent;
}

/// - descriptor: becomes the descriptor sent along with the message, or -1.
static ssize_t receive_with(int socket, void *bytes, size_t count, int *descriptor) {
    *descriptor = -1;
    descriptor_room room;
    struct iovec vector = {.iov_base = bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &room,
                             .msg_controllen = sizeof room.bytes};
    ssize_t received;
    do received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
        && header->cmsg_len == CMSG_LEN(sizeof *descriptor)) {
        memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    }
    return received;
}

/// Creates the socket pair and sends the request through it. False with errno set.
static bool make_socket(const cspawn_request *request, const cspawn_session *session, int ends[2]) {
    int file = make_file(request, session);
    if (file < 0) return false;
    bool is_made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
    char word = 0;
    bool is_sent = is_made && send_with(ends[0], &word, 1, file) == 1;
    int error = errno;
    close(file);
    if (is_made && !is_sent) {
        close(ends[0]);
        close(ends[1]);
    }
    errno = error;
    return is_sent;
}

cspawn_result cspawn_start_session(const cspawn_request *request, const cspawn_session *session, int *socket) {
    *socket = -1;
    int ends[2];
    if (!make_socket(request, session, ends)) {
        return (cspawn_result){.pid = -1, .pidfd = -1, .launch = -1, .step = CSPAWN_STEP_HELPER, .error = errno};
    }
    // No variable of the job is passed: modules that run as root must not see its environment.
    char name[] = "timerd-session";
    char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char *arguments[] = {name, NULL};
    char *environment[] = {path, NULL};
    cspawn_request helper = {
        .candidates = session->helpers, .arguments = arguments, .environment = environment,
        .directory = "/", .input = request->input, .output = request->output, .error = request->error,
        .text = request->text, .text_length = request->text_length, .passed = ends[1], .umask = 022, .nice = request->nice, .signals = request->signals,
        .open_files = request->open_files, .data_bytes = request->data_bytes,
        .control_group = request->control_group, .record = request->record, .record_file = request->record_file,
        .record_offset = request->record_offset, .wants_pidfd = request->wants_pidfd,
    };
    cspawn_result result = cspawn_start(&helper);
    close(ends[1]);
    if (result.step == CSPAWN_STEP_NONE) {
        *socket = ends[0];
    } else {
        close(ends[0]);
    }
    return result;
}

int cspawn_receive_report(int socket, cspawn_report *report, int *program) {
    ssize_t received = receive_with(socket, report, sizeof *report, program);
    if (received == (ssize_t)sizeof *report) {
        report->name[sizeof report->name - 1] = '\0';
        report->text[sizeof report->text - 1] = '\0';
        return 1;
    }
    if (*program >= 0) close(*program);
    *program = -1;
    return received < 0 && errno == EAGAIN ? 0 : -1;
}

// MARK: - timerd-session's side

static bool is_sound(const session_image *image, size_t size) {
    return memcmp(image->version, VERSION, sizeof VERSION) == 0 && image->request_bytes == sizeof image->request
        && image->end == size;
}

int cspawn_receive_session(int socket, cspawn_request *request, cspawn_session *session) {
    char word;
    int file;
    if (receive_with(socket, &word, 1, &file) != 1 || file < 0) return -1;
    struct stat status;
    char *memory = MAP_FAILED;
    size_t size = 0;
    if (fstat(file, &status) == 0) {
        size = (size_t)status.st_size;
        errno = EPROTO;
        if (size > IMAGE_BYTES) memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    }
    int error = errno;
    close(file);
    errno = error;
    if (memory == MAP_FAILED) return -1;
    const session_image *image = (const session_image *)memory;
    if (!is_sound(image, size)) {
        errno = EPROTO;
        return -1;
    }
    *request = image->request;
    cspawn_relocate(request, memory - (char *)(uintptr_t)image->address);
    session->service = memory + image->service_at;
    session->user = memory + image->user_at;
    return 0;
}

void cspawn_report_to_runner(int socket, const cspawn_report *report, int descriptor) {
    cspawn_report copy = *report;
    send_with(socket, &copy, sizeof copy, descriptor);
}

static _Noreturn void run_child(const child_plan *plan, int socket) {
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0U);
    cspawn_report report = {.kind = CSPAWN_REPORT_OPEN};
    cspawn_report_to_runner(socket, &report, self);
    cspawn_run_session_child(plan);
}

pid_t cspawn_start_in_session(const cspawn_request *request, int socket, cspawn_failure *failure) {
    cspawn_launch *launch = mmap(NULL, sizeof *launch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (launch == MAP_FAILED) return -1;
    cspawn_request handed = *request;
    // The program gets the default disposition for every signal, whatever this process set.
    handed.signals = ~UINT64_C(0) & ~(UINT64_C(1) << (SIGKILL - 1)) & ~(UINT64_C(1) << (SIGSTOP - 1));
    handed.control_group = handed.record_file = handed.passed = -1;
    handed.record = NULL;
    // `timerd-session` was already set up with these; only what the job declares is left to set.
    handed.open_files = handed.data_bytes = 0;
    child_plan plan = cspawn_make_plan(&handed);
    plan.launch = launch;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    // CLONE_VFORK: this process waits until the child executes its program or ends. Their memory is not shared.
    long pid = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) run_child(&plan, socket);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    failure->step = (cspawn_step)launch->step;
    failure->error = launch->error;
    failure->item = launch->item;
    munmap(launch, sizeof *launch);
    errno = error;
    return (pid_t)pid;
}
