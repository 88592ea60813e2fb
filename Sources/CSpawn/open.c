// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CSpawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Without O_NONBLOCK, opening a FIFO would wait for a writer.
enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW };

/// How many supplementary groups this process may be in (NGROUPS_MAX).
enum { OWN_GROUPS_MAX = 65536 };

/// As in <linux/openat2.h>, which older systems lack; like the number of the system call, the same everywhere.
struct open_how_v0 {
    uint64_t flags, mode, resolve;
};
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
static const uint64_t NO_MAGICLINKS = 0x02, NO_SYMLINKS = 0x04;

/// Opens one part of a path in a directory, which is closed: the last part to be read, any other as a directory.
static int open_part(int directory, const char *part, bool is_last) {
    int flags = is_last ? READ_FLAGS : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int next = openat(directory, part, flags);
    if (next < 0 && errno == ENOTDIR) {
        // A link is no directory either, and that is what is to be said of it.
        struct stat status;
        bool is_link = fstatat(directory, part, &status, AT_SYMLINK_NOFOLLOW) == 0
            && S_ISLNK(status.st_mode);
        errno = is_link ? ELOOP : ENOTDIR;
    }
    int error = errno;
    close(directory);
    errno = error;
    return next;
}

/// Where openat2(2) is not known (before Linux 5.6) or filtered: part by part.
int cspawn_open_by_parts(const char *path) {
    size_t length = strlen(path);
    if (length == 0 || length >= PATH_MAX) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return -1;
    }
    // What is in front of a slash is a directory, and none can be read.
    bool is_directory = path[length - 1] == '/';
    char rest[PATH_MAX];
    strcpy(rest, path);
    int at = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *place = NULL;
    char *part = strtok_r(rest, "/", &place);
    while (at >= 0 && part != NULL) {
        char *next = strtok_r(NULL, "/", &place);
        at = open_part(at, part, next == NULL && !is_directory);
        part = next;
    }
    if (at < 0 || !is_directory) return at;
    close(at);
    errno = EISDIR;
    return -1;
}

static int open_without_links(const char *path) {
    struct open_how_v0 how = {.flags = READ_FLAGS, .resolve = NO_SYMLINKS | NO_MAGICLINKS};
    int descriptor = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    // A filter of system calls may say EPERM for one it does not know.
    if (descriptor >= 0 || (errno != ENOSYS && errno != EPERM)) return descriptor;
    return cspawn_open_by_parts(path);
}

/// Sets the calling thread's user and group for files; false if that was not to be. By the system calls: they change
/// one thread, where the C library's setgroups(3) would change all. Away from root the kernel takes the capabilities
/// along by which root opens any file (capabilities(7)), and back at root it gives them back.
static bool set_file_rights(uid_t user, gid_t group, const gid_t *groups, int count) {
    if (syscall(SYS_setgroups, count, groups) != 0) return false;
    syscall(SYS_setfsgid, group);
    syscall(SYS_setfsuid, user);
    // They tell the id of before and no failure; an impossible id changes nothing.
    if ((gid_t)syscall(SYS_setfsgid, -1) == group && (uid_t)syscall(SYS_setfsuid, -1) == user) {
        return true;
    }
    errno = EPERM;
    return false;
}

int cspawn_open_file(const char *path, const cspawn_identity *identity) {
    if (identity == NULL || identity->user == geteuid()) return open_without_links(path);
    gid_t *own = malloc(OWN_GROUPS_MAX * sizeof *own);
    if (own == NULL) return -1;
    int descriptor = -1;
    int count = getgroups(OWN_GROUPS_MAX, own);
    if (count >= 0) {
        if (set_file_rights(identity->user, identity->group, identity->groups,
                            identity->group_count)) {
            descriptor = open_without_links(path);
        }
        int error = errno;
        // A thread that stayed somebody else could not do what it is for, and might do what it must not.
        if (!set_file_rights(geteuid(), getegid(), own, count)) abort();
        errno = error;
    }
    int error = errno;
    free(own);
    errno = error;
    return descriptor;
}
