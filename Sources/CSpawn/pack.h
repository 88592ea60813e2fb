// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "CSpawn.h"

/// How many bytes everything takes that the request leads to.
__attribute__((visibility("hidden"))) size_t cspawn_packed_size(const cspawn_request *request);

/// Copies everything that the request leads to into `memory`, which has room for `cspawn_packed_size` bytes and is
/// aligned for any type, and has the request lead there.
__attribute__((visibility("hidden"))) void cspawn_pack(cspawn_request *request, char *memory);

/// Adds `distance` to every address in a packed request: its memory is at another address now.
__attribute__((visibility("hidden"))) void cspawn_relocate(cspawn_request *request, ptrdiff_t distance);
