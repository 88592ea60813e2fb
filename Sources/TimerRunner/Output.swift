// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Cuts a stream of bytes into lines of bounded length.
struct LineCutter {
    /// The most bytes of a line; a longer one comes in pieces.
    static let lineBytesMax = 8 << 10

    private var partial: [UInt8] = []

    /// Takes bytes and hands out each line that is whole, or as long as a line may be.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, each: (_ line: [UInt8], _ isCut: Bool) -> Void
    ) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let room = Self.lineBytesMax - partial.count
            let piece = rest.prefix(room)
            if let newline = piece.firstIndex(of: UInt8(ascii: "\n")) {
                partial += rest[..<newline]
                rest = rest[(newline + 1)...]
                each(partial, false)
                partial.removeAll(keepingCapacity: true)
            } else {
                partial += piece
                rest = rest[piece.endIndex...]
                // A newline right behind a line of just that length ends it, and no piece follows.
                guard partial.count == Self.lineBytesMax, let next = rest.first else { return }
                if next == UInt8(ascii: "\n") {
                    rest = rest.dropFirst()
                    each(partial, false)
                } else {
                    each(partial, true)
                }
                partial.removeAll(keepingCapacity: true)
            }
        }
    }

    /// Hands out what is left when the stream ends.
    mutating func finish(each: (_ line: [UInt8], _ isCut: Bool) -> Void) {
        guard !partial.isEmpty else { return }
        each(partial, false)
        partial = []
    }
}

/// The last bytes of what a run wrote.
struct Tail {
    /// How many bytes are kept.
    static let bytesMax = 8 << 10

    private(set) var bytes: [UInt8] = []

    mutating func take(_ more: UnsafeRawBufferPointer) {
        bytes += more.suffix(Self.bytesMax)
        // Cut back now and then, not at each byte.
        if bytes.count > 2 * Self.bytesMax { bytes.removeFirst(bytes.count - Self.bytesMax) }
    }

    var last: [UInt8] { Array(bytes.suffix(Self.bytesMax)) }
}
