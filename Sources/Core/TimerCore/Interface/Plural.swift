// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A number with its noun: `1 job`, `2 jobs`, `0 jobs`.
///
/// - Parameters:
///   - one: the noun for one, with the following words that depend on the number: `job is`.
///   - many: the same for any other number; nil: `one` with an s.
public func plural(_ number: Int, _ one: String, _ many: String? = nil) -> String {
    "\(number) \(number == 1 ? one : many ?? one + "s")"
}
