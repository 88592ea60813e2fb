// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Zone files with random contents: the file is refused, or every query returns. By default this
/// runs for a few seconds; TIMERD_FUZZ_SECONDS sets the duration, and TIMERD_TEST_SEED the seed.
@Suite struct ZoneFuzzTests {
    @Test func noZoneFileTraps() throws {
        var fuzzing = try Fuzzing("tzif")
        var read = 0
        let count = fuzzing.run { bytes, random in
            guard let rules = try? ZoneRules(tzif: bytes, name: "Fuzzed/Zone") else { return true }
            read += 1
            var instant = WallInstant(
                microsecondsSinceEpoch: Int64(random.int(below: 8_000_000_000)) * 1_000_000
                    - 2_000_000_000_000_000)
            for _ in 0..<20 {
                let offset = rules.offset(at: instant)
                #expect(abs(offset) < 8 * 86_400)
                guard let next = rules.nextTransition(after: instant) else { break }
                #expect(next > instant)
                guard next > instant else { break }
                instant = next
            }
            for end in [Int64.min, -1, 0, .max] {
                let instant = WallInstant(microsecondsSinceEpoch: end)
                _ = rules.offset(at: instant)
                _ = rules.nextTransition(after: instant)
            }
            return true
        }
        print("fuzzed zones: \(count) files, \(read) could be read")
        #expect(read > 0)
    }
}
