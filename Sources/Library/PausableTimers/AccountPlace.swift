// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Timekeeping

/// An account as it is written to one of the two places of a file: a line of words that ends with a
/// checksum.
struct AccountPlace {
    /// The maximum length of a line in bytes.
    static let bytesMax = 512
    /// The places are in different blocks of the disk, so that a power failure cannot damage both.
    private static let distance = 4096
    private static let magic = "pausable-timer"

    var number: UInt64
    var account: TimerAccount

    static func offset(of number: UInt64) -> Int { Int(number % 2) * distance }

    init(number: UInt64, account: TimerAccount) {
        self.number = number
        self.account = account
    }

    /// `pausable-timer 1 NUMBER ACCOUNT SUM`. SUM is the checksum of everything before it.
    var bytes: [UInt8] {
        var line = Array("\(Self.magic) 1 \(number) ".utf8)
        line += account.line
        line += Array(" \(Self.sum(of: line[...]))\n".utf8)
        return line
    }

    /// Parses what `bytes` produces; nil for anything else.
    init?(bytes: ArraySlice<UInt8>) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        var words = Words(bytes[..<end])
        guard words.next(is: Self.magic), words.next(is: "1"),
            let number = words.nextNumber().flatMap({ UInt64(exactly: $0) })
        else { return nil }
        var rest = words.rest
        guard let last = rest.lastIndex(of: UInt8(ascii: " ")) else { return nil }
        var sum = Words(rest[(last + 1)...])
        guard sum.next(is: Self.sum(of: bytes[..<last])) else { return nil }
        rest = rest[..<last]
        guard let account = TimerAccount(line: rest) else { return nil }
        self.init(number: number, account: account)
    }

    /// The checksum, which detects half-written lines and other accidents, but not an attacker.
    private static func sum(of line: ArraySlice<UInt8>) -> String {
        String(FNV1a.hash(line), radix: 16)
    }
}

extension TimerAccount {
    /// `STATE BASIS BOOT-ID ACTIVE ACCRUED PASSED TICKS MAX-LOSS SAVE-INTERVAL WALL-US AWAKE-NS
    /// BOOT-NS [NEXT]`, with spans in attoseconds.
    var line: [UInt8] {
        var numbers = [
            active.attoseconds, accrued.attoseconds, Int128(passed), Int128(ticks),
            maxLoss.attoseconds, saveInterval.attoseconds,
            Int128(savedAt.wall.microsecondsSinceEpoch), Int128(savedAt.awake.nanoseconds),
            Int128(savedAt.boot.nanoseconds),
        ]
        if let next { numbers.append(next.attoseconds) }
        var line = "\(state.rawValue) \(basis.rawValue) \(savedAt.bootID)"
        for number in numbers { line += " \(number)" }
        return Array(line.utf8)
    }

    /// Parses what `line` produces; nil for anything else, and for values that an account cannot
    /// have.
    init?(line: ArraySlice<UInt8>) {
        var words = Words(line)
        guard let state = State(rawValue: words.next()),
            let basis = TimeBasis(rawValue: words.next()),
            let bootID = BootID(words.next())
        else { return nil }
        var numbers: [Int128] = []
        while let number = words.nextNumber() { numbers.append(number) }
        guard numbers.count == 9 || numbers.count == 10, words.rest.isEmpty,
            let passed = Int(exactly: numbers[2]),
            let ticks = Int(exactly: numbers[3]), let wall = Int64(exactly: numbers[6]),
            let awake = Int64(exactly: numbers[7]), let boot = Int64(exactly: numbers[8])
        else { return nil }
        self.init(
            state: state, active: Duration(attoseconds: numbers[0]),
            accrued: Duration(attoseconds: numbers[1]),
            next: numbers.count == 10 ? Duration(attoseconds: numbers[9]) : nil, passed: passed,
            ticks: ticks, basis: basis,
            maxLoss: Duration(attoseconds: numbers[4]),
            saveInterval: Duration(attoseconds: numbers[5]),
            savedAt: Now(
                wall: WallInstant(microsecondsSinceEpoch: wall),
                awake: AwakeInstant(nanoseconds: awake), boot: BootInstant(nanoseconds: boot),
                bootID: bootID))
        guard isValid else { return nil }
    }
}

/// Words that are separated by single spaces.
private struct Words {
    private(set) var rest: ArraySlice<UInt8>

    init(_ line: ArraySlice<UInt8>) { rest = line }

    private mutating func nextBytes() -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: UInt8(ascii: " ")) ?? rest.endIndex
        let word = rest[..<end]
        rest = rest[min(end + 1, rest.endIndex)...]
        return word
    }

    /// The next word; empty if there is none.
    mutating func next() -> String { String(decoding: nextBytes(), as: UTF8.self) }

    mutating func next(is word: String) -> Bool { next() == word }

    /// The next word, if it is a decimal number of at most 38 digits; otherwise nil.
    mutating func nextNumber() -> Int128? {
        var word = nextBytes()
        let isNegative = word.first == UInt8(ascii: "-")
        if isNegative { word.removeFirst() }
        guard !word.isEmpty, word.count <= 38 else { return nil }
        var number: Int128 = 0
        for byte in word {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            number = number &* 10 &+ Int128(byte - UInt8(ascii: "0"))
        }
        return isNegative ? -number : number
    }
}
