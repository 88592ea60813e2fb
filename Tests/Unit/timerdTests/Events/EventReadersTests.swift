// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerLog

/// When something is sent to whom, by a clock that the test sets.
@Suite struct EventReadersTests {
    private func at(_ milliseconds: Int64) -> AwakeInstant {
        AwakeInstant(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
    }

    /// A reader that has got its first message at 0 ms and taken it.
    private func readers(after: UInt64, last: UInt64? = nil) throws -> (EventReaders, UInt64) {
        var readers = EventReaders()
        let id = try #require(readers.admit(.init(after: after, last: last)).id)
        #expect(readers.due(newest: 100, at: at(0)) == [], "it has not begun")
        readers.noteSent(id, isFrame: false, at: at(0))
        #expect(readers.due(newest: 100, at: at(50)) == [], "it has not taken the first message")
        readers.noteTaken(id)
        return (readers, id)
    }

    @Test func eventsGoOutAtOnce_andThenTenTimesASecond() throws {
        var (readers, id) = try readers(after: 5)
        #expect(readers.due(newest: 5, at: at(1)) == [])
        #expect(readers.due(newest: 6, at: at(1)) == [id])
        readers.noteSent(id, isFrame: true, at: at(1))
        readers.advance(id, through: 6)
        readers.noteTaken(id)
        #expect(readers.due(newest: 7, at: at(100)) == [])
        #expect(readers.nextInstant(newest: 7) == at(101))
        #expect(readers.due(newest: 7, at: at(101)) == [id])
        var frames = 0
        for time in Int64(101)..<2101 where !readers.due(newest: UInt64(time), at: at(time)).isEmpty
        {
            readers.noteSent(id, isFrame: true, at: at(time))
            readers.advance(id, through: UInt64(time))
            readers.noteTaken(id)
            frames += 1
        }
        #expect(frames == 20)
    }

    @Test func aReaderThatTakesNothingGetsNothing() throws {
        var (readers, id) = try readers(after: 5)
        readers.noteSent(id, isFrame: true, at: at(1))
        readers.advance(id, through: 6)
        for time in [Int64(101), 15_001, 1_000_000] {
            #expect(readers.due(newest: 9, at: at(time)) == [])
            #expect(readers.quiet(newest: 6, at: at(time)) == [])
        }
        #expect(readers.nextInstant(newest: 9) == nil)
        readers.noteTaken(id)
        #expect(readers.due(newest: 9, at: at(1_000_001)) == [id])
    }

    @Test func aCommentComesWhenNothingElseDid() throws {
        var (readers, id) = try readers(after: 5)
        #expect(readers.nextInstant(newest: 5) == at(15_000))
        #expect(readers.quiet(newest: 5, at: at(14_999)) == [])
        #expect(readers.quiet(newest: 5, at: at(15_000)) == [id])
        #expect(readers.quiet(newest: 6, at: at(15_000)) == [], "it gets events")
        readers.noteSent(id, isFrame: false, at: at(15_000))
        readers.noteTaken(id)
        // It delays no event.
        #expect(readers.due(newest: 6, at: at(15_000)) == [id])
        #expect(readers.quiet(newest: 5, at: at(29_999)) == [])
        readers.noteSent(id, isFrame: true, at: at(20_000))
        readers.noteTaken(id)
        readers.advance(id, through: 6)
        #expect(readers.nextInstant(newest: 6) == at(35_000))
    }

    @Test func aReaderThatDoesNotFollowIsCompleteAtItsEnd() throws {
        var (readers, id) = try readers(after: 5, last: 7)
        #expect(readers.due(newest: 9, at: at(1)) == [id])
        readers.advance(id, through: 9)
        #expect(readers[id]?.after == 7 && readers[id]?.isComplete == true)
        // Also one that has nothing to get, and one with a number of another daemon.
        let (none, other) = try self.readers(after: 5, last: 5)
        #expect(none.due(newest: 5, at: at(1)) == [other])
        let (later, third) = try self.readers(after: .max, last: 5)
        #expect(later.due(newest: 5, at: at(1)) == [third])
    }

    @Test func atTheEndOfTheDaemonAllEnd() throws {
        var (readers, id) = try readers(after: 5)
        readers.end(at: 8)
        #expect(readers.due(newest: 9, at: at(1)) == [id])
        readers.advance(id, through: 8)
        #expect(readers[id]?.isComplete == true)
        (readers, id) = try self.readers(after: 77)
        readers.end(at: 8)
        #expect(readers[id]?.isComplete == true && readers.due(newest: 8, at: at(1)) == [id])
    }

    @Test func thereAreEightReaders_ofWhichUsersWhoOnlyLookCannotTakeAll() throws {
        var readers = EventReaders()
        func admit(_ guest: UInt32?) -> String? {
            readers.admit(.init(guest: guest, after: 0)).refusal
        }
        for _ in 0..<4 { #expect(admit(1000) == nil) }
        #expect(admit(1000)?.contains("4 times") == true)
        #expect(admit(1001) == nil && admit(1002) == nil)
        #expect(admit(1003)?.contains("6 times") == true)
        #expect(admit(nil) == nil && admit(nil) == nil)
        #expect(admit(nil)?.contains("8 readers") == true)
        readers.remove(1)
        #expect(admit(1003) == nil)
        #expect(admit(nil)?.contains("8 readers") == true)
    }
}
