// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which boot of the machine: the 128 bits of /proc/sys/kernel/random/boot_id. Monotonic clocks of
/// different boots cannot be compared (random(4)).
public struct BootID: Hashable, Sendable, CustomStringConvertible {
    /// 32 lower-case hexadecimal digits.
    public let description: String

    /// Nil unless `text` is a UUID: 32 hexadecimal digits, with or without hyphens.
    public init?(_ text: String) {
        let digits = text.filter { $0 != "-" }
        guard digits.utf8.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return nil
        }
        description = digits.lowercased()
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
