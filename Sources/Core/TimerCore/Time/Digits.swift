// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
    /// Parses a number from a text of digits only; nil for any other text, and if the number is too
    /// large.
    ///
    /// This is for texts with a grammar of their own. The initializer of Swift also accepts a sign,
    /// so that a second sign would be accepted after a sign that the caller has already read.
    ///
    /// - Parameter radix: from 2 to 36.
    public init?(digits text: some StringProtocol, radix: Int = 10) {
        guard let first = text.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-")
        else { return nil }
        self.init(text, radix: radix)
    }
}

extension FixedWidthInteger where Self: SignedInteger {
    /// Parses a number from digits, with `-` in front if it is negative; nil for any other text,
    /// and if it is out of range.
    public init?(decimal text: some StringProtocol) {
        guard text.utf8.first != UInt8(ascii: "+") else { return nil }
        self.init(text, radix: 10)
    }
}
