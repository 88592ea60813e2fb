// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Cuts a stream of bytes into lines of bounded length.
struct LineCutter {
    /// The most bytes of a line; a longer one comes in pieces.
    static let lineBytesMax = 8 << 10

    private var partial: [UInt8] = []
    /// The rest of a line whose beginning was discarded is discarded as well.
    private var skips = false

    /// Whether a line has begun and not ended.
    var hasBegun: Bool { !partial.isEmpty }

    /// Takes bytes and hands out each line that is whole, or as long as a line may be.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, each: (_ line: [UInt8], _ isCut: Bool) -> Void
    ) {
        var start = 0
        if skips {
            guard let newline = Self.newline(in: bytes) else { return }
            skips = false
            start = newline + 1
        }
        while start < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
            let room = Self.lineBytesMax - partial.count
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(room))
            if let newline = Self.newline(in: piece) {
                partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[..<newline]))
                start += newline + 1
                each(partial, false)
                partial.removeAll(keepingCapacity: true)
            } else {
                partial.append(contentsOf: piece)
                start += piece.count
                // A newline right behind a line of just that length ends it, and no piece follows.
                guard partial.count == Self.lineBytesMax, start < bytes.count else { return }
                let isWhole = bytes[start] == UInt8(ascii: "\n")
                if isWhole { start += 1 }
                each(partial, !isWhole)
                partial.removeAll(keepingCapacity: true)
            }
        }
    }

    /// Throws the bytes away, and what there was of a line before them.
    /// - Returns: of how many lines they are; each line is counted once.
    mutating func discard(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        var lines = 0
        var rest = bytes
        while let newline = Self.newline(in: rest) {
            lines += 1
            rest = UnsafeRawBufferPointer(rebasing: rest[(newline + 1)...])
        }
        // The line that a discarded piece ended in was counted with that piece.
        if skips { lines -= 1 }
        skips = !rest.isEmpty
        if skips { lines += 1 }
        partial = []
        return lines
    }

    private static func newline(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress,
            let found = memchr(base, Int32(UInt8(ascii: "\n")), bytes.count)
        else { return nil }
        return UnsafeRawPointer(found) - base
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
    /// The most bytes that are kept of any run.
    static let bytesMax = 1 << 20

    private let limit: Int
    private var bytes: [UInt8] = []

    /// - Parameter limit: how many bytes are kept.
    init(limit: Int) { self.limit = max(0, min(limit, Self.bytesMax)) }

    mutating func take(_ more: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: more.suffix(limit)))
        // Cut back now and then, not at each byte.
        if bytes.count > 2 * limit { bytes.removeFirst(bytes.count - limit) }
    }

    var last: [UInt8] { Array(bytes.suffix(limit)) }
}
