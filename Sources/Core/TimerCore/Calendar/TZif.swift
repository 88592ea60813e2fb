// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The contents of a TZif file (RFC 9636): the initial offset, the changes of the offset, and the
/// footer.
struct TZif {
    /// The maximum number of transitions in a file. The longest list today has about 240.
    static let transitionsMax = 100_000

    private(set) var initial: Int32 = 0
    private(set) var changes: [(at: Int64, offset: Int32)] = []
    private(set) var footer: String?

    private struct Header {
        var version: UInt8
        var utcFlags: Int
        var standardFlags: Int
        var leaps: Int
        var times: Int
        var types: Int
        var characters: Int

        /// The number of bytes in the block after this header, with times of this many bytes.
        func blockBytes(time: Int) -> Int {
            times * time + times + types * 6 + characters + leaps * (time + 4) + standardFlags
                + utcFlags
        }
    }

    init(_ bytes: [UInt8]) throws(ZoneError) {
        var reader = ByteReader(bytes: bytes)
        var header = try Self.header(&reader)
        guard header.version >= UInt8(ascii: "2") else {
            try readBlock(header, &reader, time: 4)
            return
        }
        // Files of later versions repeat everything with 64-bit times; the first block is for old
        // readers.
        try reader.skip(header.blockBytes(time: 4))
        header = try Self.header(&reader)
        try readBlock(header, &reader, time: 8)
        footer = try Self.footer(&reader)
    }

    private static func header(_ reader: inout ByteReader) throws(ZoneError) -> Header {
        guard try reader.take(4).elementsEqual("TZif".utf8) else {
            throw ZoneError("not a TZif file: it does not begin with \"TZif\"")
        }
        let version = try reader.byte()
        try reader.skip(15)
        var counts: [Int] = []
        for _ in 0..<6 {
            let count = try reader.integer(4)
            guard count >= 0, count <= transitionsMax else {
                throw ZoneError("not a usable TZif file: it counts \(count) of something")
            }
            counts.append(Int(count))
        }
        let header = Header(
            version: version, utcFlags: counts[0], standardFlags: counts[1], leaps: counts[2],
            times: counts[3], types: counts[4], characters: counts[5])
        guard header.types >= 1, header.types <= 256 else {
            throw ZoneError("not a usable TZif file: it has \(header.types) kinds of local time")
        }
        return header
    }

    private mutating func readBlock(
        _ header: Header, _ reader: inout ByteReader, time: Int
    ) throws(ZoneError) {
        var times: [Int64] = []
        for _ in 0..<header.times {
            let at = try reader.integer(time)
            guard times.last.map({ $0 < at }) ?? true else {
                throw ZoneError("not a usable TZif file: its transitions are out of order")
            }
            times.append(at)
        }
        let kinds = Array(try reader.take(header.times))
        var offsets: [Int32] = []
        for _ in 0..<header.types {
            let offset = try reader.integer(4)
            // RFC 9636, 3.2: more than 25 hours west or 26 east is refused.
            guard (-89_999...93_599).contains(offset) else {
                throw ZoneError("not a usable TZif file: an offset of \(offset) s")
            }
            offsets.append(Int32(offset))
            try reader.skip(2)
        }
        try reader.skip(header.characters)
        var leaps: [(at: Int64, correction: Int64)] = []
        for _ in 0..<header.leaps {
            leaps.append((try reader.integer(time), try reader.integer(4)))
        }
        try reader.skip(header.standardFlags + header.utcFlags)

        initial = offsets[0]
        for (at, kind) in zip(times, kinds) {
            guard kind < offsets.count else {
                throw ZoneError("not a usable TZif file: it uses a kind of local time it lacks")
            }
            // Files in right/ count leap seconds; the system clock does not.
            let correction = leaps.last { $0.at <= at }?.correction ?? 0
            let (posix, overflow) = at.subtractingReportingOverflow(correction)
            // Some compilers write a transition at the beginning of time, which is not a real
            // instant. 2^42 s are 139 000 years, which still fit in 64 bits as microseconds.
            guard !overflow, posix.magnitude < 1 << 42 else {
                initial = changes.isEmpty ? offsets[Int(kind)] : initial
                continue
            }
            changes.append((posix, offsets[Int(kind)]))
        }
    }

    private static func footer(_ reader: inout ByteReader) throws(ZoneError) -> String? {
        guard try reader.byte() == UInt8(ascii: "\n") else {
            throw ZoneError("not a usable TZif file: its footer is missing")
        }
        let text = try reader.line()
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
}

/// Reads bytes from the front, and throws an error if bytes are missing.
struct ByteReader {
    let bytes: [UInt8]
    private var place = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func take(_ count: Int) throws(ZoneError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - place else {
            throw ZoneError("not a whole TZif file: it ends after \(bytes.count) bytes")
        }
        defer { place += count }
        return bytes[place..<place + count]
    }

    mutating func skip(_ count: Int) throws(ZoneError) { _ = try take(count) }

    mutating func byte() throws(ZoneError) -> UInt8 {
        let taken = try take(1)
        return taken[taken.startIndex]
    }

    /// A signed integer of 4 or 8 bytes, with the most significant byte first.
    mutating func integer(_ width: Int) throws(ZoneError) -> Int64 {
        let value = try take(width).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return width == 4 ? Int64(Int32(truncatingIfNeeded: value)) : Int64(bitPattern: value)
    }

    /// Everything up to the next newline, which is removed too.
    mutating func line() throws(ZoneError) -> ArraySlice<UInt8> {
        guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) else {
            throw ZoneError("not a whole TZif file: its footer does not end")
        }
        defer { place = end + 1 }
        return bytes[place..<end]
    }
}
