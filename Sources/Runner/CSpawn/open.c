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

/// The most supplementary groups that this process may be in (NGROUPS_MAX).
enum { OWN_GROUPS_MAX = 65536 };

/// As in <linux/openat2.h>, which older systems lack. The number of the system call is the same on every architecture.
struct open_how_v0 {
    uint64_t flags, mode, resolve;
};
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
static const uint64_t NO_MAGICLINKS = 0x02, NO_SYMLINKS = 0x04;

/// Opens one part of a path in a directory and closes the directory. The last part is opened for reading, any other as
/// a directory.
static int open_part(int directory, const char *part, bool is_last) {
    int flags = is_last ? READ_FLAGS : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int next = openat(directory, part, flags);
    if (next < 0 && errno == ENOTDIR) {
        // openat reports ENOTDIR for a symbolic link too; ELOOP tells the user what is wrong.
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

/// The fallback if openat2(2) does not exist (before Linux 5.6) or is filtered.
int cspawn_open_by_parts(const char *path) {
    size_t length = strlen(path);
    if (length == 0 || length >= PATH_MAX) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return -1;
    }
    // A path that ends with a slash names a directory, which cannot be read as a file.
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
    // A system call filter may return EPERM for a call that it does not know.
    if (descriptor >= 0 || (errno != ENOSYS && errno != EPERM)) return descriptor;
    return cspawn_open_by_parts(path);
}

/// Sets the user, group and supplementary groups that the calling thread uses for file access; false if that failed. It
/// makes the system calls directly, because they change one thread, while the C library's setgroups(3) changes all
/// threads. When the user is no longer root, the kernel removes the capabilities that let root open any file
/// (capabilities(7)), and when the user is root again, it restores them.
static bool set_file_rights(uid_t user, gid_t group, const gid_t *groups, int count) {
    if (syscall(SYS_setgroups, count, groups) != 0) return false;
    syscall(SYS_setfsgid, group);
    syscall(SYS_setfsuid, user);
    // These calls return the previous id and never an error; an invalid id changes nothing and so reads the current
    // one.
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
        // A thread that keeps the identity of another user could not do its work, and might do what it must not.
        if (!set_file_rights(geteuid(), getegid(), own, count)) abort();
        errno = error;
    }
    int error = errno;
    free(own);
    errno = error;
    return descriptor;
}
