// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "pack.h"

#include <string.h>

/// Room for the alignment padding in front of each part.
enum { PADDING = 256 };

/// Where the next part is written.
typedef struct {
    char *base;
    size_t used;
} packer;

static size_t length_of(const char *const *strings) {
    size_t length = sizeof *strings;
    for (; *strings != NULL; strings++) length += sizeof *strings + strlen(*strings) + 1;
    return length + sizeof *strings;
}

static void *put(packer *to, const void *bytes, size_t count, size_t alignment) {
    to->used = (to->used + alignment - 1) / alignment * alignment;
    void *place = to->base + to->used;
    // An empty list may have a NULL address, which memcpy does not allow.
    if (count > 0) memcpy(place, bytes, count);
    to->used += count;
    return place;
}

static char *put_string(packer *to, const char *string) { return put(to, string, strlen(string) + 1, 1); }

static char **put_strings(packer *to, const char *const *strings) {
    size_t count = 0;
    while (strings[count] != NULL) count++;
    char **copies = put(to, strings, (count + 1) * sizeof *strings, _Alignof(char *));
    for (size_t index = 0; index < count; index++) copies[index] = put_string(to, strings[index]);
    return copies;
}

static size_t bytes_of_limits(const cspawn_request *request) {
    return (size_t)request->limit_count * sizeof *request->limits;
}

static size_t bytes_of_groups(const cspawn_request *request) {
    return (size_t)request->group_count * sizeof *request->groups;
}

static size_t length_of_labels(const cspawn_request *request) {
    size_t length = (size_t)request->label_count * sizeof *request->labels;
    for (int index = 0; index < request->label_count; index++) {
        length += strlen(request->labels[index].file) + 1 + request->labels[index].length;
    }
    return length;
}

static const cspawn_label *put_labels(packer *to, const cspawn_request *request) {
    size_t bytes = (size_t)request->label_count * sizeof *request->labels;
    cspawn_label *copies = put(to, request->labels, bytes, _Alignof(cspawn_label));
    for (int index = 0; index < request->label_count; index++) {
        copies[index].file = put_string(to, copies[index].file);
        copies[index].text = put(to, copies[index].text, copies[index].length, 1);
    }
    return copies;
}

size_t cspawn_packed_size(const cspawn_request *request) {
    return length_of(request->candidates) + length_of((const char *const *)request->arguments)
        + length_of((const char *const *)request->environment) + strlen(request->directory) + 1
        + bytes_of_limits(request) + bytes_of_groups(request) + length_of_labels(request) + PADDING;
}

void cspawn_pack(cspawn_request *request, char *memory) {
    packer to = {.base = memory};
    request->limits = put(&to, request->limits, bytes_of_limits(request), _Alignof(cspawn_limit));
    request->groups = put(&to, request->groups, bytes_of_groups(request), _Alignof(gid_t));
    request->labels = put_labels(&to, request);
    request->candidates = (const char *const *)put_strings(&to, request->candidates);
    request->arguments = put_strings(&to, (const char *const *)request->arguments);
    request->environment = put_strings(&to, (const char *const *)request->environment);
    request->directory = put_string(&to, request->directory);
}

static void *moved(const void *address, ptrdiff_t distance) {
    return address == NULL ? NULL : (char *)(uintptr_t)address + distance;
}

static char **moved_strings(const void *strings, ptrdiff_t distance) {
    char **list = moved(strings, distance);
    for (char **each = list; *each != NULL; each++) *each = moved(*each, distance);
    return list;
}

static const cspawn_label *moved_labels(const cspawn_label *labels, int count, ptrdiff_t distance) {
    cspawn_label *list = moved(labels, distance);
    for (int index = 0; index < count; index++) {
        list[index].file = moved(list[index].file, distance);
        list[index].text = moved(list[index].text, distance);
    }
    return list;
}

void cspawn_relocate(cspawn_request *request, ptrdiff_t distance) {
    request->limits = moved(request->limits, distance);
    request->groups = moved(request->groups, distance);
    request->labels = moved_labels(request->labels, request->label_count, distance);
    request->candidates = (const char *const *)moved_strings(request->candidates, distance);
    request->arguments = moved_strings(request->arguments, distance);
    request->environment = moved_strings(request->environment, distance);
    request->directory = moved(request->directory, distance);
}
