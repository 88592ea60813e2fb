// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One part of a field of a schedule: a number, a range of numbers, or a number with a step.
struct ScheduleComponent: Hashable, Sendable, Comparable {
    /// The first value, as a number of the field.
    var start: Int
    /// The last possible value; nil: the end of the field.
    var stop: Int?
    /// The difference between two values; 0 if there is only the first.
    var step: Int

    /// The order in which the parts of a field are printed. An open end sorts first.
    static func < (left: Self, right: Self) -> Bool {
        (left.start, left.stop ?? -1, left.step) < (right.start, right.stop ?? -1, right.step)
    }

    /// Its first value that is at least `value` and at most `limit`.
    func next(notBelow value: Int, limit: Int) -> Int? {
        let last = min(stop ?? limit, limit)
        guard value > start else { return start <= last ? start : nil }
        guard step > 0 else { return nil }
        let steps = (value - start + step - 1) / step
        let found = start + steps * step
        return found <= last ? found : nil
    }

    /// Its last value that is at most `value` and at most `limit`.
    func previous(notAbove value: Int, limit: Int) -> Int? {
        let last = min(value, stop ?? limit, limit)
        guard last >= start else { return nil }
        return step > 0 ? start + (last - start) / step * step : start
    }
}

extension Array<ScheduleComponent> {
    func next(notBelow value: Int, limit: Int) -> Int? {
        var best: Int?
        for component in self {
            if let found = component.next(notBelow: value, limit: limit), found < best ?? .max {
                best = found
            }
        }
        return best
    }

    func previous(notAbove value: Int, limit: Int) -> Int? {
        var best: Int?
        for component in self {
            if let found = component.previous(notAbove: value, limit: limit), found > best ?? .min {
                best = found
            }
        }
        return best
    }

    /// The values up to `limit`, at most 63, as bits; if there is no component, all values from
    /// `from` on.
    func bits(from: Int, limit: Int) -> UInt64 {
        guard !isEmpty else { return (from...limit).reduce(0) { $0 | 1 << $1 } }
        var bits: UInt64 = 0
        for component in self {
            var value = component.next(notBelow: from, limit: limit)
            while let found = value {
                bits |= 1 << found
                value = component.next(notBelow: found + 1, limit: limit)
            }
        }
        return bits
    }
}

extension FixedWidthInteger {
    /// The lowest bit that is set at or above `place`.
    func bit(notBelow place: Int) -> Int? {
        guard place < Self.bitWidth else { return nil }
        let rest = self & (~0 << Swift.max(0, place))
        return rest == 0 ? nil : rest.trailingZeroBitCount
    }

    /// The highest bit that is set at or below `place`.
    func bit(notAbove place: Int) -> Int? {
        guard place >= 0 else { return nil }
        let rest = place >= Self.bitWidth - 1 ? self : self & ~(~0 << (place + 1))
        return rest == 0 ? nil : Self.bitWidth - 1 - rest.leadingZeroBitCount
    }
}
