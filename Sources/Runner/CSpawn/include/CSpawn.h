// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Starts processes, and wraps the system calls for looking after them that glibc declares only with _GNU_SOURCE.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

/// Which step of a start failed.
typedef enum {
    CSPAWN_STEP_NONE,
    CSPAWN_STEP_MEMORY,
    CSPAWN_STEP_CLONE,
    CSPAWN_STEP_RECORD,
    CSPAWN_STEP_SESSION,
    CSPAWN_STEP_SIGNALS,
    CSPAWN_STEP_NICE,
    CSPAWN_STEP_CONTROL_GROUP,
    CSPAWN_STEP_DESCRIPTORS,
    CSPAWN_STEP_LIMITS,
    CSPAWN_STEP_GROUPS,
    CSPAWN_STEP_GROUP,
    CSPAWN_STEP_USER,
    CSPAWN_STEP_DIRECTORY,
    CSPAWN_STEP_EXEC,
    CSPAWN_STEP_KEYS,
    CSPAWN_STEP_CAPABILITIES,
    CSPAWN_STEP_LABEL,
    CSPAWN_STEP_NO_NEW_PRIVILEGES,
    /// The steps of `timerd-session`.
    CSPAWN_STEP_HELPER,
    CSPAWN_STEP_PAM_SERVICE,
    CSPAWN_STEP_PAM_START,
    CSPAWN_STEP_PAM_ACCOUNT,
    CSPAWN_STEP_PAM_CREDENTIALS,
    CSPAWN_STEP_PAM_SESSION,
    /// Further steps of any start. New ones come last, because the runner and `timerd-session` exchange the numbers.
    CSPAWN_STEP_INPUT,
    CSPAWN_STEP_IO_PRIORITY,
    CSPAWN_STEP_CPU_POLICY,
    CSPAWN_STEP_OOM_SCORE,
} cspawn_step;

/// A limit of setrlimit(2); UINT64_MAX is none. If the process may not have it, it gets the highest that it may have.
typedef struct {
    int resource;
    uint64_t soft, hard;
} cspawn_limit;

/// A text that the process writes to one of its own files in /proc before it executes its program, such as the security
/// context for the program.
typedef struct {
    const char *_Nonnull file;
    const char *_Nonnull text;
    size_t length;
    /// Whether the program still runs if this write fails.
    bool is_optional;
} cspawn_label;

/// The stages of a run record. A record at the first stage is unused.
#define CSPAWN_RECORD_FREE 0U
#define CSPAWN_RECORD_CREATED 1U
#define CSPAWN_RECORD_SPAWNED 2U
#define CSPAWN_RECORD_ENDED 3U

/// What the process of a run writes about itself. The memory is a mapped file, so the record remains when the runner
/// exits.
typedef struct {
    /// One of CSPAWN_RECORD_…; set after all other fields are written.
    uint32_t stage;
    pid_t pid;
    /// CLOCK_BOOTTIME in nanoseconds, right before and right after the process was created. The start time that proc(5)
    /// reports for the process lies between them. No other process with the same process id has a start time in this
    /// range.
    int64_t earliest, latest;
} cspawn_run_record;

/// Sets the stage, ordered after all earlier writes (a release store).
void cspawn_set_stage(cspawn_run_record *_Nonnull record, uint32_t stage);

/// Creates a file in memory with this text, positioned at its start, that can never be changed. Returns its descriptor,
/// closed on exec, or -1 with errno set.
int cspawn_make_text(const char *_Nullable text, size_t length);

/// What to start and how.
typedef struct {
    /// The files to try, in this order, ended by NULL: the path of the program, or its name in each directory of PATH.
    const char *const _Nullable *_Nonnull candidates;
    /// The arguments, ended by NULL.
    char *const _Nullable *_Nonnull arguments;
    /// The whole environment, ended by NULL.
    char *const _Nullable *_Nonnull environment;
    /// The working directory.
    const char *_Nonnull directory;
    /// Whether the program runs in `/` if that directory cannot be entered. Otherwise the start fails.
    bool may_run_in_root;
    /// The descriptors that become 0, 1 and 2. All others are closed, except 3 if `passed` is set.
    int input, output, error;
    /// What the program reads from its standard input, which then ends; NULL if it reads from `input`. Each process
    /// gets its own copy, in memory that cannot be changed.
    const char *_Nullable text;
    size_t text_length;
    /// The descriptor that becomes 3; -1 for none.
    int passed;
    /// The file mode creation mask.
    mode_t umask;
    /// The nice value, -20 to 19. Without the privilege to lower it to 0, the process keeps the value of its parent.
    /// Any other value that cannot be set fails the start.
    int nice;
    /// By how much the kernel may delay each wait, in nanoseconds, at least 1 (prctl(2), PR_SET_TIMERSLACK).
    unsigned long timer_slack;
    /// The scheduling policy, such as SCHED_BATCH (sched(7)), and its priority: 1 to 99 for SCHED_FIFO and SCHED_RR, 0
    /// for any other. If the parent has another policy than SCHED_OTHER and the privilege to leave it is missing, the
    /// process keeps it. Any policy other than SCHED_OTHER that cannot be set fails the start.
    int cpu_policy, cpu_priority;
    /// The class and level for I/O, as in ioprio_set(2); 0 is the default of the kernel. Any other value that cannot be
    /// set fails the start.
    int io_priority;
    /// Whether the process gets this OOM score adjustment, -1000 to 1000 (proc(5)), or the start fails. Without it, the
    /// process gets 0, or keeps that of its parent if the privilege to lower it is missing.
    bool has_oom_score;
    int oom_score;
    /// The signals whose dispositions the child resets to the default; see `cspawn_signals`.
    uint64_t signals;
    /// The soft limit of open files (setrlimit(2), RLIMIT_NOFILE), capped at the hard limit; 0 leaves it unchanged.
    uint64_t open_files;
    /// The soft limit of memory for data (RLIMIT_DATA), if this process has a different one; 0 leaves it unchanged.
    uint64_t data_bytes;
    /// Further limits, set in this order.
    const cspawn_limit *_Nullable limits;
    int limit_count;
    /// Whether the process switches to another user: the supplementary groups, the group and the user.
    bool switches_user;
    uid_t user;
    gid_t group;
    const gid_t *_Nullable groups;
    int group_count;
    /// Whether the program gets exactly these capabilities (capability N is bit N). Neither it nor a program that it
    /// executes can get others. The start fails at the first capability that this process does not have.
    bool has_capabilities;
    uint64_t capabilities;
    /// The texts that the process writes after it has switched the user.
    const cspawn_label *_Nullable labels;
    int label_count;
    /// Whether no execve(2) can give the process more privileges (prctl(2), PR_SET_NO_NEW_PRIVS).
    bool has_no_new_privileges;
    /// The file cgroup.procs of the control group to run in, open for writing; -1 to stay in the parent's control
    /// group.
    int control_group;
    /// The record of the run, or NULL. Its `earliest` is set before the process is created.
    cspawn_run_record *_Nullable record;
    /// Where the process writes its own process id before it executes its program, so that no process of a run is ever
    /// unrecorded: the file that contains the record, and the offset of the record in it. -1 for none.
    int record_file;
    int64_t record_offset;
    /// CLOCK_MONOTONIC in nanoseconds: the process sets itself up at once and executes its program no earlier than this.
    /// 0 for at once. It takes signals like its program would while it waits.
    int64_t not_before;
    /// Whether the result has a pidfd.
    bool wants_pidfd;
} cspawn_request;

/// The result of a start: a process that is setting itself up, or the step that failed and its errno.
typedef struct {
    pid_t pid;
    /// A pidfd of the process, or -1.
    int pidfd;
    /// The identifier to pass to `cspawn_poll_launch`.
    int launch;
    cspawn_step step;
    int error;
} cspawn_result;

/// A step of the set-up that failed in the process.
typedef struct {
    cspawn_step step;
    int error;
    /// The index of the limit or label that could not be set, or the number of the capability that this process does
    /// not have. -1 for anything else, such as the soft limit of open files or of memory for data.
    int item;
} cspawn_failure;

/// The progress of a process that was started.
typedef enum {
    /// It is setting itself up and still shares this process's descriptor table.
    CSPAWN_SHARES_DESCRIPTORS,
    /// It is setting itself up and has its own descriptor table.
    CSPAWN_HAS_OWN_DESCRIPTORS,
    /// It runs its program, or it has ended: its set-up failed, or it was killed.
    CSPAWN_IS_OVER,
} cspawn_progress;

/// The signals that this process ignores or handles, or whose disposition cannot be read; signal N is bit N - 1. Call
/// it once, when all dispositions are set: if each child queried or reset all signals, that would take more than a third
/// of its set-up time.
uint64_t cspawn_signals(void);

/// Creates a process in a new session and returns at once. The process sets itself up and executes its program.
///
/// This function does not wait for the set-up, because that may take for ever: the working directory and the program
/// may be on a file server that does not answer, and the user of the run may stop the process. So, unlike after
/// vfork(2), the process has its own memory. `cspawn_poll_launch` reports its progress, and the caller can kill it if
/// the set-up takes too long. On x86-64 and arm64 the process gets almost nothing of this process's memory, so the cost
/// of a start does not grow with it; on other architectures it gets a copy of all of it.
///
/// With its first start, the calling thread gives up its restartable sequences (rseq(2)) for good: the process would
/// inherit them without the memory that they are in. The C library then asks the kernel in sched_getcpu(3).
///
/// Copies of the descriptors are kept open until the process has its own descriptor table. Call `cspawn_release_launch`
/// once for each process that was created.
cspawn_result cspawn_start(const cspawn_request *_Nonnull request);

/// Does now what the next start of the calling thread would otherwise do first, some 0.2 ms of work: it reserves
/// descriptors and marks the memory that children get. Calling it is optional. It is worth calling after this process
/// has allocated much memory, because children get a copy of memory that is not marked.
void cspawn_prepare(void);

/// Reports the progress of a process's set-up without a system call. It closes the descriptors that were kept open for
/// the process once the process has its own table. `failure` is always filled in; its step is NONE while no step has
/// failed.
cspawn_progress cspawn_poll_launch(int launch, cspawn_failure *_Nonnull failure);

/// Closes the descriptors that were kept open for the process, if it has its own table by now; false if not.
bool cspawn_give_back_descriptors(int launch);

/// Whether a set-up is over. This reads one word in shared memory and changes nothing.
bool cspawn_is_over(int launch);

/// Frees a launch. Call it when the set-up is over or the process has ended.
void cspawn_release_launch(int launch);

/// How a program is started in a PAM session (pam(8)). The program `timerd-session` opens the session, starts the
/// program as its child, waits for it, closes the session, and ends with the same exit code or signal as the program.
/// PAM loads modules, which may do anything and take any time, so this process never uses PAM itself.
typedef struct {
    /// The paths at which `timerd-session` may be installed, ended by NULL.
    const char *const _Nullable *_Nonnull helpers;
    /// The PAM service, and the user's name.
    const char *_Nonnull service, *_Nonnull user;
} cspawn_session;

/// Starts `timerd-session` for this request, like `cspawn_start`. The request is passed in memory that has no name
/// (memfd_create(2)), so neither the arguments nor the environment of `timerd-session` show it.
///
/// `socket` becomes the end of a socket for `cspawn_receive_report`, closed on exec, or -1 if no process was created.
cspawn_result cspawn_start_session(const cspawn_request *_Nonnull request, const cspawn_session *_Nonnull session,
                                   int *_Nonnull socket);

/// What `timerd-session` reports.
typedef enum {
    /// The session is open, and the process that will execute the program is setting itself up.
    CSPAWN_REPORT_OPEN,
    /// The program runs.
    CSPAWN_REPORT_RUNS,
    /// A step failed; the program does not run.
    CSPAWN_REPORT_FAILED,
} cspawn_report_kind;

/// A report of `timerd-session`.
typedef struct {
    cspawn_report_kind kind;
    /// The step that failed; `error` is an errno, or for a step of PAM its code.
    cspawn_failure failure;
    /// For a step of PAM: the name of its code, such as PAM_ACCT_EXPIRED, and the message of PAM. Both are
    /// NUL-terminated.
    char name[32];
    char text[400];
} cspawn_report;

/// Receives the next report from the socket of a session, without waiting. `program` becomes a pidfd of the process
/// that executes the program, closed on exec, if the report carries one; otherwise -1. Returns 1; 0 if there is no
/// report yet; -1 if no more reports will come.
int cspawn_receive_report(int socket, cspawn_report *_Nonnull report, int *_Nonnull program);

/// The descriptor at which `timerd-session` gets its socket for `cspawn_receive_session`.
enum { CSPAWN_SESSION_DESCRIPTOR = 3 };

/// For `timerd-session`: receives the request, the service and the user's name from the socket. They stay valid until
/// the process ends. Returns 0, or -1 with errno set: EPROTO if another version of `cspawn_start_session` sent the
/// request.
int cspawn_receive_session(int socket, cspawn_request *_Nonnull request, cspawn_session *_Nonnull session);

/// For `timerd-session`: sends a report, with a descriptor or -1. If the runner was killed, the report is lost.
void cspawn_report_to_runner(int socket, const cspawn_report *_Nonnull report, int descriptor);

/// For `timerd-session`: creates a child that first reports its pidfd through the socket and then executes the program.
/// Returns the process id of the child once it runs its program or has failed. `failure` is filled in; its step is NONE
/// if the program runs. Returns -1 with errno set if no child could be created.
pid_t cspawn_start_in_session(const cspawn_request *_Nonnull request, int socket, cspawn_failure *_Nonnull failure);

/// Undoes settings that make the kernel discard exit statuses: SA_NOCLDWAIT, or SIGCHLD being ignored, which this
/// program may inherit through execve (waitid(2), Notes).
void cspawn_reset_sigchld(void);

/// Disables core dumps of this process and lets only root read its memory (prctl(2), PR_SET_DUMPABLE).
void cspawn_hide_memory(void);

/// The identity whose permissions are used: a user, with a group and supplementary groups.
typedef struct {
    uid_t user;
    gid_t group;
    const gid_t *_Nullable groups;
    int group_count;
} cspawn_identity;

/// Opens a file for reading with the permissions of this identity, or with those of this process if it is NULL. No part
/// of the path may be a symbolic link: errno is ELOOP then. It does not wait for the writer of a FIFO, and it never
/// makes a terminal the controlling terminal of this process.
///
/// Only the calling thread gets the permissions of the user, until it returns. Switching to another user requires
/// root's privileges. Returns the descriptor, closed on exec, or -1 with errno set.
int cspawn_open_file(const char *_Nonnull path, const cspawn_identity *_Nullable identity);

/// The same with the permissions of this process, opening one part of the path after the other. `cspawn_open_file` uses
/// it on systems without openat2(2).
int cspawn_open_by_parts(const char *_Nonnull path);

/// Lets exactly one user besides the owner read a file, or list and search a directory, by an access control list
/// (acl(5)). If the file system does not support those, a file gets the user as its owner, and everyone can list a
/// directory. The mode must be 0400 or 0500 before. Returns 0, or -1 with errno set.
int cspawn_grant_read(int descriptor, uid_t user, bool is_directory);

/// How a process ended and what it used.
typedef struct {
    /// CLD_EXITED, CLD_KILLED or CLD_DUMPED.
    int code;
    /// The exit code, or the signal's number.
    int status;
    int64_t user_microseconds;
    int64_t system_microseconds;
    /// The largest resident set, in KiB.
    int64_t peak_kibibytes;
} cspawn_end;

/// Reaps the process behind the pidfd, without waiting. Returns 1 if it had ended, 0 if it is still running, -1 with
/// errno set on an error.
int cspawn_reap(int pidfd, cspawn_end *_Nonnull end);

/// The same for a child with this process id, which must not be reaped yet: until then no other process gets its id.
int cspawn_reap_child(pid_t pid, cspawn_end *_Nonnull end);

/// Returns a pidfd of the process with this process id, closed on exec; -1 with errno set if there is no such process.
int cspawn_open_process(pid_t pid);

/// Makes this process the parent of orphaned descendants (prctl(2), PR_SET_CHILD_SUBREAPER), so that it can reap them
/// too. Returns a descriptor that becomes readable when a child ends, or -1 with errno set. SIGCHLD must be blocked in
/// every thread.
int cspawn_watch_orphans(void);

/// Reads the pending notification from that descriptor. Call it before reaping, so that a child that ends meanwhile
/// makes it readable again.
void cspawn_drain_watch(int watch);

/// Reaps any child that has ended, without waiting. Returns its process id, or 0 if none has ended.
pid_t cspawn_reap_any(cspawn_end *_Nonnull end);

/// Sends a signal to the process group that the process behind the pidfd leads, or with 0 checks whether the group has
/// a member; a zombie counts. Returns 0, or -1 with errno set: ESRCH if the group is empty.
///
/// This works after the leader of the group has ended and was reaped. Since Linux 6.9 the kernel finds the group by the
/// pidfd (pidfd_send_signal(2), PIDFD_SIGNAL_PROCESS_GROUP). Older kernels find it by its number, which the kernel can
/// reuse once the group is empty. So if the leader was reaped and a process with that number exists, the number belongs
/// to another group.
///
/// - is_reaped: whether the leader was reaped.
int cspawn_signal_group(int pidfd, pid_t group, bool is_reaped, int signal);

/// Sends a signal to the process behind the pidfd. Returns 0, or -1 with errno set.
int cspawn_signal(int pidfd, int signal);

/// Creates a pipe whose ends are closed on exec and whose reading end does not block. Returns 0, or -1 with errno set.
int cspawn_pipe(int *_Nonnull reading, int *_Nonnull writing);

/// The descriptor at which a program started by `cspawn_detach` gets its pipe for `cspawn_notify_parent`.
enum { CSPAWN_READY_DESCRIPTOR = 3 };

/// Closes every descriptor above 2, executes this program again with other arguments in a new session, and waits for
/// it. When it calls `cspawn_notify_parent`, this process exits with 0; when it ends before, this process exits with
/// its status. The caller must block SIGTERM, SIGINT and SIGHUP; this function forwards them to the new process.
///
/// It executes the program again because a fork alone is not safe: Swift's locks identify a thread by a thread id that
/// they have cached, and after a fork that is the id of another process's thread. The first two threads that contend
/// for such a lock would deadlock.
///
/// Returns only on an error: -1 with errno set.
int cspawn_detach(char *_Nullable const *_Nonnull arguments);

/// Makes the process that waits in `cspawn_detach` exit with 0.
void cspawn_notify_parent(int descriptor);

/// The name of a signal without the prefix SIG, such as "KILL"; NULL for an unknown number.
const char *_Nullable cspawn_signal_name(int signal);

/// The name of an errno, such as "ENOENT"; NULL for an unknown number.
const char *_Nullable cspawn_error_name(int error);
