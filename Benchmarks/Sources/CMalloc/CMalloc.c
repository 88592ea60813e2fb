// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#include "CMalloc.h"

#include <malloc.h>

// What Swift's module of the C library does not show. Large blocks are mapped, and counted apart.
size_t cmalloc_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
