// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Starting a process, and the system calls for looking after it that Glibc shows only with _GNU_SOURCE.

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
    CSPAWN_STEP_MARK,
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
} cspawn_step;

/// A limit of setrlimit(2); UINT64_MAX is none.
typedef struct {
    int resource;
    uint64_t soft, hard;
} cspawn_limit;

/// A text that the process writes to a file of its own in /proc before it runs its program, such as the context that a
/// security module is to give the program.
typedef struct {
    const char *_Nonnull file;
    const char *_Nonnull text;
    size_t length;
    /// Whether the program runs as well if that fails.
    bool is_optional;
} cspawn_label;

/// How far a run has got, whose mark it is; the first is nobody's.
#define CSPAWN_MARK_FREE 0U
#define CSPAWN_MARK_MADE 1U
#define CSPAWN_MARK_PROCESS 2U
#define CSPAWN_MARK_ENDED 3U

/// What the process of a run says of itself, in memory that is a file's and so outlives this program.
typedef struct {
    /// One of CSPAWN_MARK_…; set when all the rest is written.
    uint32_t stage;
    pid_t pid;
    /// CLOCK_BOOTTIME in nanoseconds, right before and right after it was made. Its start, as proc(5) tells
    /// it, lies between them, and that of no other process of this number does.
    int64_t earliest, latest;
} cspawn_mark;

/// Sets the stage behind everything written before.
void cspawn_set_stage(cspawn_mark *_Nonnull mark, uint32_t stage);

/// What to start, and how.
typedef struct {
    /// The files to try, in this order, ended by NULL: the program's path, or its name in each directory
    /// of PATH.
    const char *const _Nullable *_Nonnull candidates;
    /// The arguments, ended by NULL.
    char *const _Nullable *_Nonnull arguments;
    /// The whole environment, ended by NULL.
    char *const _Nullable *_Nonnull environment;
    /// Where to run.
    const char *_Nonnull directory;
    /// Whether to run in `/` if that directory cannot be entered, instead of failing.
    bool may_run_in_root;
    /// What become descriptors 0, 1 and 2. All others are closed, except 3 if something is passed there.
    int input, output, error;
    /// What becomes descriptor 3; -1 for nothing.
    int passed;
    /// The file mode creation mask.
    mode_t umask;
    /// The nice value, -20 to 19. Without the privilege to lower it to 0, the parent's stays; any other
    /// that cannot be had fails the start.
    int nice;
    /// The signals whose dispositions the child sets back to their defaults; see `cspawn_signals`.
    uint64_t signals;
    /// The soft limit of open files (setrlimit(2), RLIMIT_NOFILE); never above the hard one; 0 leaves it as it is.
    uint64_t open_files;
    /// The soft limit of memory for data (RLIMIT_DATA), where this process has another one; 0 leaves it as it is.
    uint64_t data_bytes;
    /// Further limits, set in this order.
    const cspawn_limit *_Nullable limits;
    int limit_count;
    /// Whether to become another user: the supplementary groups, the group and the user.
    bool switches_user;
    uid_t user;
    gid_t group;
    const gid_t *_Nullable groups;
    int group_count;
    /// Whether the program has these capabilities, where capability N is bit N, and neither it nor a program that it
    /// runs can have others; the first of them that this process does not have fails the start.
    bool has_capabilities;
    uint64_t capabilities;
    /// The texts that are written once it is that user.
    const cspawn_label *_Nullable labels;
    int label_count;
    /// Whether no program can give it more privileges (prctl(2), PR_SET_NO_NEW_PRIVS).
    bool has_no_new_privileges;
    /// The file cgroup.procs of the control group to run in, open for writing; -1 for the parent's own.
    int control_group;
    /// The mark of the run, whose `earliest` is set before there is a process; NULL for none.
    cspawn_mark *_Nullable mark;
    /// Where the process writes down which it is before it runs its program, so that there is none that is
    /// not written down: the file that has the mark, and where in it; -1 for nowhere.
    int mark_file;
    int64_t mark_offset;
} cspawn_request;

/// What came of a start: a process that sets itself up, or the step that failed with its errno.
typedef struct {
    pid_t pid;
    int pidfd;
    /// What `cspawn_look` is asked with.
    int launch;
    cspawn_step step;
    int error;
} cspawn_result;

/// A step of its set-up that a process could not take.
typedef struct {
    cspawn_step step;
    int error;
    /// Which of the limits or labels could not be set, or which capability this process does not have; -1 for another
    /// reason, such as the soft limit of open files or of memory for data.
    int item;
} cspawn_failure;

/// How far a process has got.
typedef enum {
    /// It sets itself up, and has this process's table of descriptors yet.
    CSPAWN_SHARES,
    /// It sets itself up.
    CSPAWN_HAS_LEFT,
    /// It runs its program, or it is gone: it failed, or was killed.
    CSPAWN_IS_OVER,
} cspawn_progress;

/// The signals that this process ignores or handles, or of which that cannot be known; signal N is bit N - 1.
/// To be asked once for all that starts at one time, while no other thread changes any: to ask for each or to
/// set all of them takes more than a third of a child's time before its program.
uint64_t cspawn_signals(void);

/// Makes a process in a session of its own and returns at once; it sets itself up and runs its program.
///
/// It waits for nothing that the process touches, which has memory of its own: the directory, the program and all
/// that is on the way to them may be the user's the process has become, on a file server that does not answer, and
/// that user may stop it. `cspawn_look` says how far it is, and the caller can kill it if that takes too
/// long. Of this process's memory it has next to nothing, so that the cost does not grow with that.
///
/// Copies of the descriptors are held until the process has a table of its own. `cspawn_forget` is to be called once
/// for each process that was made.
cspawn_result cspawn_start(const cspawn_request *_Nonnull request);

/// Does what the next start of the calling thread would otherwise do first, some 0.2 ms of work. It need not be called;
/// it had better be where this process has got much memory since.
void cspawn_get_ready(void);

/// Looks how far a process has got with its set-up, without a system call, and lets go of the descriptors that were
/// held for it if it has its own. `failure` is filled in; its step is NONE as long as none has failed.
cspawn_progress cspawn_look(int launch, cspawn_failure *_Nonnull failure);

/// Whether a set-up is over: nothing else is looked at, and nothing changed.
bool cspawn_is_over(int launch);

/// To be called when a set-up is over, or its process is gone.
void cspawn_forget(int launch);

/// How a program is started in a PAM session (pam(8)): by the program `timerd-session`, which opens the session, starts
/// the program as its child, waits for it, closes the session, and ends as the program ended. PAM loads modules, which
/// may do anything and take as long as they like, so this process never does.
typedef struct {
    /// Where `timerd-session` may be, ended by NULL.
    const char *const _Nullable *_Nonnull helpers;
    /// The PAM service, and the user's name.
    const char *_Nonnull service, *_Nonnull user;
} cspawn_session;

/// Starts `timerd-session` for what is requested, like `cspawn_start`. The request is passed in memory that has no name
/// (memfd_create(2)): neither the arguments nor the environment of `timerd-session` show it.
///
/// `socket` becomes the end of a socket for `cspawn_hear`, closed on exec, or -1 if no process was made.
cspawn_result cspawn_start_session(const cspawn_request *_Nonnull request, const cspawn_session *_Nonnull session,
                                   int *_Nonnull socket);

/// What `timerd-session` reports.
typedef enum {
    /// The session is open, and the process that becomes the program sets itself up.
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
    /// For a step of PAM: the name of its code, such as PAM_ACCT_EXPIRED, and what PAM says. NUL-terminated.
    char name[32];
    char text[400];
} cspawn_report;

/// Takes the next report from the socket of a session, without waiting. `program` becomes a descriptor of the process
/// that becomes the program, if the report has one, closed on exec; otherwise -1. Returns 1; 0 if there is no report
/// yet; -1 if no more will come.
int cspawn_hear(int socket, cspawn_report *_Nonnull report, int *_Nonnull program);

/// The descriptor that `timerd-session` has for `cspawn_receive_session`.
enum { CSPAWN_SESSION_DESCRIPTOR = 3 };

/// For `timerd-session`: takes the request, with the service and the user's name, from the socket. It stays valid until
/// the process ends. Returns 0, or -1 with errno set: EPROTO if `cspawn_start_session` of another version passed it.
int cspawn_receive_session(int socket, cspawn_request *_Nonnull request, cspawn_session *_Nonnull session);

/// For `timerd-session`: sends a report, with a descriptor or -1. If the runner was killed, the report is lost.
void cspawn_report_to_runner(int socket, const cspawn_report *_Nonnull report, int descriptor);

/// For `timerd-session`: makes a child that reports through the socket that it sets itself up and becomes the program.
/// Returns its process id once it runs its program or has failed; `failure` is filled in, its step NONE in the first
/// case. -1 with errno set if there is no child.
pid_t cspawn_start_in_session(const cspawn_request *_Nonnull request, int socket, cspawn_failure *_Nonnull failure);

/// Undoes what makes the kernel throw the ends of processes away: SIGCHLD ignored, which execve passes on
/// from whoever started this program, or SA_NOCLDWAIT (waitid(2), Notes).
void cspawn_claim_ends(void);

/// Has this process leave no core, and keeps its memory from all but root (prctl(2), PR_SET_DUMPABLE).
void cspawn_hide_memory(void);

/// Whose rights count: a user, with a group and supplementary groups.
typedef struct {
    uid_t user;
    gid_t group;
    const gid_t *_Nullable groups;
    int group_count;
} cspawn_identity;

/// Opens a file to read it, as far as this user may, or this process if it is NULL. No part of the path may be a
/// symbolic link: errno is ELOOP then. It does not wait for the writer of a FIFO, nor make a terminal this process's.
///
/// Only the calling thread has the user's rights meanwhile. Becoming another user takes root's privilege. Returns the
/// descriptor, closed on exec, or -1 with errno set.
int cspawn_open_file(const char *_Nonnull path, const cspawn_identity *_Nullable identity);

/// The same by this process's rights, one part of the path after the other: what `cspawn_open_file` does on a system
/// that cannot do it in one step.
int cspawn_open_by_parts(const char *_Nonnull path);

/// Lets one user besides its owner read a file, or list and search a directory, and no other: by an access control list
/// (acl(5)). Where the file system has none, a file becomes the user's, and a directory is for all to list. Its mode
/// before is 0400 or 0500. Returns 0, or -1 with errno set.
int cspawn_let_read(int descriptor, uid_t user, bool is_directory);

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

/// Takes the end of the process behind the descriptor, without waiting. Returns 1 if it had ended, 0 if it
/// lives, -1 with errno set if it cannot be known.
int cspawn_reap(int pidfd, cspawn_end *_Nonnull end);

/// A descriptor of the process with this number, closed on exec; -1 with errno set if there is none.
int cspawn_open_process(pid_t pid);

/// Makes this process the one that orphaned processes below it become children of (prctl(2),
/// PR_SET_CHILD_SUBREAPER), so that it can take their ends too. Returns a descriptor that becomes readable
/// when a child ends, or -1 with errno set. SIGCHLD must be blocked in every thread.
int cspawn_adopt_orphans(void);

/// Empties that descriptor. To be called before the ends are taken of which it tells.
void cspawn_hush(int watch);

/// Takes the end of some child that has ended, without waiting. Returns its number; 0 without one.
pid_t cspawn_reap_any(cspawn_end *_Nonnull end);

/// Sends a signal to the process group that the process behind the descriptor made, or asks with 0 whether it has a
/// member; a zombie counts. Returns 0, or -1 with errno set: ESRCH if the group is empty.
///
/// This works after the leader of the group has ended and was reaped. Since Linux 6.9 the kernel finds the group by the
/// descriptor (pidfd_send_signal(2), PIDFD_SIGNAL_PROCESS_GROUP). Before that it is found by its number, which the
/// kernel can give to another process once the group is empty: a process with that number means another group.
///
/// - is_taken: whether the end of its leader was taken.
int cspawn_signal_group(int pidfd, pid_t group, bool is_taken, int signal);

/// Sends a signal through a descriptor of a process. Returns 0, or -1 with errno set.
int cspawn_signal(int pidfd, int signal);

/// Makes a pipe whose ends are closed on exec, its reading end not blocking. Returns 0, or -1.
int cspawn_pipe(int *_Nonnull reading, int *_Nonnull writing);

/// The descriptor that a program started by `cspawn_detach` has for `cspawn_tell_parent`.
enum { CSPAWN_READY_DESCRIPTOR = 3 };

/// Closes every descriptor beyond 2, starts this program anew with other arguments in a session of its own, and waits
/// for it: until it calls `cspawn_tell_parent`, and exits with 0 then, or until it ends, and exits with its status.
/// SIGTERM, SIGINT and SIGHUP, which are to be blocked, it passes on to it.
///
/// Started anew, and not just forked: Swift's locks identify a thread by a number that it read once, and after a fork it
/// is that of another process. The first two threads that meet at such a lock wait for it for ever.
///
/// Returns -1 with errno set, or not at all.
int cspawn_detach(char *_Nullable const *_Nonnull arguments);

/// Lets the process that waits in `cspawn_detach` exit with 0.
void cspawn_tell_parent(int descriptor);

/// The name of a signal without its SIG, "KILL"; NULL for a number without one.
const char *_Nullable cspawn_signal_name(int signal);

/// The name of an error, "ENOENT"; NULL for a number without one.
const char *_Nullable cspawn_error_name(int error);
