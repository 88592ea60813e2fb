// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerJSON

@Suite struct JSONValueTests {
    private static let value = JSONValue.object([
        ("zebra", .string("\"\\\n\u{1f}é")),
        ("a", .array([.integer(.min), .boolean(true), .null])),
        ("empty", .object([])), ("none", .array([])), ("number", .number(1)),
        ("rows", .array([.object([("b", .number(0.5))]), .array([.integer(1)])])),
    ])

    @Test func theMembersStayInOrder_onOneLine() {
        #expect(
            Self.value.line
                == #"{"zebra":"\"\\\u000a\u001fé","a":[-9223372036854775808,true,null],"#
                + #""empty":{},"none":[],"number":1.0,"rows":[{"b":0.5},[1]]}"#)
    }

    @Test func eachMemberHasALine_andPlainValuesAreOnOne() {
        #expect(
            Self.value.text() == #"""
                {
                  "zebra": "\"\\\u000a\u001fé",
                  "a": [-9223372036854775808, true, null],
                  "empty": {},
                  "none": [],
                  "number": 1.0,
                  "rows": [
                    {
                      "b": 0.5
                    },
                    [1]
                  ]
                }
                """#)
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        for text in [Self.value.line, Self.value.text()] {
            #expect(try JSONValue(parsing: Array(text.utf8)).line == Self.value.line)
        }
    }

    @Test func sortedMembersAreInTheOrderOfTheirNames() {
        let members: [String: JSONValue] = ["b": .integer(1), "B": .null, "a": .boolean(false)]
        #expect(JSONValue.object(sorted: members).line == #"{"B":null,"a":false,"b":1}"#)
    }

    @Test(arguments: [
        ("1", "1"), ("-0", "0"), ("9223372036854775807", "9223372036854775807"), ("1.0", "1.0"),
        ("1e3", "1000.0"), ("9223372036854775808", "9.223372036854775807e+18"),
        (#""\ud83d\ude00""#, "\"\u{1F600}\""), (" [ ] ", "[]"), ("null", "null"),
    ])
    func reads(text: String, line: String) throws {
        let read = try JSONValue(parsing: Array(text.utf8)).line
        // A number of more than 64 bits is read as the nearest one.
        #expect(read == line || Double(read) == Double(line))
    }

    @Test(arguments: [
        (#"{"a":1,"b":{"c":1,"c":2}}"#, "at byte 19: the member 'c' appears twice"),
        (#"["\ud83d"]"#, "at byte 2: a text is not UTF-8"), ("1e400", "at byte 0: not a number"),
        ("[[[1]]]", "at byte 2: more than 2 nested values"), ("[1] 2", "at byte 4: unexpected"),
    ])
    func refuses(text: String, says: String) {
        do {
            let value = try JSONValue(parsing: Array(text.utf8), depthMax: 2)
            Issue.record("\(text) is read as \(value)")
        } catch {
            #expect(error.description.hasPrefix(says), "\(error)")
        }
    }
}
