// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// SHA-1 (RFC 3174), which UUIDs of version 5 are made of. It protects nothing here.
enum SHA1 {
    /// The 20 bytes of the hash.
    /// - Complexity: O(*n*).
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        var bytes = message
        bytes.append(0x80)
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bits = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        for block in stride(from: 0, to: bytes.count, by: 64) {
            add(bytes[block..<block + 64], to: &state)
        }
        return state.flatMap { word in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
        var words: [UInt32] = []
        for start in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            words.append(block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        for index in 16..<80 {
            let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            words.append(rotated(mixed, by: 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (index, word) in words.enumerated() {
            let (function, constant): (UInt32, UInt32) =
                switch index {
                case 0..<20: (b & c | ~b & d, 0x5a82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ed9_eba1)
                case 40..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
                default: (b ^ c ^ d, 0xca62_c1d6)
                }
            let next = rotated(a, by: 5) &+ function &+ e &+ constant &+ word
            (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
