// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "CSpawn.h"

/// How many bytes are needed for everything that the request points to.
__attribute__((visibility("hidden"))) size_t cspawn_packed_size(const cspawn_request *request);

/// Copies everything that the request points to into `memory`, and makes the request point to the copies. `memory` has
/// room for `cspawn_packed_size` bytes and is aligned for any type.
__attribute__((visibility("hidden"))) void cspawn_pack(cspawn_request *request, char *memory);

/// Adds `distance` to every address in a packed request, after its memory was mapped at another address.
__attribute__((visibility("hidden"))) void cspawn_relocate(cspawn_request *request, ptrdiff_t distance);
