// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerCore

@Suite struct TimeSpanTests {
    /// The results of `systemd-analyze timespan` of systemd 252 for each row.
    @Test func agreesWithSystemdOnEveryRow() throws {
        let table = try Table("timespan_public.tsv")
        for row in table.rows {
            let text = row["expression"].unescaped
            let expected = row["status"]
            do throws(TimeSpanError) {
                let span = try TimeSpan.parse(text)
                #expect(expected == "OK", "row \(row["id"]): \"\(text)\" was accepted")
                guard let span else {
                    #expect(row["human"] == "infinity", "row \(row["id"])")
                    continue
                }
                #expect(span == .microseconds(UInt64(row["microseconds"])!), "row \(row["id"])")
                #expect(TimeSpan.compactText(span) == row["human"], "row \(row["id"])")
                let text = TimeSpan.text(span)
                #expect(try TimeSpan.parse(text) == span, "row \(row["id"]): \(text)")
            } catch {
                #expect(expected != "OK", "row \(row["id"]): \"\(text)\" was refused: \(error)")
            }
        }
        #expect(table.rows.count == 203)
    }

    @Test(arguments: [
        ("90min", "1 h 30 min"), ("6h", "6 h"), ("0", "0 s"), ("1500ms", "1.500 s"),
        ("61s", "1 min 1 s"), ("1min 250us", "1 min"), ("250us", "250 us"),
    ])
    func isShownToTheMillisecond(text: String, shown: String) throws {
        let span = try #require(try TimeSpan.parse(text))
        #expect(TimeSpan.text(span, accuracy: .milliseconds(1)) == shown)
    }

    @Test(arguments: [
        ("6 hoursx", 2), ("h", 0), ("1h -3s", 3), ("1.h", 2), ("", 0), ("12 parsec", 3),
    ])
    func saysWhereItIsWrong(text: String, offset: Int) {
        let error = #expect(throws: TimeSpanError.self) { try TimeSpan.parse(text) }
        #expect(error?.offset == offset, "\(text): \(error?.message ?? "")")
    }

    /// What systemd 252 accepts because it uses strtoll(3), and how it shows the longest spans.
    @Test(arguments: [
        ("\u{b}5s", "5s"), ("1min\u{c}5", "1min 5s"), ("\u{b}-0", "0"), ("\u{b} +1", "1s"),
        ("584541y", "584541y"), ("584542y", nil), ("18446744073709551613us", nil),
        ("\u{b}-5", nil), ("-0", nil), ("\u{b}.5", nil), ("5\u{b}6", nil), ("5s\u{b}", nil),
        ("+.5", nil), ("+-1", nil),
    ])
    func acceptsWhatSystemdAccepts(text: String, shown: String?) {
        let span = (try? TimeSpan.parse(text)) ?? nil
        #expect(span.map { TimeSpan.compactText($0) } == shown)
    }

    @Test(arguments: [
        ("5minutess", "\"minutess\" is not a unit (did you mean \"minutes\"?); the units are"),
        ("5 Minutes", "\"Minutes\" is not a unit (did you mean \"minutes\"?)"),
        ("1h 5secs", "\"secs\" is not a unit (did you mean \"sec\"?)"),
        ("one hour", "a number is missing before \"one\""),
        ("1h and 5min", "a number is missing before \"and\""), ("5:", "not a unit; the units are"),
    ])
    func saysWhatIsWrong(text: String, message: String) {
        let error = #expect(throws: TimeSpanError.self) { try TimeSpan.parse(text) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    /// What people write beside systemd's words.
    @Test func acceptsMins() throws {
        #expect(try TimeSpan.parse("5 mins") == .seconds(300))
        #expect(try TimeSpan.parse("1h 5mins30s") == .seconds(3930))
    }

    @Test func neverTraps() {
        var random = SeededRandom()
        let alphabet = Array("0123456789.+- \tsmhdwyMunofit\u{b5}".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<random.int(below: 24)).map { _ in
                alphabet[random.int(below: alphabet.count)]
            }
            _ = try? TimeSpan.parse(String(decoding: bytes, as: UTF8.self))
        }
    }
}
