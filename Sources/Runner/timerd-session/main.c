// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// The program that the runner starts, as root, for a run with `pam-service`: it opens a PAM session, starts the job as
// its child, closes the session after the job, and ends with the same exit code or signal as the job. It is written in
// C because it forks in the middle: after a fork the Swift runtime is not reliable.

#define _GNU_SOURCE

#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/// How long modules may take to close a session, in seconds. After that the run ends with the session open.
enum { CLOSE_SECONDS = 10 };

/// The lowest number for the job's descriptors while PAM modules run.
enum { ASIDE = 10 };

/// The wait status of the job (waitpid(2)), once it is known.
static volatile int job_status;
static volatile sig_atomic_t is_closing;

/// Writes to the system log without waiting and without locks: a module may hang in syslog(3).
static void write_log(const char *text) {
    static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    int log = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (log < 0) return;
    sendto(log, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address, sizeof address);
    close(log);
}

/// Ends this process with the same exit code or signal as the job. It may be called by a signal handler, or because a
/// module called exit(3).
static _Noreturn void exit_like_job(void) {
    int status = job_status;
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigaction(number, &action, NULL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        // This leaves no core: the process is not dumpable.
        kill(getpid(), number);
        _exit(128 + number);
    }
    _exit(WEXITSTATUS(status));
}

/// A signal to the process group is for the job, and this process has to close the session after it.
static void handle_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    int error = errno;
    // The kernel, abort(3) or the timer sent it, and not another process.
    bool is_own = info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
    if (is_own && is_closing) {
        // authpriv.warning
        write_log(number == SIGALRM
                      ? "<84>timerd-session: the PAM session was not closed: a module took too long"
                      : "<84>timerd-session: the PAM session was not closed: a module crashed");
        exit_like_job();
    }
    // With the default disposition, the fault of a module happens again and ends this process.
    if (is_own) signal(number, SIG_DFL);
    errno = error;
}

/// These are handlers instead of ignored signals, because programs that a module executes do not inherit handlers.
static void handle_signals(void) {
    struct sigaction action = {.sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (int number = 1; number < NSIG; number++) {
        // If the kernel or the C library refuses a handler, the default disposition stays.
        if (number != SIGCHLD && number != SIGCONT) sigaction(number, &action, NULL);
    }
}

/// Moves the pipes of the job to other descriptors while modules run, because the output of modules is not the job's
/// output.
static bool put_aside(cspawn_request *request) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    request->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, ASIDE);
    request->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, ASIDE);
    request->error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, ASIDE);
    bool is_done = nothing >= 0 && request->input >= 0 && request->output >= 0 && request->error >= 0
        && dup2(nothing, STDOUT_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0;
    if (nothing >= 0) close(nothing);
    return is_done;
}

static void release_pipes(const cspawn_request *request) {
    close(request->input);
    close(request->output);
    close(request->error);
}

static void close_session(void) {
    struct itimerval limit = {.it_value = {.tv_sec = CLOSE_SECONDS}};
    setitimer(ITIMER_REAL, &limit, NULL);
    if (!session_close()) write_log("<84>timerd-session: the PAM session was not closed: a module failed");
}

/// Runs the job, if it can start, and closes the session.
static _Noreturn void run(const cspawn_request *request, int runner, cspawn_report *report) {
    pid_t pid = cspawn_start_in_session(request, runner, &report->failure);
    if (pid < 0) report->failure = (cspawn_failure){.step = CSPAWN_STEP_CLONE, .error = errno, .item = -1};
    release_pipes(request);
    bool is_running = report->failure.step == CSPAWN_STEP_NONE;
    report->kind = is_running ? CSPAWN_REPORT_RUNS : CSPAWN_REPORT_FAILED;
    cspawn_report_to_runner(runner, report, -1);
    close(runner);
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    job_status = is_running ? status : W_EXITCODE(1, 0);
    is_closing = 1;
    atexit(exit_like_job);
    close_session();
    exit_like_job();
}

/// The Swift compiler links every program with code that calls this function to register the program with the Swift
/// runtime. This program does not need it; without this definition 6 MB of the runtime would be linked.
void swift_addNewDSOImage(const void *image);
void swift_addNewDSOImage(const void *image) { (void)image; }

int main(void) {
    struct stat status;
    int runner = CSPAWN_SESSION_DESCRIPTOR;
    if (fstat(runner, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        fprintf(stderr, "timerd-session: only timerd-runner can start this program; see pam-service in timerd.toml(5)\n");
        return 2;
    }
    fcntl(runner, F_SETFD, FD_CLOEXEC);
    // The memory of this process contains the job's environment.
    prctl(PR_SET_DUMPABLE, 0);
    handle_signals();
    cspawn_request request;
    cspawn_session session;
    cspawn_report report = {.kind = CSPAWN_REPORT_FAILED, .failure = {.step = CSPAWN_STEP_HELPER, .item = -1}};
    if (cspawn_receive_session(runner, &request, &session) != 0) {
        report.failure.error = errno;
    } else if (!put_aside(&request)) {
        report.failure.step = CSPAWN_STEP_DESCRIPTORS;
        report.failure.error = errno;
    } else if (session_open(&session, &request, &report)) {
        run(&request, runner, &report);
    }
    cspawn_report_to_runner(runner, &report, -1);
    _exit(1);
}
