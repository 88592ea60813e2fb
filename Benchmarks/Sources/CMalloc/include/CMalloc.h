// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMALLOC_H
#define CMALLOC_H

#include <stddef.h>

/// Bytes that are allocated in the heap.
size_t cmalloc_in_use(void);

#endif
