// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The first place where this text contains another one, character by character; nil if there
    /// is none. Takes the product of both lengths at worst.
    ///
    /// The standard library's own functions for this belong to its module for regular expressions,
    /// which adds 1.3 MB to each program that calls one of them. `make check-sizes` notices it.
    package func firstOccurrence(of text: String) -> Range<Index>? {
        var start = startIndex
        while true {
            let rest = self[start...]
            if rest.starts(with: text) {
                return start..<index(start, offsetBy: text.count)
            }
            guard start < endIndex else { return nil }
            formIndex(after: &start)
        }
    }

    /// Whether `firstOccurrence(of:)` finds `text`.
    package func hasOccurrence(of text: String) -> Bool { firstOccurrence(of: text) != nil }
}
