// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The children with a line that is not ended, such as a prompt that waits for an answer, or a
/// progress bar. If it is not ended after `delay`, it is reported; it is reported again if it has
/// become longer after that time.
struct UnfinishedLines {
    /// In nanoseconds.
    static let delay: Int64 = 200_000_000

    /// A child, and the numbers of lines that its streams had ended when it was noted.
    typealias Noted = (serial: UInt64, ended: [Int])

    private var noted: [UInt64: [Int]] = [:]
    /// When they are looked at, by CLOCK_MONOTONIC; nil: none is noted.
    private(set) var next: Int64?

    func contains(_ serial: UInt64) -> Bool { noted[serial] != nil }

    /// - Parameter ended: how many lines each stream of the child has ended.
    mutating func note(_ serial: UInt64, ended: [Int], at now: Int64) {
        noted[serial] = ended
        next = next ?? now + Self.delay
    }

    /// Removes all of them, if that is due.
    mutating func takeDue(at now: Int64) -> [Noted] {
        guard let next, now >= next else { return [] }
        defer { (noted, self.next) = ([:], nil) }
        return noted.map { ($0.key, $0.value) }
    }
}
