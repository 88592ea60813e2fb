// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// What `timerctl events` makes of a stream, over the ends of connections and of the daemon.
@Suite struct EventsVerbTests {
    private static let time = "2026-11-18T06:01:02.000000Z"
    private static let now = WallInstant(rfc3339: "2026-11-18T06:10:00Z")!

    private func event(_ number: UInt64, _ message: String = "a: paused by eve") -> EventStatus {
        EventStatus(
            event: "paused", job: "a", level: "notice", message: message, number: number,
            time: Self.time)
    }

    private func message(_ word: String, _ value: some Encodable) throws -> ServerSentEvent {
        ServerSentEvent(event: word, id: "1", data: try ControlJSON.encode(value))
    }

    private func hello(_ instance: String, _ number: UInt64) throws -> ServerSentEvent {
        try message("hello", EventsHello(instance: instance, number: number))
    }

    private func frame(_ numbers: UInt64...) throws -> ServerSentEvent {
        try message("events", EventsFrame(events: numbers.map { event($0) }, jobs: [], now: ""))
    }

    @Test func itGoesOnBehindTheLastEvent() throws {
        var reader = EventReader(job: nil, lines: 20, follows: true)
        #expect(reader.query == EventQuery(start: .last(20)) && !reader.hasBegun)
        #expect(reader.handle(try hello("x", 7)) == [] && reader.hasBegun)
        #expect(reader.handle(try frame(6, 7)) == [.event(event(6)), .event(event(7))])
        #expect(reader.query == EventQuery(start: .after(7)))
        let gap = EventsGap(after: 7, nextNumber: 90)
        #expect(reader.handle(try message("gap", gap)) == [.gap(gap)])
        #expect(reader.query == EventQuery(start: .after(89)))
        #expect(reader.noteAway("gone") == "timerd does not answer; waiting for it: gone")
        #expect(reader.noteAway("gone") == nil)
        // The same daemon answers again.
        #expect(reader.handle(try hello("x", 95)) == [] && !reader.resumesAtOnce)
        #expect(reader.noteAway("gone") != nil)
        #expect(!reader.isFaulty)
    }

    @Test func afterARestartItBeginsWithTheFirstEvent() throws {
        var reader = EventReader(job: Job.Name("a")!, lines: 0, follows: true)
        _ = reader.handle(try hello("x", 7))
        #expect(reader.query == EventQuery(start: .after(7), job: Job.Name("a")!))
        let items = reader.handle(try hello("y", 3))
        #expect(items.count == 1 && reader.resumesAtOnce)
        #expect(reader.query.start == .after(0))
        #expect(reader.handle(try hello("y", 3)) == [] && !reader.resumesAtOnce)
    }

    @Test func whatIsNotUnderstoodEndsIt_andWhatIsNewDoesNot() throws {
        var reader = EventReader(job: nil, lines: 1, follows: false)
        #expect(!reader.query.follows)
        #expect(reader.handle(try message("later", ["a": 1])) == [] && !reader.isFaulty)
        #expect(reader.handle(ServerSentEvent(event: "events", data: Array("{".utf8))) == [])
        #expect(reader.isFaulty)
    }

    @Test func linesForPeopleAndForPrograms() throws {
        var lines: [String] = []
        var said: [String] = []
        for isJSON in [false, true] {
            let printer = EventPrinter(
                isJSON: isJSON, put: { lines.append($0) }, say: { said.append($0) })
            printer.print(.event(event(3, "a: \u{1b}[31mred\n\u{202e}x")), now: Self.now)
            printer.print(.gap(EventsGap(after: 3, nextNumber: 5)), now: Self.now)
            printer.print(.gap(EventsGap(after: 99, nextNumber: 5)), now: Self.now)
            printer.note("timerd was restarted")
        }
        #expect(lines.count == 7 && said == ["timerd was restarted"])
        #expect(lines[0].contains(" notice   a: ") && !lines[0].contains("\u{1b}"))
        #expect(!lines[0].contains("\n") && !lines[0].contains("\u{202e}"))
        #expect(lines[1].hasPrefix("(1 event missing here"))
        #expect(lines[2].hasPrefix("(the daemon has no event 99"))
        let read = try ControlJSON.decode(EventStatus.self, from: Array(lines[4].utf8))
        #expect(read == event(3, "a: \u{1b}[31mred\n\u{202e}x"))
        #expect(lines[5] == #"{"after":3,"next_number":5}"#)
    }

    @Test(arguments: [
        ["events", "-n", "4097"], ["events", "-n", "-1"], ["events", "--job", "a/b"],
    ])
    func wrongUsageIsRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try Timerctl.parseAsRoot(arguments) }
    }
}
