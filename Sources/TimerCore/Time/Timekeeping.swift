// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// Clocks, accounts of time and what is due are the core's own words too.
@_exported public import Timekeeping
