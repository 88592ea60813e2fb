// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// Instants and what counts as time are part of this library's own words.
@_exported public import Timekeeping
