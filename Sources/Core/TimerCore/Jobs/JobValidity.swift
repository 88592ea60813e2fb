// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// From when and until when a job runs by its schedule (`not-before`, `not-after`). Afterwards it is
/// finished. A firing outside this time does not exist: it is not missed, and nothing catches it up.
public struct JobValidity: Hashable, Sendable {
    /// The first instant at which a firing can be due; nil: any.
    public var notBefore: WallInstant?
    /// The last one; nil: there is none.
    public var notAfter: WallInstant?

    public init(notBefore: WallInstant? = nil, notAfter: WallInstant? = nil) {
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// Whether a firing can be due at an instant.
    func allows(_ instant: WallInstant) -> Bool {
        notBefore ?? instant <= instant && instant <= notAfter ?? instant
    }
}

extension WallInstant {
    /// The first of a row of instants, of which this is one, that is not before another instant; this one
    /// if it is not.
    ///
    /// - Parameter span: how much time is between two of them, above zero.
    func next(notBefore instant: WallInstant, every span: Duration) -> WallInstant {
        guard self < instant else { return self }
        let steps = ((instant - self).wholeNanoseconds - 1) / span.wholeNanoseconds + 1
        return self + .nanoseconds(span.wholeNanoseconds.multiplied(clampingBy: steps))
    }
}
