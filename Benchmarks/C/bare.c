// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// The least a scheduler can do: wait for an instant and posix_spawn(3). It writes nothing down, reads no
// output and knows of one job alone; what it takes is the limit the others are compared with.
//
//   bare burst COUNT AT PROGRAM FILE           COUNT processes at AT, seconds since 1970
//   bare tick SECONDS PHASE PROGRAM FILE       one a second for so long, PHASE milliseconds past the second
//   bare rate SECONDS LIVE PROGRAM FILE        as many as it can, at most LIVE at once; prints how many ended

#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void spawn(char *program, char *file) {
    pid_t child;
    int error = posix_spawn(&child, program, NULL, NULL, (char *[]){program, file, NULL}, environ);
    if (error == 0) return;
    fprintf(stderr, "bare: %s: %s\n", program, strerror(error));
    exit(1);
}

static void reap_all(void) {
    while (wait(NULL) > 0) {
    }
}

static void burst(long count, const char *at, char *program, char *file) {
    double seconds = atof(at);
    struct timespec until = {.tv_sec = (time_t)seconds};
    until.tv_nsec = (long)((seconds - (double)until.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
    for (long index = 0; index < count; index++) spawn(program, file);
    reap_all();
}

static void tick(long seconds, long phase, char *program, char *file) {
    int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
    struct itimerspec setting = {
        .it_interval.tv_sec = 1,
        .it_value = {.tv_sec = time(NULL) + 1, .tv_nsec = phase * 1000000},
    };
    if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL) != 0) {
        perror("bare: timerfd");
        exit(1);
    }
    for (long index = 0; index < seconds; index++) {
        unsigned long long rings;
        if (read(timer, &rings, sizeof rings) != sizeof rings) exit(1);
        spawn(program, file);
        wait(NULL);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void rate(double seconds, long most, char *program, char *file) {
    double began = now(), end = began + seconds;
    long live = 0, ended = 0;
    while (now() < end) {
        if (live < most) {
            spawn(program, file);
            live++;
        }
        while (live > 0 && waitpid(-1, NULL, live < most ? WNOHANG : 0) > 0) {
            live--;
            ended++;
        }
    }
    printf("{\"ended\": %ld, \"seconds\": %.3f}\n", ended, now() - began);
    reap_all();
}

int main(int count, char **arguments) {
    if (count != 6) {
        fputs("usage: bare burst COUNT AT | tick SECONDS PHASE | rate SECONDS LIVE  PROGRAM FILE\n", stderr);
        return 2;
    }
    char *verb = arguments[1], *program = arguments[4], *file = arguments[5];
    if (strcmp(verb, "burst") == 0) {
        burst(atol(arguments[2]), arguments[3], program, file);
    } else if (strcmp(verb, "tick") == 0) {
        tick(atol(arguments[2]), atol(arguments[3]), program, file);
    } else if (strcmp(verb, "rate") == 0) {
        rate(atof(arguments[2]), atol(arguments[3]), program, file);
    } else {
        return 2;
    }
    return 0;
}
