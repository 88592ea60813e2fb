// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>

/// Creates a file in memory with this text, positioned at its start, that can never be changed. Returns its descriptor,
/// closed on exec, or -1 with errno set.
__attribute__((visibility("hidden"))) int cspawn_make_text(const char *text, size_t length);
