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

    /// The first of a row of instants that is not too early.
    ///
    /// - Parameter span: how much time is between two of them, above zero.
    func point(from first: WallInstant, every span: Duration) -> WallInstant {
        guard let notBefore, first < notBefore else { return first }
        let steps = ((notBefore - first).wholeNanoseconds - 1) / span.wholeNanoseconds + 1
        return first + .nanoseconds(span.wholeNanoseconds.multiplied(clampingBy: steps))
    }
}
