// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// The job every scheduler is given: appends when it began to run to the file it is told, as two 64-bit
// numbers, nanoseconds of CLOCK_REALTIME and of CLOCK_MONOTONIC, in one write. Linked statically, so that
// starting it is as little work as starting anything is.

#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static int64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int count, char **arguments) {
    int64_t began[2] = {nanoseconds(CLOCK_REALTIME), nanoseconds(CLOCK_MONOTONIC)};
    if (count != 2) return 2;
    int file = open(arguments[1], O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return 1;
    return write(file, began, sizeof began) == sizeof began ? 0 : 1;
}
