// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which boot of the machine: the 128 bits of /proc/sys/kernel/random/boot_id. Monotonic clocks of
/// different boots cannot be compared (random(4)).
public struct BootID: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Nil unless `text` is a UUID: 32 hexadecimal digits, with or without hyphens.
    public init?(_ text: String) {
        let digits = text.filter { $0 != "-" }
        guard digits.utf8.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String {
        [high, low].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}

/// One reading of every clock, taken together by the shell and handed to the core, which never asks for
/// the time itself. A clock step or a machine suspend shows as a difference between the clocks' deltas.
public struct Now: Hashable, Sendable {
    /// The calendar clock.
    public var wall: WallInstant
    /// The clock that stops while the machine sleeps.
    public var awake: AwakeInstant
    /// The clock that goes on while the machine sleeps.
    public var boot: BootInstant
    /// The boot that `awake` and `boot` belong to.
    public var bootID: BootID

    /// A reading of the four.
    public init(wall: WallInstant, awake: AwakeInstant, boot: BootInstant, bootID: BootID) {
        self.wall = wall
        self.awake = awake
        self.boot = boot
        self.bootID = bootID
    }
}
