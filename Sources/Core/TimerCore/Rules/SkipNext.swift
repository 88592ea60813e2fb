// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The rule of `skip-next`: a user requests that the next firings of a job are skipped.
///
/// It takes firings that would otherwise have a run: one that is skipped because it was missed or is too
/// old does not count, and one that another run would prevent does. Several that are due as one count as
/// one.
public enum SkipNext {
    /// The greatest number that a user can request.
    public static let most = 1_000_000

    /// How many firings are skipped if a user requests so many.
    public static func accepted<Number: BinaryInteger>(_ requested: Number) -> Number {
        min(max(0, requested), Number(clamping: most))
    }

    /// How many are left after a firing that is skipped; nil: it is not skipped.
    ///
    /// - Parameter requested: how many are to be skipped.
    public static func left<Number: BinaryInteger>(of requested: Number) -> Number? {
        requested > 0 ? requested - 1 : nil
    }
}
