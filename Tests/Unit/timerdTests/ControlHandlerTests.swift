// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOHTTP1
import Testing
import TimerControl
import TimerCore

@testable import TimerHTTP

/// The behaviour of one connection to the control socket, by the bytes and the time that passes.
@Suite struct ControlHandlerTests {
    let list = "GET /v1/jobs HTTP/1.1\r\nHost: timerd\r\n\r\n"

    func get(_ path: String, method: String = "GET", _ more: String = "") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: timerd\r\n\(more)\r\n"
    }

    func post(_ path: String, _ body: String) -> String {
        get(path, method: "POST", "Content-Length: \(body.utf8.count)\r\n") + body
    }

    // MARK: - The order of things

    @Test func oneRequestAfterTheOtherIsAnswered_onOneConnection() throws {
        let connection = try ControlConnection()
        for _ in 0..<3 {
            try connection.send(list)
            let answer = try #require(connection.response())
            #expect(answer.status == 200 && answer.headers["connection"] == "keep-alive")
            #expect(answer.headers["content-type"] == "application/json")
            #expect(answer.body == "{\"path\":\"/v1/jobs\"}\n")
        }
        #expect(connection.isOpen)
    }

    @Test func requestsSentAtOnceAreAnsweredInTheirOrder_oneAtATime() throws {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service)
        try connection.send(
            get("/v1/jobs/a") + get("/nothing") + post("/v1/jobs/b/stop", "") + get("/v1/runs"))
        var paths: [String] = []
        while let call = service.takeCalls().first {
            #expect(service.takeCalls().isEmpty)
            #expect(connection.output.isEmpty)
            paths.append(call.request.path)
            call.reply(StubService.answer(to: call.request))
            // A second answer is ignored.
            call.reply(.error(.internalServerError, "twice"))
            connection.work()
            _ = connection.responses().map { all in #expect(all.map(\.status).contains(200)) }
        }
        #expect(paths == ["/v1/jobs/a", "/v1/jobs/b/stop", "/v1/runs?limit=20"])
    }

    @Test func thousandsOfRequestsAtOnceDoNotExhaustTheStack() throws {
        let connection = try ControlConnection()
        try connection.send(String(repeating: get("/x", method: "OPTIONS"), count: 5000))
        #expect(connection.responses()?.count == 5000)
        try connection.send(String(repeating: list, count: 5000))
        #expect(connection.responses()?.count == 5000 && connection.isOpen)
    }

    @Test func aClientThatEndsSendingGetsTheAnswers_andThenTheEnd() throws {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service)
        try connection.send(list + get("/v1/jobs/a"))
        connection.endInput()
        for path in ["/v1/jobs", "/v1/jobs/a"] {
            let call = try #require(service.takeCalls().first)
            #expect(call.request.path == path && connection.isOpen)
            call.reply(StubService.answer(to: call.request))
            connection.work()
            #expect(connection.response()?.status == 200)
        }
        #expect(!connection.isOpen)
    }

    @Test func aClientThatEndsSendingWithoutARequestIsClosed_andInTheMiddleOfOneGetsAnError() throws
    {
        let silent = try ControlConnection()
        silent.endInput()
        #expect(!silent.isOpen && silent.output.isEmpty)
        for part in [
            "GET /v1/jo", "POST /v1/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{",
        ] {
            let connection = try ControlConnection()
            try connection.send(part)
            connection.endInput()
            #expect(connection.response()?.status == 400)
            #expect(!connection.isOpen && connection.service.count == 0)
        }
    }

    // MARK: - Time

    @Test func aConnectionWithoutARequestIsClosedSilently() throws {
        let connection = try ControlConnection()
        connection.pass(.seconds(29))
        try connection.send(list)
        #expect(connection.response()?.status == 200)
        connection.pass(.seconds(29))
        #expect(connection.isOpen)
        connection.pass(.seconds(2))
        #expect(!connection.isOpen && connection.output.isEmpty)
    }

    @Test(arguments: [
        "GET /v1/jobs HTTP/1.1\r\nHost: timerd\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaa",
        "POST /v1/jobs/a/pause HTTP/1.1\r\nHost: timerd\r\nContent-Length: 60\r\n\r\n{\"note\": \"aaaaaaa",
    ])
    func aRequestThatComesByteByByteEndsAtItsDeadline(text: String) throws {
        let connection = try ControlConnection()
        // The time counts from the first byte, not from the last one.
        connection.pass(.seconds(20))
        for byte in text.utf8 where connection.isOpen {
            try connection.send([byte])
            connection.pass(.milliseconds(500))
        }
        #expect(connection.response()?.status == 408)
        connection.pass(.seconds(1))
        #expect(!connection.isOpen && connection.service.count == 0)
    }

    /// As while all of a million jobs are listed, or before the jobs are loaded.
    @Test func theTimeTheDaemonTakesForAnAnswerIsNotTheClients() throws {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service)
        try connection.send(list)
        connection.pass(.hours(3))
        #expect(connection.isOpen)
        let call = try #require(service.takeCalls().first)
        call.reply(StubService.answer(to: call.request))
        connection.work()
        #expect(connection.response()?.status == 200 && connection.isOpen)
    }

    @Test func aClientThatDoesNotReadIsClosed_andALongAnswerMayTakeLonger() throws {
        for (bytes, seconds) in [(10, 30), (100 << 20, 130)] {
            let service = StubService(isHolding: true)
            let connection = try ControlConnection(service)
            connection.setReading(false)
            try connection.send(list + list)
            let call = try #require(service.takeCalls().first)
            call.reply(ControlAnswer(.ok, String(repeating: "x", count: bytes)))
            connection.work()
            connection.pass(.seconds(Int64(seconds) - 1))
            // Its next request is not processed before.
            #expect(connection.isOpen && service.takeCalls().isEmpty)
            connection.pass(.seconds(2))
            #expect(!connection.isOpen)
        }
    }

    /// Many clients of users with read access, none of which reads its long answer.
    @Test func answersThatAreNotReadTakeBoundedMemory() throws {
        let unread = UnreadBytes()
        let long = ControlAnswer(.ok, ["x": String(repeating: "x", count: 100 << 20)])
        func ask(_ uid: UInt32) throws -> ControlConnection {
            let service = StubService(isHolding: true)
            let connection = try ControlConnection(service, uid: uid, unread: unread)
            connection.setReading(false)
            try connection.send(list)
            service.takeCalls().first?.reply(long)
            connection.work()
            return connection
        }
        func isGiven(_ connection: ControlConnection) -> Bool { connection.output.count > 1 << 20 }
        let deaf = try (0..<3).map { _ in try ask(guest) }
        #expect(deaf.map(isGiven) == [true, true, false])
        #expect(deaf[2].response()?.status == 503)
        // Root still gets its answer.
        #expect(isGiven(try ask(0)))
        deaf[0].pass(.seconds(200))
        #expect(!deaf[0].isOpen)
        #expect(isGiven(try ask(guest)))
    }

    @Test func aClientThatReadsLateGetsTheNextAnswer() throws {
        let connection = try ControlConnection()
        connection.setReading(false)
        try connection.send(list + list)
        connection.pass(.seconds(25))
        #expect(connection.service.count == 1)
        connection.setReading(true)
        #expect(connection.service.count == 2 && connection.responses()?.count == 2)
        connection.pass(.seconds(25))
        #expect(connection.isOpen)
    }

    // MARK: - HTTP

    // MARK: - Bodies

    @Test func aUserWithReadAccessGetsAnErrorForAChange() throws {
        let connection = try ControlConnection(uid: guest)
        try connection.send(list + post("/v1/jobs/a/pause", "") + post("/v1/reload", "") + list)
        #expect(connection.responses()?.map(\.status) == [200, 403, 403, 200])
        #expect(connection.service.count == 2)
    }

    @Test(arguments: [
        (
            "/v1/jobs/a/pause", #"{"for":"1h"}"#,
            #"unknown key "for" (did you mean "for_usec"?)"#
        ),
        (
            "/v1/jobs/a/pause", #"{"note":"x","notes":1}"#,
            #"unknown key "notes" (did you mean "note"?)"#
        ),
        ("/v1/jobs/a/stop", #"{"note":"x"}"#, #"unknown key "note": this request takes none"#),
        ("/v1/jobs/a/pause", #"{"note":"x","note":"y"}"#, "note is given twice"),
        ("/v1/jobs/a/kill", #"{"sig":"HUP"}"#, #"unknown key "sig" (did you mean "signal"?)"#),
        ("/v1/reload", #"{"force":true}"#, #"unknown key "force": this request takes none"#),
        (
            "/v1/jobs/a/kill?runs=1", "",
            #"unknown query parameter "runs" (did you mean "run"?)"#
        ),
        ("/v1/jobs/a/pause?for=1h", "", #"unknown query parameter "for": this request takes none"#),
        (
            "/v1/jobs/a/pause", #"["note"]"#,
            #"the body must be a JSON object such as {"note": "disk swap"}"#
        ),
        (
            "/v1/jobs/pause", #"{"jobs":["a"],"with_runs":true}"#,
            #"unknown key "with_runs" (did you mean "with_run"?)"#
        ),
        ("/v1/jobs/pause", #"{"jobs":["a"],"all":true}"#, "jobs and all exclude each other"),
        (
            "/v1/jobs/pause", "{}",
            #"name jobs, as in {"jobs": ["backup", "report"]}, or say {"all": true}"#
        ),
        (
            "/v1/jobs/pause", "",
            #"name jobs, as in {"jobs": ["backup", "report"]}, or say {"all": true}"#
        ),
        (
            "/v1/jobs/pause", #"{"jobs":[]}"#,
            #"name jobs, as in {"jobs": ["backup", "report"]}, or say {"all": true}"#
        ),
    ])
    func unknownThingsAreRefused(path: String, body: String, error: String) throws {
        let connection = try ControlConnection()
        try connection.send(post(path, body))
        let answer = try #require(connection.response())
        #expect(answer.status == 400 && answer.error == error)
        #expect(connection.service.count == 0 && connection.isOpen)
    }

    @Test func aNameMayBePercentEncoded() throws {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service)
        try connection.send(get("/v1/jobs/mail%40home/why"))
        #expect(service.takeCalls().first?.request.path == "/v1/jobs/mail@home/why")
    }
}
