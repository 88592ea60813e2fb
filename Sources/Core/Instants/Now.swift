// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The identity of a boot of the machine: the 128 bits of /proc/sys/kernel/random/boot_id
/// (random(4)). Monotonic clocks of different boots cannot be compared.
@frozen
public struct BootID: Hashable, Sendable, CustomStringConvertible {
    @usableFromInline let high: UInt64
    @usableFromInline let low: UInt64

    /// The identity of no boot. It means that readings cannot be compared with those of any boot.
    public static let unknown = Self(high: 0, low: 0)

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns nil unless `text` is a UUID: 32 hexadecimal digits, with or without hyphens.
    public init?(_ text: String) {
        var (high, low, count) = (UInt64(0), UInt64(0), 0)
        for byte in text.utf8 where byte != UInt8(ascii: "-") {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
            count += 1
        }
        guard count == 32 else { return nil }
        self.high = high
        self.low = low
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String {
        // This is fast because it is written with every record.
        String(unsafeUninitializedCapacity: 32) { digits in
            for place in 0..<32 {
                let half = place < 16 ? high : low
                let digit = UInt8(half >> (60 - 4 * UInt64(place % 16)) & 15)
                digits[place] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            }
            return 32
        }
    }
}

/// A reading of the clock that a ledger counts by, in nanoseconds: CLOCK_MONOTONIC for active time
/// and uptime, CLOCK_BOOTTIME for the others. Readings of different clocks or boots cannot be
/// compared.
@frozen
public struct CountedInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds of that clock.
    public var nanoseconds: Int64

    /// The instant at which that clock reads `nanoseconds`.
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

    /// The time that passed from `right` to `left`; negative if `left` is earlier.
    @inlinable
    public static func - (left: Self, right: Self) -> Duration {
        .nanoseconds(left.nanoseconds.subtracting(clamping: right.nanoseconds))
    }

    /// The instant `span` later, rounded up to the nanosecond; limited to the last instant of the
    /// clock.
    @inlinable
    public func advanced(by span: Duration) -> Self {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(span.nanosecondsRoundedUp)
        return Self(nanoseconds: overflow ? (span < .zero ? .min : .max) : sum)
    }
}

/// One reading of all clocks. The caller takes it and passes it to the core, which never reads a
/// clock. If the wall clock was set or the machine was suspended between two readings, the
/// differences of the clocks are not equal.
@frozen
public struct Now: Hashable, Sendable {
    /// CLOCK_REALTIME, which can be set at any time.
    public var wall: WallInstant
    /// The clock that does not advance while the machine sleeps.
    public var awake: AwakeInstant
    /// The clock that advances while the machine sleeps.
    public var boot: BootInstant
    /// The boot that `awake` and `boot` belong to.
    public var bootID: BootID

    /// All four parts must be read together.
    @inlinable
    public init(wall: WallInstant, awake: AwakeInstant, boot: BootInstant, bootID: BootID) {
        self.wall = wall
        self.awake = awake
        self.boot = boot
        self.bootID = bootID
    }
}

extension Now {
    /// The reading of the clock by which time of this basis is counted.
    @inlinable
    public func counted(_ basis: TimeBasis) -> CountedInstant {
        switch basis {
        case .active, .uptime: CountedInstant(nanoseconds: awake.nanoseconds)
        case .boottime, .wall: CountedInstant(nanoseconds: boot.nanoseconds)
        }
    }

    /// The reading of CLOCK_MONOTONIC at the time when the clock of this basis reads `instant`, if
    /// the machine does not sleep until then.
    @inlinable
    public func awake(at instant: CountedInstant, _ basis: TimeBasis) -> AwakeInstant {
        awake + (instant - counted(basis))
    }

    /// The reading at the time when `span` has passed, if no clock is set and the machine does not
    /// sleep until then. The wall clock is rounded to the microsecond towards zero.
    @inlinable
    public func advanced(by span: Duration) -> Now {
        Now(
            wall: wall + span, awake: awake + span,
            boot: BootInstant(
                nanoseconds: boot.nanoseconds.adding(clamping: span.wholeNanoseconds)),
            bootID: bootID)
    }

    /// How long the machine was awake, and how long it was switched on, since it booted.
    @inlinable
    public var sinceBoot: (awake: Duration, boot: Duration) {
        (.nanoseconds(awake.nanoseconds), .nanoseconds(boot.nanoseconds))
    }

    /// How long the machine slept between `earlier` and this reading, which must be of one boot.
    @inlinable
    public func slept(since earlier: Now) -> Duration {
        (boot - earlier.boot) - (awake - earlier.awake)
    }
}
