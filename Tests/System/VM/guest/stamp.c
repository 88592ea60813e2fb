// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// stamp NAME [COMMAND...]: writes a line about this run to a port of the machine whose other end is a file outside:
// the name, the run, when it was due, how many missed runs it stands for, and the clocks in microseconds. It returns
// when the line has left the machine, so that a power cut cannot take it back. Then it becomes the command.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : "-";
}

int main(int count, char **words) {
    if (count < 2) return 2;
    long long real = now(CLOCK_REALTIME), monotonic = now(CLOCK_MONOTONIC), boottime = now(CLOCK_BOOTTIME);
    int port = open("/dev/hvc0", O_WRONLY | O_NOCTTY);
    if (port < 0) {
        perror("stamp: /dev/hvc0");
        return 1;
    }
    char line[512];
    int length = snprintf(line, sizeof line, "stamp %s %s %s %s %lld %lld %lld\n", words[1],
        variable("TIMERD_RUN_ID"), variable("TIMERD_SCHEDULED"), variable("TIMERD_MISSED"), real, monotonic, boottime);
    if (write(port, line, length) != length || tcdrain(port) != 0) {
        perror("stamp: /dev/hvc0");
        return 1;
    }
    close(port);
    if (count == 2) return 0;
    execvp(words[2], words + 2);
    perror(words[2]);
    return 127;
}
