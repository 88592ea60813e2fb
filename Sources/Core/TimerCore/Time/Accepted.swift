// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The ranges of the numbers that timerd reads from its database, heartbeat and state marker.
/// Calculations with numbers in these ranges cannot overflow, and the results can be written again.
/// timerd never writes any other number, so any other number is refused where it is read.
public enum Accepted {
    /// Microseconds since 1970 of saved instants: the years 1 to 9999, which the identity of a run
    /// can express.
    public static let wallMicroseconds: ClosedRange<Int64> =
        -62_135_596_800_000_000...253_402_300_799_999_999
    /// Microseconds since 1970 of the scheduled instants of firings: those of the range above that
    /// are before 2300. No clock reads that late (`clockSeconds`), so there is room for later
    /// firings.
    public static let scheduledMicroseconds: ClosedRange<Int64> =
        -62_135_596_800_000_000...10_413_791_999_999_999
    /// Seconds since 1970 that the wall clock may read: the years 1970 to 2261, which the kernel
    /// can express in nanoseconds.
    public static let clockSeconds: ClosedRange<Int64> = 0...9_214_646_399
    /// The same in microseconds.
    public static let clockMicroseconds: ClosedRange<Int64> = 0...9_214_646_399_999_999
    /// Nanoseconds that the clocks of one boot may read: up to 146 years.
    public static let bootNanoseconds: ClosedRange<Int64> = 0...(1 << 62)
    /// Nanoseconds of a saved time span.
    public static let spanNanoseconds: ClosedRange<Int64> = 0 ... .max
    /// Nanoseconds of the time since a grid point in a record: negative, by at most `Agenda.aheadMax`, before it.
    public static let accruedNanoseconds: ClosedRange<Int64> = -31_000_000 ... .max
    /// How often something happened: enough for once a millisecond during 31 000 years.
    public static let count: ClosedRange<Int64> = 0...1_000_000_000_000_000
    /// Numbers of daemon instances, which are counted from 1.
    public static let instance: ClosedRange<Int64> = 1...1_000_000_000_000_000
}

extension WallInstant {
    /// Reads a saved instant in microseconds since 1970; nil outside `Accepted.wallMicroseconds`.
    public init?(kept microseconds: Int64) {
        guard Accepted.wallMicroseconds.contains(microseconds) else { return nil }
        self.init(microsecondsSinceEpoch: microseconds)
    }

    /// Reads the saved scheduled instant of a firing in microseconds since 1970; nil outside
    /// `Accepted.scheduledMicroseconds`.
    public init?(keptSchedule microseconds: Int64) {
        guard Accepted.scheduledMicroseconds.contains(microseconds) else { return nil }
        self.init(microsecondsSinceEpoch: microseconds)
    }

    /// A reading of the wall clock. A reading outside `Accepted.clockSeconds` becomes the nearest
    /// instant in it, so that a wrong clock does not end the daemon.
    public init(clockSeconds seconds: Int64, nanoseconds: Int64) {
        let range = Accepted.clockSeconds
        let whole = seconds.clamped(to: range)
        let part = whole == seconds ? nanoseconds / 1000 : whole == 0 ? 0 : 999_999
        self.init(microsecondsSinceEpoch: whole * 1_000_000 + part)
    }

    /// The instant, or the nearest one that `init(kept:)` accepts.
    public var keepable: WallInstant {
        WallInstant(
            microsecondsSinceEpoch: microsecondsSinceEpoch.clamped(to: Accepted.wallMicroseconds))
    }
}

extension AwakeInstant {
    /// Reads a saved reading of CLOCK_MONOTONIC in nanoseconds; nil outside
    /// `Accepted.bootNanoseconds`.
    public init?(kept nanoseconds: Int64) {
        guard Accepted.bootNanoseconds.contains(nanoseconds) else { return nil }
        self.init(nanoseconds: nanoseconds)
    }
}

extension BootInstant {
    /// Reads a saved reading of CLOCK_BOOTTIME in nanoseconds; nil outside
    /// `Accepted.bootNanoseconds`.
    public init?(kept nanoseconds: Int64) {
        guard Accepted.bootNanoseconds.contains(nanoseconds) else { return nil }
        self.init(nanoseconds: nanoseconds)
    }
}

extension Now {
    /// Reads a saved reading of all clocks; nil if any part is outside its range.
    public init?(
        keptWall wall: Int64, awake: Int64, boot: Int64, bootID: BootID
    ) {
        guard let wall = WallInstant(kept: wall), let awake = AwakeInstant(kept: awake),
            let boot = BootInstant(kept: boot)
        else { return nil }
        self.init(wall: wall, awake: awake, boot: boot, bootID: bootID)
    }
}

extension Duration {
    /// Reads a saved span in nanoseconds; nil if it is negative.
    public init?(keptNanoseconds nanoseconds: Int64) {
        guard Accepted.spanNanoseconds.contains(nanoseconds) else { return nil }
        self = .nanoseconds(nanoseconds)
    }

    /// Reads a saved time since a grid point in nanoseconds; nil outside
    /// `Accepted.accruedNanoseconds`.
    public init?(keptAccrued nanoseconds: Int64) {
        guard Accepted.accruedNanoseconds.contains(nanoseconds) else { return nil }
        self = .nanoseconds(nanoseconds)
    }

    /// Reads a saved span in microseconds; nil if it is negative.
    public init?(keptMicroseconds microseconds: Int64) {
        guard Accepted.spanNanoseconds.contains(microseconds) else { return nil }
        self = .microseconds(microseconds)
    }
}

extension Int {
    /// Reads a saved count; nil outside `Accepted.count`.
    public init?(kept count: Int64) {
        guard Accepted.count.contains(count) else { return nil }
        self = Int(count)
    }

    /// The count, or the nearest one that `init(kept:)` accepts.
    public var keepable: Int64 { Int64(self).clamped(to: Accepted.count) }
}

extension Int64 {
    fileprivate func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
