// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>

/// A file of the status page, which is a part of the program.
struct cwebpage_file {
    /// The path of its address, which ends with the name of the file, except that of index.html: `/`.
    const char *path;
    const unsigned char *bytes;
    size_t size;
};

/// All files of the status page: index.html, app.css, icon.svg and the modules of the script.
///
/// @param count is set to their number.
const struct cwebpage_file *cwebpage_files(size_t *count);
