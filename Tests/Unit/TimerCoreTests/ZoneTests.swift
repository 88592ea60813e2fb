// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerCore

@Suite struct ZoneTests {
    private static let folder = "/usr/share/zoneinfo"

    /// The names of all zone files, except those in posix/, which are equal, and those in right/,
    /// which count leap seconds.
    static func names(below prefix: String? = nil) -> [String] {
        let root = prefix.map { "\(folder)/\($0)" } ?? folder
        guard let files = FileManager.default.enumerator(atPath: root) else { return [] }
        return files.compactMap { $0 as? String }.filter { name in
            guard prefix != nil || !(name.hasPrefix("posix/") || name.hasPrefix("right/")) else {
                return false
            }
            guard let file = FileHandle(forReadingAtPath: "\(root)/\(name)") else { return false }
            defer { try? file.close() }
            return (try? file.read(upToCount: 4)) == Data("TZif".utf8)
        }.sorted()
    }

    static func rules(_ name: String) throws -> ZoneRules {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
        return try ZoneRules(tzif: [UInt8](bytes), name: name)
    }

    /// Every change of offset from 1970 to 2200, as zdump(8) lists it, in every zone of this
    /// machine.
    @Test func everyZoneAgreesWithZdump() throws {
        let names = Self.names()
        var transitions = 0
        for chunk in stride(from: 0, to: names.count, by: 50).map({
            names[$0..<min($0 + 50, names.count)]
        }) {
            let listed = try Self.zdump(Array(chunk))
            for name in chunk {
                let zone = try Self.rules(name)
                let expected = listed[name] ?? []
                var found: [String] = []
                var instant = WallInstant(secondsSinceEpoch: 0)
                let end = WallInstant(secondsSinceEpoch: 7_258_118_400)
                while let next = zone.nextTransition(after: instant), next < end {
                    found.append("\(next.secondsSinceEpoch) \(zone.offset(at: next))")
                    let before = WallInstant(secondsSinceEpoch: next.secondsSinceEpoch - 1)
                    #expect(zone.offset(at: before) != zone.offset(at: next))
                    instant = next
                }
                #expect(found == expected, "\(name)")
                transitions += found.count
            }
        }
        print("zones: \(names.count), transitions: \(transitions)")
        #expect(names.count > 300)
    }

    /// `zdump -v` lists each change twice: the last second before it and the first second after it.
    private static func zdump(_ names: [String]) throws -> [String: [String]] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/zdump")
        process.arguments = ["-v", "-c", "1970,2200"] + names.map { "\(folder)/\($0)" }
        // Foundation does not go on reading from a pipe after a signal; a file is read at once.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
            "zdump-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        process.standardOutput = try FileHandle(forWritingTo: file)
        try process.run()
        process.waitUntilExit()
        let data = try Data(contentsOf: file)
        var found: [String: [String]] = [:]
        var before: [String: Int] = [:]
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
            // FILE  Sun Mar 29 01:00:00 2026 UT = Sun Mar 29 03:00:00 2026 CEST isdst=1 gmtoff=7200
            let words = line.split(separator: " ")
            guard words.count >= 15, let offset = words.last.flatMap({ Int($0.dropFirst(7)) }),
                words.last?.hasPrefix("gmtoff=") == true, let year = Int(words[5]),
                let month = months.firstIndex(of: String(words[2])), let day = Int(words[3])
            else { continue }
            let name = String(words[0].dropFirst(folder.count + 1))
            let time = words[4].split(separator: ":").compactMap { Int($0) }
            let days = CivilDate(year: year, month: month + 1, day: day).daysSinceEpoch
            let second = days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
            if let last = before[name], last != offset, second > 0 {
                found[name, default: []].append("\(second) \(offset)")
            }
            before[name] = offset
        }
        return found
    }

    @Test func filesThatCountLeapSecondsGiveTheSameInstants() throws {
        guard FileManager.default.fileExists(atPath: "\(Self.folder)/right/Europe/Berlin") else {
            return
        }
        let plain = try Self.rules("Europe/Berlin")
        let right = try Self.rules("right/Europe/Berlin")
        var instant = WallInstant(secondsSinceEpoch: 0)
        // These files contain no rules for the time after the last known leap second.
        var compared = 0
        while let next = right.nextTransition(after: instant) {
            #expect(plain.nextTransition(after: instant) == next)
            instant = next
            compared += 1
        }
        #expect(compared > 90)
        for name in Self.names(below: "right") { _ = try Self.rules("right/\(name)") }
    }

    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_745_999, 3600),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_746_000, 7200),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", 1_774_745_999, 0),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", 1_774_746_000, 3600),
        ("<+0530>-5:30", 0, 19_800), ("EST5", 0, -18_000),
        ("XXX3EDT4,0/0,J365/23", 1_774_746_000, -14_400),
        ("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", 1_774_745_999, -10_800),
        ("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", 1_774_746_000, -7200),
    ])
    func aRuleOfPOSIX(text: String, second: Int64, offset: Int) throws {
        let zone = try ZoneRules(posix: text)
        #expect(zone.offset(at: WallInstant(secondsSinceEpoch: second)) == offset)
    }

    @Test(arguments: [
        "", "E5", "EST", "EST25", "EST5EDT", "EST5EDT,", "EST5EDT,M13.1.0,M1.1.0",
        "EST5EDT,M1.6.0,M1.1.0",
        "EST5EDT,J366,J1", "EST5EDT,M1.1.0,M1.1.0,x", "<EST5", "EST5EDT,M1.1.0/168,M1.1.0",
    ])
    func aTextThatIsNotARuleIsRefused(text: String) {
        #expect(throws: ZoneError.self) { try ZoneRules(posix: text) }
    }

    @Test func brokenFilesAreErrors_andNothingElse() throws {
        var random = SeededRandom()
        let originals = try [
            "Europe/Berlin", "Africa/Casablanca", "Asia/Kathmandu", "America/New_York",
        ].map {
            [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\($0)")))
        }
        var refused = 0
        for round in 0..<20_000 {
            var bytes = originals[round % originals.count]
            if random.int(below: 2) == 0 { bytes.removeLast(random.int(below: bytes.count)) }
            for _ in 0...random.int(below: 4) where !bytes.isEmpty {
                bytes[random.int(below: bytes.count)] = UInt8(random.int(below: 256))
            }
            guard let zone = try? ZoneRules(tzif: bytes, name: "broken") else {
                refused += 1
                continue
            }
            var instant = WallInstant(secondsSinceEpoch: -10_000_000_000)
            for _ in 0..<20 {
                _ = zone.offset(at: instant)
                guard let next = zone.nextTransition(after: instant) else { break }
                #expect(next > instant)
                instant = next
            }
        }
        print("broken files: 20000, refused \(refused)")
    }
}
