// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Bytes as text (RFC 4648, 4): the form in which etcd's JSON has keys and values.
enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The digit of each character; 255 if it is none.
    private static let digits: [UInt8] = {
        var digits = [UInt8](repeating: 255, count: 256)
        for (digit, character) in alphabet.enumerated() { digits[Int(character)] = UInt8(digit) }
        return digits
    }()

    /// The text of these bytes.
    /// - Complexity: O(*n*) in the bytes.
    static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var rest = bytes[...]
        while !rest.isEmpty {
            var group: UInt32 = 0
            var count = 0
            for shift: UInt32 in [16, 8, 0] {
                guard let byte = rest.popFirst() else { break }
                group |= UInt32(byte) << shift
                count += 1
            }
            for place in 0..<4 {
                let digit = Int(group >> UInt32(18 - 6 * place) & 63)
                text.append(place <= count ? alphabet[digit] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text; nil if it is not exactly the text that `encode` returns for them.
    /// - Complexity: O(*n*) in the bytes.
    static func decode(_ text: String) -> [UInt8]? {
        var characters = Array(text.utf8)[...]
        guard characters.count % 4 == 0 else { return nil }
        var padding = 0
        while padding < 2, characters.last == UInt8(ascii: "=") {
            characters.removeLast()
            padding += 1
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count * 3 / 4)
        var (group, bits): (UInt32, UInt32) = (0, 0)
        for character in characters {
            let digit = digits[Int(character)]
            guard digit < 64 else { return nil }
            group = group << 6 | UInt32(digit)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
                group &= (1 << bits) - 1
            }
        }
        // What is left of the last digit must be zero, or two texts would mean the same.
        return group == 0 ? bytes : nil
    }
}
