// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>

/// Whether the calling thread has a short time slice, which a child of its begins with and has to give up.
bool cspawn_has_short_slice(void);
