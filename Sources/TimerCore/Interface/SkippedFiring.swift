// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A firing that was skipped.
public struct SkippedFiring: Hashable, Sendable {
    /// The firing; if several were skipped, the first of them.
    public var firing: Firing
    /// The reason.
    public var reason: Notice.SkipReason
    /// When it was skipped.
    public var at: WallInstant

    /// Creates a record of a skipped firing.
    public init(firing: Firing, reason: Notice.SkipReason, at: WallInstant) {
        self.firing = firing
        self.reason = reason
        self.at = at
    }
}
