// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A value behind a reference, so that a field that usually has its default value needs little
/// memory. A change replaces the reference, and two boxes are equal if their values are equal.
@propertyWrapper
public struct Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    public var wrappedValue: Value {
        get { box.value }
        set { box = Box(newValue) }
    }

    /// Creates a box of its own, also if another one has an equal value.
    public init(wrappedValue: Value) { box = Box(wrappedValue) }

    /// A box with the value: this one if it has an equal value, so that both share it.
    func sharing(_ value: Value) -> Self { value == box.value ? self : Self(wrappedValue: value) }

    public static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
