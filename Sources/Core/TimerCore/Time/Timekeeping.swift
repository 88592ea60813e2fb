// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// The types for clocks, ledgers and due times are part of the interface of the core too.
@_exported public import Timekeeping
