// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The bytes of a JSON text so far, and the objects and arrays that are open.
struct JSONText {
    private struct Frame {
        var closing: UInt8
        /// The index of the byte after its opening bracket.
        var start: Int
        /// The index of its first member in `members`.
        var firstMember: Int
        var isSorted = true
    }

    private(set) var bytes: [UInt8] = []
    private var frames: [Frame] = []
    /// Where each member of the open objects starts; those of inner objects come after those of
    /// outer ones.
    private var members: [Int] = []

    /// How many objects and arrays are open; the innermost one has this depth.
    var depth: Int { frames.count }

    /// Starts an object or an array and returns its depth.
    mutating func open(_ opening: Unicode.Scalar, _ closing: Unicode.Scalar) -> Int {
        bytes.append(UInt8(ascii: opening))
        frames.append(
            Frame(
                closing: UInt8(ascii: closing), start: bytes.count, firstMember: members.count))
        return frames.count
    }

    /// Closes all objects and arrays that are deeper than this.
    mutating func close(to depth: Int) {
        while frames.count > depth, let frame = frames.popLast() {
            if !frame.isSorted { sort(frame) }
            members.removeSubrange(frame.firstMember...)
            bytes.append(frame.closing)
        }
    }

    /// Starts an element of the array at this depth.
    mutating func beginElement(at depth: Int) {
        close(to: depth)
        if let frame = frames.last, bytes.count > frame.start { bytes.append(UInt8(ascii: ",")) }
    }

    /// Starts a member of the object at this depth. Each capital letter of the name starts a new
    /// word.
    mutating func beginMember(_ name: String, at depth: Int) {
        beginElement(at: depth)
        let start = bytes.count
        bytes.append(UInt8(ascii: "\""))
        for byte in name.utf8 {
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) {
                bytes.append(UInt8(ascii: "_"))
                bytes.append(byte | 0x20)
            } else {
                // The bytes of other characters than those of ASCII stay as they are.
                byte < 0x80 ? bytes.append(json: Unicode.Scalar(byte), .short) : bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        if let last = frames.indices.last, members.count > frames[last].firstMember,
            frames[last].isSorted, !precedes(members[members.count - 1], start)
        {
            frames[last].isSorted = false
        }
        members.append(start)
        bytes.append(UInt8(ascii: ":"))
    }

    // MARK: - Values

    mutating func write(word: String) { bytes += word.utf8 }

    mutating func write(_ number: some FixedWidthInteger) {
        var rest = number.magnitude
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(UInt8(ascii: "0") + UInt8(digit))
            rest = quotient
        } while rest > 0
        bytes[start...].reverse()
    }

    mutating func write(_ text: String) { bytes.append(json: text, .short) }

    // MARK: - Order

    /// Whether the member that starts at `left` comes before the one at `right`.
    private func precedes(_ left: Int, _ right: Int) -> Bool {
        bytes.withUnsafeBytes { Self.precedes(left, right, in: $0) }
    }

    /// Each name ends with a quotation mark, which sorts before every character that could continue
    /// a longer name.
    private static func precedes(_ left: Int, _ right: Int, in text: UnsafeRawBufferPointer) -> Bool
    {
        guard let base = text.baseAddress else { return false }
        return memcmp(base + left, base + right, text.count - max(left, right)) < 0
    }

    private mutating func sort(_ frame: Frame) {
        let starts = members[frame.firstMember...]
        let ends = starts.dropFirst().map { $0 - 1 } + [bytes.count]
        let inOrder = bytes.withUnsafeBytes { text in
            zip(starts, ends).sorted { Self.precedes($0.0, $1.0, in: text) }
        }
        var sorted: [UInt8] = []
        sorted.reserveCapacity(bytes.count - frame.start)
        for (start, end) in inOrder {
            if !sorted.isEmpty { sorted.append(UInt8(ascii: ",")) }
            sorted += bytes[start..<end]
        }
        bytes.replaceSubrange(frame.start..., with: sorted)
    }
}
