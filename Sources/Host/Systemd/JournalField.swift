// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Journal {
    /// One field of an entry: a name, and a value of any bytes.
    public struct Field: Hashable, Sendable {
        /// Capital letters, digits and `_`, at most 64 of them, starting with a letter. Fields with
        /// other names are not sent.
        public var name: String
        /// A value longer than `valueBytesMax` is cut when it is sent.
        public var value: [UInt8]

        /// A field of any bytes.
        public init(_ name: String, _ value: [UInt8]) {
            self.name = name
            self.value = value
        }

        /// A field of text. A text that is too long is cut between two characters, because the
        /// journal's clients show a value that is not UTF-8 as a number of bytes.
        public init(_ name: String, _ text: String) {
            self.name = name
            value = Array(text.utf8.prefix(valueBytesMax))
            // Removes the bytes of a character that was cut in the middle.
            guard text.utf8.count > valueBytesMax,
                let next = text.utf8.dropFirst(valueBytesMax).first,
                next & 0xc0 == 0x80
            else { return }
            while let last = value.popLast(), last & 0xc0 == 0x80 {}
        }

        /// Whether the journal accepts the name. Names that start with an underscore are reserved,
        /// and the journal drops such fields from clients (systemd.journal-fields(7)).
        static func isName(_ name: String) -> Bool {
            guard let first = name.utf8.first, name.utf8.count <= nameBytesMax else { return false }
            let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            return capitals.contains(first)
                && name.utf8.allSatisfy {
                    capitals.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "_")
                }
        }

        /// The journal's own limit.
        private static let nameBytesMax = 64
    }

    /// Encodes the fields as in the protocol. A value with a newline is preceded by its length, so
    /// that it cannot start another field.
    /// - Complexity: O(bytes).
    static func encode(_ fields: [Field]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        var bytes: [UInt8] = []
        for field in fields where Field.isName(field.name) {
            let value = field.value.prefix(valueBytesMax)
            bytes += field.name.utf8
            if value.contains(newline) {
                bytes.append(newline)
                withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes += $0 }
            } else {
                bytes.append(UInt8(ascii: "="))
            }
            bytes += value
            bytes.append(newline)
        }
        return bytes
    }
}
