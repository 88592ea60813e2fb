// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where the agenda is known to differ from the definitions, and the checker follows it for the time being.
/// Each is to become `false`, and to go.
enum Leniency {
    /// A job whose schedule changed with a restart makes up for slots from before that.
    static let changedSlotsLookBack = true
}
