// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// An instant that may be missing, in 8 bytes in place of the 16 of an optional one: each of very many
/// jobs has some.
@propertyWrapper
struct PackedInstant: Hashable, Sendable {
    /// No clock reads the least number (`Accepted.clockMicroseconds`), which stands for none.
    private var microseconds: Int64

    init(wrappedValue: WallInstant?) {
        microseconds = wrappedValue?.microsecondsSinceEpoch ?? .min
    }

    var wrappedValue: WallInstant? {
        get { microseconds == .min ? nil : WallInstant(microsecondsSinceEpoch: microseconds) }
        set { self = Self(wrappedValue: newValue) }
    }
}
