// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerJSON

/// Compares what is encoded and decoded with Foundation's.
@Suite struct JSONTests {
    private static func foundation(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private static func foundation<Value: Decodable>(
        _: Value.Type, from bytes: [UInt8]
    ) throws -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Value.self, from: Data(bytes))
    }

    /// Whether there is a comma before the end of an object or an array, which RFC 8259 does not
    /// allow.
    private static func hasIdleComma(_ bytes: [UInt8]) -> Bool {
        let text = bytes.filter { $0 > 0x20 }
        return zip(text, text.dropFirst()).contains {
            $0.0 == UInt8(ascii: ",") && "]}".utf8.contains($0.1)
        }
    }

    /// Whether an object has a name twice. Foundation uses the first of the values and does not check
    /// the others, while ours checks all of them.
    private static func hasRepeatedName(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self)
            .contains(#/\{[^{}]*"(?<name>[^"]*)"\s*:[^{}]*"\k<name>"\s*:/#)
    }

    private static func ours(_ value: some Encodable) throws -> String {
        String(decoding: try JSON.encode(value), as: UTF8.self)
    }

    private struct Texts: Codable, Hashable {
        var texts: [String]
    }

    private struct Body: Codable, Hashable {
        var signal: String?
        var forUsec: Int64?
    }

    /// A value of each kind, in an order that is not alphabetical.
    private struct Everything: Codable, Hashable {
        var zebra = "z"
        var aWord: String? = "a"
        var nothing: String?
        var yes = true
        var no = false
        var small: Int8 = .min
        var large: UInt64 = .max
        var least: Int64 = .min
        var half = 0.5
        var whole = 3.0
        var single: Float = 0.25
        var texts = ["", "a/b", "\u{1F600}"]
        var lists = [[1, 2], [], [3]]
        var holes: [Int?] = [1, nil, 2]
        var inner = Inner()
        var inners = [Inner(), Inner(word: .other)]

        struct Inner: Codable, Hashable {
            var word = Word.one
            var b = 1
            var a = 2
        }

        enum Word: String, Codable {
            case one
            case other = "an other"
        }
    }

    @Test func everyKindOfValueIsWrittenAsFoundationWritesIt_andComesBack() throws {
        let value = Everything()
        let text = try Self.ours(value)
        #expect(text == (try Self.foundation(value)))
        #expect(try JSON.decode(Everything.self, from: Array(text.utf8)) == value)
        #expect(try Self.ours([Int]()) == "[]")
        #expect(try Self.ours([1, -20, 300]) == "[1,-20,300]")
    }

    @Test func aNumberThatIsNoneIsNotWritten() {
        #expect(throws: EncodingError.self) { try JSON.encode([1, Double.nan]) }
        #expect(throws: EncodingError.self) { try JSON.encode([Float.infinity]) }
    }

    @Test func everyCharacterIsWrittenAsFoundationWritesIt_andComesBack() throws {
        let scalars = (0...0x2030).compactMap { Unicode.Scalar(UInt32($0)) }
        let texts = scalars.map { "a\($0)b" } + ["\u{10FFFF}", "\u{FEFF}x", "e\u{301}", "\u{FFFD}"]
        let reply = Texts(texts: texts)
        let text = try Self.ours(reply)
        #expect(text == (try Self.foundation(reply)))
        #expect(try JSON.decode(Texts.self, from: Array(text.utf8)) == reply)
    }

    @Test(arguments: [
        (#"{"signal":"HUP"}"#, "HUP"), (" \t\r\n{ \"signal\" : \"HUP\" } \n", "HUP"),
        (#"{"signal":null}"#, nil), ("{}", nil), (#"{"other":[1,{"signal":2}]}"#, nil),
        (#"{"signal":"\u0048\u00e9\n\"\\\/\b\f\r\t"}"#, "H\u{e9}\n\"\\/\u{8}\u{c}\r\t"),
        (#"{"signal":"\ud83d\uDE00"}"#, "\u{1F600}"), (#"{"s\u0069gnal":"HUP"}"#, "HUP"),
        (#"{"x":{"signal":"no"},"signal":"yes"}"#, "yes"), (#"{"signals":"a","signal":"b"}"#, "b"),
        (#"{"a":-0.5e+10,"b":0,"c":true,"d":false,"e":[[]],"f":{}}"#, nil),
    ])
    func reads(text: String, signal: String?) throws {
        let bytes = Array(text.utf8)
        #expect(try JSON.decode(Body.self, from: bytes).signal == signal)
        #expect(try Self.foundation(Body.self, from: bytes).signal == signal)
    }

    @Test(arguments: [
        "", " ", "{", "}", "[", "{]", "[1,]", "{,}", #"{"signal"}"#, #"{"signal":}"#,
        #"{"signal":"HUP""#, #"{"signal":"HUP"}}"#, #"{"signal":"HUP"} x"#, #"{"signal":"HUP",}"#,
        #"{signal:"HUP"}"#, #"{'signal':'HUP'}"#, #"{"signal":"\x"}"#, #"{"signal":"\u12"}"#,
        #"{"signal":"\ud83d"}"#, #"{"signal":"\ud83dx"}"#, #"{"signal":"\ud83d\u0041"}"#,
        #"{"signal":"\ude00"}"#, "{\"signal\":\"a\nb\"}", #"{"signal":1}"#, #"{"signal":true}"#,
        #"{"signal":["HUP"]}"#, #"["signal"]"#, #""signal""#, "nul", "nulll", "tru", "01", "-",
        "1.",
        ".5", "1e", "+1", "0x10", "NaN", "Infinity", #"{"signal":01}"#, "{\"signal\":\"\u{0}\"}",
    ])
    func refuses(text: String) {
        let bytes = Array(text.utf8)
        #expect(throws: DecodingError.self) { try JSON.decode(Body.self, from: bytes) }
        // Foundation accepts a comma that nothing follows.
        guard !Self.hasIdleComma(bytes) else { return }
        #expect(throws: (any Error).self) { try Self.foundation(Body.self, from: bytes) }
    }

    @Test func whatIsNoUTF8IsRefused() {
        for bytes: [UInt8] in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]] {
            let text = Array(#"{"signal":""#.utf8) + bytes + Array(#""}"#.utf8)
            #expect(throws: DecodingError.self) {
                try JSON.decode(Body.self, from: text)
            }
        }
    }

    @Test(arguments: [
        ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("6e3", 6000),
        ("60.0", 60), ("0.5", nil), ("9223372036854775808", nil), ("1e400", nil), ("-0", 0),
    ])
    func aWholeNumberMayBeWrittenInAnyWay(text: String, number: Int64?) {
        let body = Array(#"{"for_usec":\#(text)}"#.utf8)
        #expect((try? JSON.decode(Body.self, from: body))?.forUsec == number)
    }

    /// A body of nothing but brackets must not use up the stack of the thread that parses it.
    @Test func deepNestingIsRefused() {
        let deep = JSONDocument.depthMax
        for (depth, isGood) in [(deep, true), (deep + 1, false), (1 << 20, false)] {
            let lists = [UInt8](repeating: UInt8(ascii: "["), count: depth - 1)
            let ends = [UInt8](repeating: UInt8(ascii: "]"), count: depth - 1)
            let text = Array(#"{"x":"#.utf8) + lists + ends + Array("}".utf8)
            #expect(
                ((try? JSON.decode(Body.self, from: text)) != nil)
                    == (isGood && depth > 1))
        }
    }

    /// With names of one word: for names of several words, Foundation reads more spellings than it
    /// writes.
    private struct Plain: Codable, Hashable {
        struct Line: Codable, Hashable {
            var job: String
        }

        var added: [Line]
        var changed: [Line]
        var removed: [String]
        var kept: Int
    }

    /// Texts that are almost JSON: both parsers refuse them, or both read the same.
    @Test func nearlyJSONIsReadAsFoundationReadsIt() throws {
        var random = SeededRandom()
        let reply = Plain(
            added: [.init(job: "a"), .init(job: "b\n\u{e9}")], changed: [],
            removed: ["\u{1F600}/\\\""], kept: 12)
        let good = try JSON.encode(reply)
        let characters = Array(#"{}[],:"\ntfu0129eE+-. "#.utf8)
        for _ in 0..<40_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                let byte = characters.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = byte
                case 1: bytes.insert(byte, at: at)
                default: bytes.remove(at: at)
                }
            }
            let found = try? JSON.decode(Plain.self, from: bytes)
            let wanted = try? Self.foundation(Plain.self, from: bytes)
            if found == nil, Self.hasIdleComma(bytes) || Self.hasRepeatedName(bytes) { continue }
            #expect(
                found == wanted, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test func anyTextsComeBack_asFoundationWritesThem() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let texts = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                String(
                    String.UnicodeScalarView(
                        (0..<Int.random(in: 0...30, using: &random)).compactMap { _ in
                            Unicode.Scalar(UInt32.random(in: 0...0x2ff, using: &random))
                        }))
            }
            let reply = Texts(texts: texts)
            let text = try Self.ours(reply)
            #expect(text == (try Self.foundation(reply)))
            #expect(
                try JSON.decode(Texts.self, from: Array(text.utf8)) == reply)
        }
    }
}
