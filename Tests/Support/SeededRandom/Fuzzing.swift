// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Bytes that were once of interest, changed at random.
public struct Fuzzing {
    /// How many seconds a test fuzzes: a few, or TIMERD_FUZZ_SECONDS.
    public static var seconds: Double {
        ProcessInfo.processInfo.environment["TIMERD_FUZZ_SECONDS"].flatMap { Double($0) } ?? 5
    }

    /// What the changes begin with; a case that once found a mistake stays there.
    public let corpus: [[UInt8]]
    /// The source of the changes.
    public var random: SeededRandom

    /// - Parameter name: of the folder in Tests/Support/Corpus.
    public init(_ name: String, function: String = #function) throws {
        random = SeededRandom(function: function)
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Corpus/\(name)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        corpus = try names.map { try [UInt8](Data(contentsOf: folder.appendingPathComponent($0))) }
    }

    /// Calls this with one case after the other, the corpus first, until the time is over or it returns false.
    /// - Returns: how many cases there were.
    public mutating func run(
        seconds: Double = Fuzzing.seconds, _ body: ([UInt8], inout SeededRandom) throws -> Bool
    ) rethrows -> Int {
        let end = ContinuousClock.now + .seconds(seconds)
        var count = 0
        for bytes in corpus {
            count += 1
            guard try body(bytes, &random) else { return count }
        }
        while ContinuousClock.now < end {
            count += 1
            guard try body(next(), &random) else { break }
        }
        return count
    }

    /// One of the corpus after some changes.
    public mutating func next() -> [UInt8] {
        var bytes = corpus[random.int(below: corpus.count)]
        // Half of them as they are: what follows them is looked at only then.
        for _ in 0..<max(0, random.int(below: 8) - 3) { change(&bytes) }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        let place = random.int(below: bytes.count)
        guard !bytes.isEmpty else { return bytes.append(UInt8(random.int(below: 256))) }
        switch random.int(below: 8) {
        case 0: bytes[place] = UInt8(random.int(below: 256))
        case 1: bytes[place] ^= 1 << UInt8(random.int(below: 8))
        case 2: bytes.removeLast(bytes.count - place)
        case 3: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random.int(below: 16)))
        case 4:
            let piece = bytes[place..<min(bytes.count, place + 1 + random.int(below: 64))]
            bytes.insert(contentsOf: Array(piece), at: random.int(below: bytes.count))
        case 5:
            // A number at one of its ends, in either order of bytes.
            let value: [Int64] = [0, -1, 1, .max, .min, 1 << 31, 1 << 32, (1 << 31) - 1]
            let number = value[random.int(below: value.count)]
            let wide = random.int(below: 2) == 0 ? number.littleEndian : number.bigEndian
            for (offset, byte) in withUnsafeBytes(of: wide, Array.init).enumerated()
            where place + offset < bytes.count {
                bytes[place + offset] = byte
            }
        case 6:
            let other = corpus[random.int(below: corpus.count)]
            let start = random.int(below: other.count)
            bytes.replaceSubrange(place..., with: other[start...])
        default:
            bytes.insert(
                contentsOf: (0...random.int(below: 8)).map { _ in UInt8(random.int(below: 256)) },
                at: place)
        }
    }
}
