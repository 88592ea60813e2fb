// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension String {
    /// Creates the text with everything but the unreserved characters of RFC 3986 as `%20`.
    ///
    /// - Parameter others: further ASCII characters that stay as they are.
    /// - Complexity: O(*n*) in the number of bytes.
    package init(percentEncoding text: String, keeping others: String = "") {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte.isUnreserved || others.utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        self.init(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether it is an ASCII letter, a digit or one of `-._~` (RFC 3986, 2.3).
    var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(self)
        }
    }
}
