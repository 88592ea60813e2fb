// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// Ledgers, grids and credits calculate with instants.
@_exported public import Instants
