// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Cuts a stream of bytes into lines of bounded length.
struct LineCutter {
    /// The most bytes of a line; a longer one comes in pieces.
    static let lineBytesMax = 8 << 10

    private var partial: [UInt8] = []
    /// Whether the rest of the current line is discarded, because its start was discarded.
    private var skips = false

    /// How many lines have ended, in pieces or discarded as well.
    private(set) var ended = 0
    /// How many bytes of the current line were reported before its end.
    private var reported = 0

    /// Whether a line has begun and not ended.
    var hasBegun: Bool { !partial.isEmpty }

    /// Whether a line has begun of which a part is not reported.
    var hasUnreported: Bool { partial.count > reported }

    /// The current line as a terminal shows it: what follows a carriage return replaces what was before. It counts as
    /// reported then.
    mutating func report() -> [UInt8] {
        reported = partial.count
        let isReturn = { (byte: UInt8) in byte == UInt8(ascii: "\r") }
        return Array(partial.split(whereSeparator: isReturn).last ?? [])
    }

    private mutating func endLine() {
        partial.removeAll(keepingCapacity: true)
        ended &+= 1
        reported = 0
    }

    /// Adds bytes and passes on each line that is complete or has the maximum length.
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
                endLine()
            } else {
                partial.append(contentsOf: piece)
                start += piece.count
                // A newline right after a line of exactly the maximum length ends it, so no further
                // piece follows.
                guard partial.count == Self.lineBytesMax, start < bytes.count else { return }
                let isWhole = bytes[start] == UInt8(ascii: "\n")
                if isWhole { start += 1 }
                each(partial, !isWhole)
                endLine()
            }
        }
    }

    /// Discards the bytes, and the partial line before them.
    /// - Returns: the number of lines they belong to; each line is counted once.
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
        endLine()
        return lines
    }

    private static func newline(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress,
            let found = memchr(base, Int32(UInt8(ascii: "\n")), bytes.count)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// Passes on the partial line when the stream ends.
    mutating func finish(each: (_ line: [UInt8], _ isCut: Bool) -> Void) {
        guard !partial.isEmpty else { return }
        each(partial, false)
        partial = []
        endLine()
    }
}

/// Keeps the last bytes of a run's output, for its row in the history.
struct Tail {
    /// The most bytes that are kept of any run.
    static let bytesMax = 1 << 20

    private let limit: Int
    private var bytes: [UInt8] = []

    /// - Parameter limit: how many bytes are kept.
    init(limit: Int) { self.limit = max(0, min(limit, Self.bytesMax)) }

    mutating func take(_ more: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: more.suffix(limit)))
        // The array is cut from time to time and not at each call.
        if bytes.count > 2 * limit { bytes.removeFirst(bytes.count - limit) }
    }

    var last: [UInt8] { Array(bytes.suffix(limit)) }

    /// Whether there may have been more before `last`.
    var isCut: Bool { bytes.count >= limit }
}
