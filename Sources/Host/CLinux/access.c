// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#include "CLinux.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

// The value of the attribute system.posix_acl_access, which has no header of glibc: linux/posix_acl_xattr.h. All numbers
// are little-endian.
enum { ACL_VERSION = 2, ACL_BYTES_MAX = 64 << 10 };
enum { TAG_USER = 0x02, TAG_GROUP_OWNER = 0x04, TAG_GROUP = 0x08, TAG_MASK = 0x10, TAG_OTHER = 0x20 };

struct acl_entry {
    uint16_t tag;
    uint16_t permissions;
    uint32_t id;
};

/// A user and their groups, who want to do this with a file (R_OK, W_OK, X_OK of unistd.h have the same values).
struct want {
    unsigned int user;
    const unsigned int *groups;
    int count;
    unsigned int permissions;
};

enum { SEARCH = 1, WRITE = 2 };

static bool is_member(const struct want *want, unsigned int group) {
    for (int index = 0; index < want->count; index++) {
        if (want->groups[index] == group) return true;
    }
    return false;
}

static bool grants(const struct want *want, unsigned int permissions) {
    return (permissions & want->permissions) == want->permissions;
}

/// Decides by an access control list, as the kernel does (acl(5), ACCESS CHECK ALGORITHM). The owner was decided about
/// already: their entry is the same as the mode.
static bool list_grants(
    const struct want *want, const struct stat *status, const struct acl_entry *entries, size_t count) {
    unsigned int mask = 7, other = 0;
    for (size_t index = 0; index < count; index++) {
        unsigned int permissions = le16toh(entries[index].permissions);
        if (le16toh(entries[index].tag) == TAG_MASK) mask = permissions;
        if (le16toh(entries[index].tag) == TAG_OTHER) other = permissions;
    }
    for (size_t index = 0; index < count; index++) {
        if (le16toh(entries[index].tag) == TAG_USER && le32toh(entries[index].id) == want->user) {
            return grants(want, le16toh(entries[index].permissions) & mask);
        }
    }
    bool is_in_group = false;
    for (size_t index = 0; index < count; index++) {
        unsigned int tag = le16toh(entries[index].tag);
        bool matches = (tag == TAG_GROUP_OWNER && is_member(want, status->st_gid))
            || (tag == TAG_GROUP && is_member(want, le32toh(entries[index].id)));
        if (!matches) continue;
        if (grants(want, le16toh(entries[index].permissions) & mask)) return true;
        is_in_group = true;
    }
    return !is_in_group && grants(want, other);
}

/// Returns 1 if the file grants that, 0 if not, -1 with errno set.
static int file_grants(const char *path, const struct want *want) {
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    if (status.st_uid == want->user) return grants(want, status.st_mode >> 6);
    static const char name[] = "system.posix_acl_access";
    ssize_t size = getxattr(path, name, NULL, 0);
    if (size < 0 && errno != ENODATA && errno != EOPNOTSUPP) return -1;
    if (size <= 0) {
        unsigned int shift = is_member(want, status.st_gid) ? 3 : 0;
        return grants(want, status.st_mode >> shift);
    }
    if (size > ACL_BYTES_MAX) {
        errno = E2BIG;
        return -1;
    }
    char *list = malloc((size_t)size);
    if (list == NULL) return -1;
    // The list may have changed since its size was asked for.
    ssize_t bytes = getxattr(path, name, list, (size_t)size);
    uint32_t version;
    int result = -1;
    if (bytes >= (ssize_t)sizeof version) {
        memcpy(&version, list, sizeof version);
        if (le32toh(version) == ACL_VERSION) {
            // The entries behind the version are as aligned as it is: malloc's memory is.
            result = list_grants(
                want, &status, (const struct acl_entry *)(list + sizeof version),
                ((size_t)bytes - sizeof version) / sizeof(struct acl_entry));
        } else {
            errno = ENOTSUP;
        }
    }
    free(list);
    return result;
}

int clinux_may_connect(
    const char *path, unsigned int user, const unsigned int *groups, int count) {
    char resolved[PATH_MAX];
    if (realpath(path, resolved) == NULL) return -1;
    struct want search = {user, groups, count, SEARCH}, write = {user, groups, count, WRITE};
    int result = file_grants("/", &search);
    for (char *slash = strchr(resolved + 1, '/'); slash != NULL && result == 1;
        slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        result = file_grants(resolved, &search);
        *slash = '/';
    }
    return result == 1 ? file_grants(resolved, &write) : result;
}
