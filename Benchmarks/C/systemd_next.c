// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// The time of one calendar_spec_next_usec() of systemd, over the same walk from slot to slot as CoreBench:
//
//   TZ=ZONE systemd_next LIBRARY EXPRESSIONS ZONE [STEPS [SUFFIX]]
//
// The function is in systemd's shared library (src/shared/calendarspec.h), which is no public API but
// exports it. The zone is that of the process: that is its quick way. A zone in the expression itself, as
// SUFFIX appends one, has it fork a child for each call.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct CalendarSpec CalendarSpec;
static int (*from_string)(const char *, CalendarSpec **);
static int (*next_usec)(const CalendarSpec *, uint64_t, uint64_t *);

static FILE *said;

static const uint64_t start = UINT64_C(1767225600000000);
enum { rounds = 7 };
// Fewer for the worst, of which one call may take a millisecond.
static int steps = 2000, worst_steps = 100;

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static double walk(const CalendarSpec *spec, int steps) {
    uint64_t at = start;
    int64_t began = nanoseconds();
    for (int index = 0; index < steps; index++) {
        uint64_t slot;
        at = next_usec(spec, at, &slot) >= 0 ? slot : start;
    }
    return (double)(nanoseconds() - began) / steps;
}

static int64_t worst_step(const CalendarSpec *spec, int steps) {
    uint64_t at = start;
    int64_t worst = 0;
    for (int index = 0; index < steps; index++) {
        int64_t least = INT64_MAX;
        uint64_t slot = 0;
        int found = -1;
        for (int again = 0; again < 3; again++) {
            int64_t began = nanoseconds();
            found = next_usec(spec, at, &slot);
            int64_t passed = nanoseconds() - began;
            if (passed < least) least = passed;
        }
        if (least > worst) worst = least;
        at = found >= 0 ? slot : start;
    }
    return worst;
}

static uint64_t slots(const CalendarSpec *spec) {
    uint64_t at = start, folded = UINT64_C(14695981039346656037);
    for (int index = 0; index < 25; index++) {
        uint64_t slot;
        if (next_usec(spec, at, &slot) < 0) break;
        folded = (folded ^ slot) * UINT64_C(1099511628211);
        at = slot;
    }
    return folded;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const char *kind, const char *text, const char *zone, const char *suffix) {
    char event[1024];
    snprintf(event, sizeof event, "%s%s%s", text, suffix ? " " : "", suffix ? suffix : "");
    CalendarSpec *spec;
    if (from_string(event, &spec) < 0) {
        fprintf(said, "systemd_next: systemd does not read %s\n", event);
        return;
    }
    int count = strcmp(kind, "worst") == 0 && worst_steps < steps ? worst_steps : steps;
    double figures[rounds];
    for (int index = 0; index < rounds; index++) figures[index] = walk(spec, count);
    qsort(figures, rounds, sizeof figures[0], by_size);
    printf("{\"case\": \"next\", \"who\": \"systemd%s\", \"grammar\": \"calendar\", \"class\": \"%s\", "
           "\"zone\": \"%s\", \"expression\": \"%s\", \"ns\": %.1f, \"worst_ns\": %" PRId64
           ", \"slots\": \"%" PRIx64 "\"}\n",
           suffix ? " (zone in the expression)" : "", kind, zone, text, figures[rounds / 2],
           worst_step(spec, count), slots(spec));
}

int main(int count, char **arguments) {
    if (count < 4 || count > 6) {
        fputs("usage: TZ=ZONE systemd_next LIBRARY EXPRESSIONS ZONE [STEPS [SUFFIX]]\n", stderr);
        return 2;
    }
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (library) {
        from_string = (int (*)(const char *, CalendarSpec **))dlsym(library, "calendar_spec_from_string");
        next_usec = (int (*)(const CalendarSpec *, uint64_t, uint64_t *))dlsym(
            library, "calendar_spec_next_usec");
    }
    FILE *file = fopen(arguments[2], "r");
    if (!from_string || !next_usec || !file) {
        fprintf(stderr, "systemd_next: %s\n", file ? "the library has no calendar_spec_next_usec" : "no expressions");
        return 1;
    }
    if (count > 4) steps = atoi(arguments[4]);
    // systemd says there at each call that it found no end.
    said = fdopen(dup(2), "w");
    if (!said || !freopen("/dev/null", "w", stderr)) return 1;
    char line[1024];
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#') continue;
        char *rest = line;
        char *kind = strsep(&rest, "\t"), *calendar = strsep(&rest, "\t");
        if (!calendar || strcmp(calendar, "-") == 0) continue;
        measure(kind, calendar, arguments[3], count > 5 ? arguments[5] : NULL);
    }
    return 0;
}
