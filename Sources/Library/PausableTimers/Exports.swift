// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

// Instants and time bases are part of the interface of this library.
@_exported public import Instants
