// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A firing that was skipped, for the history.
public struct SkippedFiring: Hashable, Sendable {
    /// The firing; if several were skipped, the first of them.
    public var firing: Firing
    /// Why, with the details that the log has.
    public var reason: Notice.SkipReason
    /// When it was decided to skip it, by the wall clock.
    public var at: WallInstant

    public init(firing: Firing, reason: Notice.SkipReason, at: WallInstant) {
        self.firing = firing
        self.reason = reason
        self.at = at
    }
}
