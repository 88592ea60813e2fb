// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>

/// The files of the status page, which are parts of the program: index.html, app.css, app.js and icon.svg. Each sets
/// the number of its bytes.
const unsigned char *cwebpage_index(size_t *size);
const unsigned char *cwebpage_style(size_t *size);
const unsigned char *cwebpage_script(size_t *size);
const unsigned char *cwebpage_icon(size_t *size);
