// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// CLOCK_MONOTONIC in nanoseconds.
@inline(__always)
func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Prevents the compiler from removing a calculation whose result is not used.
@inline(never)
func keep<Value>(_ value: Value) { withUnsafePointer(to: value) { _ in } }

extension [Double] {
    /// The quantile: the value below which this part of all values is, 0 to 1. The array must not
    /// be empty.
    func quantile(_ part: Double) -> Double {
        let sorted = sorted()
        return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * part))]
    }

    var median: Double { quantile(0.5) }
}

/// Prints one line of JSON on standard output, with the keys in the given order.
func report(_ fields: [(String, any Sendable)]) {
    let parts = fields.map { key, value in
        switch value {
        case let text as String: "\"\(key)\": \(quoted(text))"
        default: "\"\(key)\": \(value)"
        }
    }
    print("{" + parts.joined(separator: ", ") + "}")
}

private func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
        quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
}
