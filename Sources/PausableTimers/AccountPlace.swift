// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// An account as it is written to one of the two places of a file: a line of words, the last of which is a
/// checksum of all before it.
struct AccountPlace {
    /// Room for the longest line.
    static let bytesMax = 512
    /// Each in a block of the disk of its own, so that no power cut harms both.
    private static let distance = 4096
    private static let magic = "pausable-timer"

    var number: UInt64
    var account: TimerAccount

    static func offset(of number: UInt64) -> Int { Int(number % 2) * distance }

    init(number: UInt64, account: TimerAccount) {
        self.number = number
        self.account = account
    }

    /// `pausable-timer 1 NUMBER STATE BASIS ACTIVE ACCRUED PASSED TICKS MAX-LOSS SAVE-INTERVAL WALL-US AWAKE-NS
    /// BOOT-NS BOOT-ID SUM`, spans in attoseconds.
    var bytes: [UInt8] {
        let now = account.savedAt
        let words = [
            Self.magic, "1", "\(number)", account.state.rawValue, account.basis.rawValue,
            "\(account.active.attoseconds)", "\(account.accrued.attoseconds)", "\(account.passed)",
            "\(account.ticks)", "\(account.maxLoss.attoseconds)",
            "\(account.saveInterval.attoseconds)", "\(now.wall.microsecondsSinceEpoch)",
            "\(now.awake.nanoseconds)", "\(now.boot.nanoseconds)", "\(now.bootID)",
        ]
        let line = words.joined(separator: " ")
        return Array("\(line) \(Self.sum(of: line.utf8))\n".utf8)
    }

    /// Reads what `bytes` is; nil for anything else.
    init?(bytes: ArraySlice<UInt8>) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = bytes[..<end]
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 16, words[0] == Self.magic, words[1] == "1",
            words[15] == Self.sum(of: line.dropLast(words[15].utf8.count + 1)),
            let number = UInt64(words[2]), let state = TimerAccount.State(rawValue: words[3]),
            let basis = TimeBasis(rawValue: words[4]), let active = Int128(words[5]),
            let accrued = Int128(words[6]), let passed = Int(words[7]), let ticks = Int(words[8]),
            let maxLoss = Int128(words[9]), let saveInterval = Int128(words[10]),
            let wall = Int64(words[11]), let awake = Int64(words[12]), let boot = Int64(words[13]),
            let bootID = BootID(words[14])
        else { return nil }
        self.number = number
        account = TimerAccount(
            state: state, active: Duration(attoseconds: active),
            accrued: Duration(attoseconds: accrued), passed: passed, ticks: ticks, basis: basis,
            maxLoss: Duration(attoseconds: maxLoss),
            saveInterval: Duration(attoseconds: saveInterval),
            savedAt: Now(
                wall: WallInstant(microsecondsSinceEpoch: wall),
                awake: AwakeInstant(nanoseconds: awake), boot: BootInstant(nanoseconds: boot),
                bootID: bootID))
        guard account.isValid else { return nil }
    }

    /// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): against half-written lines and other
    /// accidents, not against an attacker.
    private static func sum(of line: some Sequence<UInt8>) -> String {
        let hash = line.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }
}
