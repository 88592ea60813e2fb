// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerControl
import TimerCore

/// How events are asked for, and how a stream of them is read.
@Suite struct EventsTests {
    private func read(_ path: String, last id: String? = nil) throws -> ControlRequest {
        try ControlRequest(
            method: "GET", path: path, body: [], headers: RequestHeaders(lastEventID: id))
    }

    @Test(arguments: [
        ("/v1/events", EventQuery()), ("/v1/events?after=0", EventQuery(start: .after(0))),
        ("/v1/events?after=9223372036854775807", EventQuery(start: .after(UInt64(Int64.max)))),
        ("/v1/events?last=4096", EventQuery(start: .last(4096))),
        ("/v1/events?last=0&follow=0", EventQuery(start: .last(0), follows: false)),
        ("/v1/events?job=a&follow=1", EventQuery(job: Job.Name("a")!)),
    ])
    func aQueryIsRead(path: String, query: EventQuery) throws {
        #expect(try read(path) == .events(query))
        #expect(try read(ControlRequest.events(query).path) == .events(query))
        #expect(!ControlRequest.events(query).isChange)
    }

    @Test(arguments: [
        "after=-1", "after=abc", "after=", "after=9223372036854775808", "after=1e3",
        "after=1&after=2",
        "after=99999999999999999999999", "after=1&last=2", "last=4097", "last=-1", "last=x",
        "job=a/b", "job=", "follow=2", "x=1",
    ])
    func aWrongQueryIsRefused(query: String) {
        #expect(throws: ControlRequest.Fault.self) { try read("/v1/events?\(query)") }
    }

    @Test func theHeaderOfBrowsersGoesBeforeTheQuery() throws {
        let path = "/v1/events?after=3&job=a"
        #expect(
            try read(path) == .events(EventQuery(start: .after(3), job: Job.Name("a")!)))
        #expect(
            try read(path, last: "17")
                == .events(EventQuery(start: .after(17), job: Job.Name("a")!)))
        for id in ["", "x", "-1", "99999999999999999999999"] {
            #expect(throws: ControlRequest.Fault.self) { try read(path, last: id) }
        }
        #expect(try read("/v1/jobs", last: "x") == .list)
    }

    private static let stream = """
        :\r\rid: 5\nevent: hello\ndata: {"a":1}\n\ndata:one\r\ndata: two\r\n\r\n:comment\n\nretry: 9
        event: x\n\nid\ndata\n\nevent: last\ndata: no end\n
        """
    private static let messages = [
        ServerSentEvent(event: "hello", id: "5", data: Array(#"{"a":1}"#.utf8)),
        ServerSentEvent(event: "message", id: "5", data: Array("one\ntwo".utf8)),
        ServerSentEvent(event: "message", id: "", data: []),
    ]

    @Test func aStreamIsReadAsItComes() throws {
        var random = SeededRandom()
        let bytes = Array(Self.stream.utf8)
        for _ in 0..<200 {
            var reader = ServerSentEventReader()
            var found: [ServerSentEvent] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = rest.prefix(Int.random(in: 1...9, using: &random))
                rest = rest.dropFirst(part.count)
                found += try reader.add(part)
            }
            #expect(found == Self.messages)
        }
        var reader = ServerSentEventReader()
        #expect(try reader.add(bytes[...]) == Self.messages)
    }

    @Test func whatIsWrittenIsRead() throws {
        var reader = ServerSentEventReader()
        let bytes =
            ServerSentEvent.comment
            + ServerSentEvent.bytes(event: "events", id: 7, data: Array("{}".utf8))
        #expect(
            try reader.add(bytes[...])
                == [ServerSentEvent(event: "events", id: "7", data: Array("{}".utf8))])
    }
}
