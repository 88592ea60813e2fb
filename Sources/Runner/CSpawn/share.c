// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "CSpawn.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct posix_acl_xattr_entry entry(uint16_t tag, uint16_t rights, uint32_t id) {
    return (struct posix_acl_xattr_entry){htole16(tag), htole16(rights), htole32(id)};
}

int cspawn_grant_read(int descriptor, uid_t user, bool is_directory) {
    const uint16_t rights = ACL_READ | (is_directory ? ACL_EXECUTE : 0);
    const uint32_t none = (uint32_t)ACL_UNDEFINED_ID;
    struct {
        struct posix_acl_xattr_header head;
        struct posix_acl_xattr_entry entries[5];
    } list = {
        .head = {htole32(POSIX_ACL_XATTR_VERSION)},
        .entries = {entry(ACL_USER_OBJ, rights, none), entry(ACL_USER, rights, user),
                    entry(ACL_GROUP_OBJ, 0, none), entry(ACL_MASK, rights, none), entry(ACL_OTHER, 0, none)},
    };
    if (fsetxattr(descriptor, "system.posix_acl_access", &list, sizeof list, 0) == 0) return 0;
    if (errno != ENOTSUP) return -1;
    // The directory keeps its owner, because an owner could put anything into it.
    return is_directory ? fchmod(descriptor, 0555) : fchown(descriptor, user, (gid_t)-1);
}
