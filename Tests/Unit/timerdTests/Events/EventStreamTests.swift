// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import TimerControl

@testable import TimerHTTP
@testable import TimerLog

/// An answer that comes part by part, as one connection gets it.
@Suite struct EventStreamTests {
    private let guest: UInt32 = 4_000_000_000

    /// What a stream was told, and a way to send its parts.
    private final class Source: Sendable {
        private struct State {
            var send: EventPublisher.Send?
            var taken = 0
            var ends = 0
        }
        private let state = Mutex(State())

        var answer: ControlAnswer {
            ControlAnswer(
                stream: AnswerStream(
                    begin: { send in self.state.withLock { $0.send = send } },
                    taken: { self.state.withLock { $0.taken += 1 } },
                    end: { self.state.withLock { $0.ends += 1 } }))
        }

        var hasBegun: Bool { state.withLock { $0.send != nil } }
        var taken: Int { state.withLock { $0.taken } }
        var ends: Int { state.withLock { $0.ends } }

        func send(_ text: String, isLast: Bool = false) {
            state.withLock { $0.send }?(ByteBuffer(string: text), isLast)
        }
    }

    private func get(_ more: String = "", method: String = "GET", version: String = "1.1") -> String
    {
        "\(method) /v1/events HTTP/\(version)\r\nHost: timerd\r\n\(more)\r\n"
    }

    /// A connection that was answered with a stream.
    private func connected(
        _ text: String, uid: UInt32 = geteuid(), unread: UnreadBytes = UnreadBytes()
    ) throws -> (ControlConnection, Source) {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service, uid: uid, unread: unread)
        try connection.send(text)
        let source = Source()
        let call = try #require(service.takeCalls().first)
        call.reply(source.answer)
        connection.work()
        return (connection, source)
    }

    private func text(_ connection: ControlConnection) -> String {
        connection.work()
        return String(decoding: connection.output, as: UTF8.self)
    }

    @Test func itComesInChunks_andEndsCleanly() throws {
        let (connection, source) = try connected(get())
        let head = text(connection)
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        for header in [
            "Content-Type: text/event-stream", "Cache-Control: no-store",
            "Transfer-Encoding: chunked",
        ] { #expect(head.contains("\r\n\(header)\r\n")) }
        source.send("abc")
        #expect(text(connection).hasSuffix("\r\n\r\n3\r\nabc\r\n") && source.taken == 1)
        source.send("end", isLast: true)
        #expect(text(connection).hasSuffix("3\r\nabc\r\n3\r\nend\r\n0\r\n\r\n"))
        #expect(!connection.isOpen && source.ends == 1)
    }

    @Test func itIsNotClosedForBeingQuiet() throws {
        let (connection, source) = try connected(get())
        connection.pass(.hours(3))
        source.send("abc")
        #expect(text(connection).hasSuffix("3\r\nabc\r\n") && connection.isOpen)
        connection.pass(.hours(3))
        #expect(connection.isOpen && source.ends == 0)
    }

    @Test func aClientThatDoesNotReadIsClosed() throws {
        let (connection, source) = try connected(get())
        connection.setReading(false)
        source.send("abc")
        connection.pass(.seconds(29))
        #expect(connection.isOpen && source.taken == 0)
        connection.pass(.seconds(2))
        #expect(!connection.isOpen && source.ends == 1)
        source.send("late")
        #expect(!text(connection).contains("late"))
    }

    @Test func anOldClientGetsItWithoutChunks_andHEADGetsNone() throws {
        let (old, source) = try connected(get(version: "1.0"))
        source.send("abc", isLast: true)
        #expect(text(old).hasSuffix("\r\n\r\nabc") && !old.isOpen)
        #expect(!text(old).contains("chunked"))
        let (head, none) = try connected(get(method: "HEAD"))
        #expect(text(head).hasPrefix("HTTP/1.1 200") && text(head).hasSuffix("\r\n\r\n"))
        #expect(!head.isOpen && none.ends == 1 && !none.hasBegun)
    }

    @Test func whatComesBehindTheRequestEndsIt() throws {
        for more in ["GET /v1/jobs HTTP/1.1\r\nHost: a\r\n\r\n", "garbage", "\u{0}\u{1}\r\n\r\n"] {
            let (connection, source) = try connected(get())
            try connection.send(more)
            #expect(!connection.isOpen && source.ends == 1)
            let (pipelined, second) = try connected(get() + more)
            #expect(!pipelined.isOpen && second.ends == 1)
        }
    }

    @Test func aClientThatIsGoneEndsIt() throws {
        let (connection, source) = try connected(get())
        connection.endInput()
        #expect(!connection.isOpen && source.ends == 1)
        // Also before it was answered.
        let service = StubService(isHolding: true)
        let early = try ControlConnection(service)
        try early.send(get())
        let call = try #require(service.takeCalls().first)
        try early.channel.close().wait()
        let late = Source()
        call.reply(late.answer)
        early.work()
        #expect(late.ends == 1 && !late.hasBegun)
    }

    @Test func whatUsersWhoOnlyLookDoNotReadCounts() throws {
        let unread = UnreadBytes()
        #expect(unread.reserve(UnreadBytes.max - 100_000))
        let (connection, source) = try connected(get(), uid: guest, unread: unread)
        source.send(String(repeating: "x", count: 90_000))
        connection.work()
        #expect(source.taken == 1 && connection.isOpen)
        connection.setReading(false)
        source.send(String(repeating: "x", count: 90_000))
        connection.work()
        #expect(!unread.reserve(90_000))
        connection.setReading(true)
        #expect(source.taken == 2)
        source.send(String(repeating: "x", count: 200_000))
        connection.work()
        #expect(!connection.isOpen && source.ends == 1)
        #expect(unread.reserve(90_000))
    }

    @Test func theHeaderOfBrowsersIsUsed() throws {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service)
        try connection.send(get("Last-Event-ID: 17\r\n"))
        #expect(
            try #require(service.takeCalls().first).request
                == .events(EventQuery(start: .after(17))))
        let wrong = try ControlConnection()
        try wrong.send(get("Last-Event-ID: x\r\n"))
        #expect(wrong.response()?.status == 400)
    }
}
