// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A reading of the wall clock, CLOCK_REALTIME: microseconds since 1970-01-01T00:00:00Z.
///
/// The clock jumps when it is set, so the difference of two readings is elapsed time only if the
/// clock was not set between them. Range: approximately 292 000 years before and after 1970. A
/// calculation with this or another instant type that would leave the range returns the first or
/// last instant of the range.
@frozen
public struct WallInstant: Hashable, Comparable, Sendable {
    /// Microseconds since the Unix epoch; negative before it.
    public var microsecondsSinceEpoch: Int64

    /// The instant this many microseconds after the Unix epoch.
    @inlinable
    public init(microsecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = microsecondsSinceEpoch
    }

    /// The instant this many whole seconds after the Unix epoch.
    @inlinable
    public init(secondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = secondsSinceEpoch.multiplied(clampingBy: 1_000_000)
    }

    /// Whole seconds since the Unix epoch, rounded towards the past.
    @inlinable public var secondsSinceEpoch: Int64 {
        microsecondsSinceEpoch.quotient(flooringBy: 1_000_000)
    }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
    }

    /// The instant `span` later, rounded to the microsecond towards zero.
    @inlinable
    public static func + (instant: Self, span: Duration) -> Self {
        Self(
            microsecondsSinceEpoch: instant.microsecondsSinceEpoch.adding(
                clamping: span.wholeMicroseconds))
    }

    /// The instant `span` earlier, rounded to the microsecond towards zero.
    @inlinable
    public static func - (instant: Self, span: Duration) -> Self {
        Self(
            microsecondsSinceEpoch: instant.microsecondsSinceEpoch.subtracting(
                clamping: span.wholeMicroseconds))
    }

    /// The time that passed from `right` to `left` by this clock; negative if `left` is earlier.
    @inlinable
    public static func - (left: Self, right: Self) -> Duration {
        .microseconds(
            left.microsecondsSinceEpoch.subtracting(clamping: right.microsecondsSinceEpoch))
    }
}

/// A reading of CLOCK_MONOTONIC: the nanoseconds that the machine was awake in this boot. The clock
/// does not advance while the machine is suspended, cannot be set, and starts again at each boot
/// (clock_gettime(2)).
@frozen
public struct AwakeInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds of CLOCK_MONOTONIC.
    public var nanoseconds: Int64

    /// The instant at which CLOCK_MONOTONIC reads `nanoseconds`.
    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant `span` later, rounded to the nanosecond towards zero.
    @inlinable
    public static func + (instant: Self, span: Duration) -> Self {
        Self(nanoseconds: instant.nanoseconds.adding(clamping: span.wholeNanoseconds))
    }

    /// The instant `span` earlier, rounded to the nanosecond towards zero.
    @inlinable
    public static func - (instant: Self, span: Duration) -> Self {
        Self(nanoseconds: instant.nanoseconds.subtracting(clamping: span.wholeNanoseconds))
    }

    /// The time that passed from `right` to `left`, which must be of one boot; negative if `left`
    /// is earlier.
    @inlinable
    public static func - (left: Self, right: Self) -> Duration {
        .nanoseconds(left.nanoseconds.subtracting(clamping: right.nanoseconds))
    }
}

/// A reading of CLOCK_BOOTTIME: nanoseconds since the boot of the machine, including suspended time
/// (clock_gettime(2)).
@frozen
public struct BootInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds of CLOCK_BOOTTIME.
    public var nanoseconds: Int64

    /// The instant at which CLOCK_BOOTTIME reads `nanoseconds`.
    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The time that passed from `right` to `left`, which must be of one boot; negative if `left`
    /// is earlier.
    @inlinable
    public static func - (left: Self, right: Self) -> Duration {
        .nanoseconds(left.nanoseconds.subtracting(clamping: right.nanoseconds))
    }
}

extension AwakeInstant: InstantProtocol {
    /// The instant `duration` later, rounded to the nanosecond towards zero.
    @inlinable
    public func advanced(by duration: Duration) -> Self { self + duration }

    /// The time that passes from this instant to `other`, which must be of one boot; negative if
    /// `other` is earlier.
    @inlinable
    public func duration(to other: Self) -> Duration { other - self }
}

extension Duration {
    /// The span in whole microseconds, rounded towards zero; limited to ±292 000 years.
    @inlinable public var wholeMicroseconds: Int64 { whole(perSecond: 1_000_000) }

    /// The span in whole nanoseconds, rounded towards zero; limited to ±292 years.
    @inlinable public var wholeNanoseconds: Int64 { whole(perSecond: 1_000_000_000) }

    /// The span in whole nanoseconds, rounded up; limited to ±292 years.
    @inlinable public var nanosecondsRoundedUp: Int64 {
        let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return Int64(clamping: rest > 0 ? whole + 1 : whole)
    }

    @inlinable
    func whole(perSecond: Int64) -> Int64 {
        Int64(clamping: attoseconds / Int128(1_000_000_000_000_000_000 / perSecond))
    }
}

extension Int64 {
    /// The sum, limited to the range of the type.
    @inlinable
    package func adding(clamping other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, limited to the range of the type.
    @inlinable
    package func subtracting(clamping other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// The product, limited to the range of the type.
    @inlinable
    package func multiplied(clampingBy factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? ((self < 0) != (factor < 0) ? .min : .max) : product
    }

    /// The quotient rounded down, while `/` rounds towards zero.
    @inlinable
    package func quotient(flooringBy divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder != 0 && (remainder < 0) != (divisor < 0) ? quotient - 1 : quotient
    }

    /// The remainder of `quotient(flooringBy:)`; never negative for a divisor above zero.
    @inlinable
    package func remainder(flooringBy divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest
    }
}
