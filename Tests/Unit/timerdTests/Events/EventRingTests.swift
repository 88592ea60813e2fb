// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerLog

/// Which events are kept, and which a reader gets that asks from some number on.
@Suite struct EventRingTests {
    private func ring(_ count: Int, capacity: Int = 4) -> EventRing<String> {
        var ring = EventRing<String>(capacity: capacity)
        for number in 0..<count { ring.append("e\(number + 1)") }
        return ring
    }

    @Test(
        arguments: [
            // Events, from where, how many at most: what comes, what is missing, how far that is.
            (0, 0, 9, [], nil, 0), (0, 7, 9, [], (7, 1), 0), (3, 0, 9, [1, 2, 3], nil, 3),
            (3, 1, 1, [2], nil, 2), (3, 3, 9, [], nil, 3), (3, 4, 9, [], (4, 4), 3),
            (4, 0, 9, [1, 2, 3, 4], nil, 4), (5, 0, 9, [2, 3, 4, 5], (0, 2), 5),
            (5, 1, 9, [2, 3, 4, 5], nil, 5), (9, 2, 2, [6, 7], (2, 6), 7),
            (9, 9, 9, [], nil, 9), (9, 10, 9, [], (10, 10), 9), (9, 0, 0, [], (0, 6), 5),
        ] as [(Int, UInt64, Int, [UInt64], (UInt64, UInt64)?, UInt64)])
    func aReaderGetsWhatIsBehindItsNumber(
        count: Int, after: UInt64, max: Int, numbers: [UInt64], gap: (UInt64, UInt64)?,
        through: UInt64
    ) {
        let found = ring(count).excerpt(after: after, max: max)
        #expect(found.elements.map(\.number) == numbers)
        #expect(found.elements.allSatisfy { $0.element == "e\($0.number)" })
        #expect(found.gap?.after == gap?.0 && found.gap?.next == gap?.1)
        #expect(found.through == through)
    }

    @Test func noNumberIsTooLarge() {
        let found = ring(9).excerpt(after: .max, max: .max)
        #expect(found.gap?.next == 10 && found.elements.isEmpty && found.through == 9)
    }

    /// However many come, and however a reader asks, it gets each number once, or is told that it is missing.
    @Test func nothingIsLostSilently() {
        var random = SeededRandom()
        var ring = EventRing<UInt64>(capacity: 7)
        var (next, read): (UInt64, UInt64) = (1, 0)
        for _ in 0..<5000 {
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                ring.append(next)
                next += 1
            }
            let found = ring.excerpt(after: read, max: Int.random(in: 0..<9, using: &random))
            if let gap = found.gap {
                #expect(gap.after == read && gap.next > read + 1)
                read = gap.next - 1
            }
            for (number, element) in found.elements {
                #expect(number == read + 1 && element == number)
                read = number
            }
            #expect(found.through == read && ring.newest == next - 1)
        }
    }
}

/// The same events as many threads put them in and several read them.
@Suite struct EventFeedTests {
    private func event(_ text: String) -> RecordedEvent {
        let job = Job.Name(text)!
        return RecordedEvent(
            content: .notice(.finished(job, firesAtBoot: false, after: nil)),
            time: WallInstant(secondsSinceEpoch: 0))
    }

    private func feed(_ jobs: [String]) -> EventFeed {
        let feed = EventFeed()
        for job in jobs { feed.append(event(job)) }
        return feed
    }

    @Test func manyAreCopiedInParts_andEndWhereAReaderEnds() {
        let feed = feed(Array(repeating: "a", count: 300))
        #expect(feed.excerpt(after: 0, max: 512).elements.map(\.number) == Array(1...300))
        #expect(feed.excerpt(after: 10, max: 100).elements.map(\.number) == Array(11...110))
        #expect(feed.excerpt(after: 10, max: 100).through == 110)
        let ended = feed.excerpt(after: 10, max: 512, through: 70)
        #expect(ended.elements.last?.number == 70 && ended.through == 70)
        #expect(feed.excerpt(after: 70, max: 512, through: 70).through == 70)
    }

    @Test(arguments: [
        (0, nil, 300), (1, nil, 299), (300, nil, 0), (4096, nil, 0), (1, "b", 298),
        (2, "b", 99), (9, "b", 0), (1, "none", 0),
    ])
    func theLastOfAJobAreFound(count: Int, job: String?, start: UInt64) {
        let jobs = (1...300).map { $0 == 100 || $0 == 299 ? "b" : "a" }
        #expect(feed(jobs).start(ofLast: count, of: job.map { Job.Name($0)! }) == start)
    }

    @Test func theLastAreFoundAmongThoseThatAreKept() {
        let feed = feed(Array(repeating: "a", count: 5000))
        #expect(feed.start(ofLast: 4096, of: nil) == 904)
        #expect(feed.start(ofLast: 4096, of: Job.Name("b")!) == 904)
    }

    @Test func theNextEventWakesOnce() {
        let feed = feed(["a"])
        let woken = Counter()
        #expect(!feed.wake(behind: 0) { woken.add() })
        #expect(feed.wake(behind: 1) { woken.add() })
        #expect(woken.count == 0)
        feed.append(event("a"))
        feed.append(event("a"))
        #expect(woken.count == 1)
    }
}
