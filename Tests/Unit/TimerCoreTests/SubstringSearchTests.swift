// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

struct SubstringSearchTests {
    @Test(arguments: [
        ("", "", 0), ("abc", "", 0), ("", "a", nil), ("abc", "abc", 0), ("abc", "abcd", nil),
        ("aaab", "aab", 1), ("a..b..c", "..", 1), ("ab", "b", 1), ("claimed(4, by", ", ", 9),
        ("xe\u{301}y", "\u{e9}", 1), ("e\u{301}", "e", nil),
    ])
    func isFoundWhereItIsFirst(text: String, part: String, place: Int?) {
        let found = text.firstOccurrence(of: part)
        #expect(found.map { text.distance(from: text.startIndex, to: $0.lowerBound) } == place)
        #expect(found.map { String(text[$0]) == part } ?? true)
        #expect(text.hasOccurrence(of: part) == (place != nil))
    }
}
