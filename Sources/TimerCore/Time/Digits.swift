// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
    /// The number that a text of nothing but digits writes; nil for anything else, and if it is too large.
    ///
    /// For texts that have a grammar of their own. Swift's own initializer takes a sign as well, so that
    /// behind a sign that was read already a second one would count.
    ///
    /// - Parameter radix: from 2 to 36.
    public init?(digits text: some StringProtocol, radix: Int = 10) {
        guard let first = text.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-")
        else { return nil }
        self.init(text, radix: radix)
    }
}

extension FixedWidthInteger where Self: SignedInteger {
    /// The number that digits write, behind `-` if it is negative; nil for anything else, and if it is out
    /// of range.
    public init?(decimal text: some StringProtocol) {
        guard text.utf8.first != UInt8(ascii: "+") else { return nil }
        self.init(text, radix: 10)
    }
}
