// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// An instant that may be missing, in 8 bytes in place of the 16 of an optional one: each of very many
/// jobs has some.
@propertyWrapper
public struct PackedInstant: Hashable, Sendable, CustomStringConvertible {
    /// No clock reads the least number (`Accepted.clockMicroseconds`), which stands for none.
    private var microseconds: Int64

    /// Packs an instant; nil is the smallest number.
    public init(wrappedValue: WallInstant?) {
        microseconds = wrappedValue?.microsecondsSinceEpoch ?? .min
    }

    /// The instant that was packed; nil if that was nil.
    public var wrappedValue: WallInstant? {
        get { microseconds == .min ? nil : WallInstant(microsecondsSinceEpoch: microseconds) }
        set { self = Self(wrappedValue: newValue) }
    }

    /// The instant, or "nil".
    public var description: String { wrappedValue.map { "\($0)" } ?? "nil" }
}
