// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOHTTP1
import Testing
import TimerControl
import TimerCore

/// How requests and answers are encoded: methods, headers and bodies.
extension ControlHandlerTests {
    @Test func anAnswerToHeadHasTheLengthAndNoBody() throws {
        let connection = try ControlConnection()
        try connection.send(get("/v1/jobs", method: "HEAD") + get("/x", method: "HEAD") + list)
        let answers = try #require(connection.responses())
        #expect(answers.map(\.status) == [200, 404, 200])
        #expect(answers.map(\.body.isEmpty) == [true, true, false])
        #expect(answers[0].headers["content-length"] == answers[2].headers["content-length"])
        #expect(connection.isOpen)
    }

    @Test(arguments: [
        ("/v1/jobs", "GET, HEAD, OPTIONS"), ("/v1/jobs/a", "GET, HEAD, OPTIONS"),
        ("/v1/jobs/a/pause", "POST, OPTIONS"), ("/v1/jobs/a/kill", "POST, OPTIONS"),
        ("/v1/jobs/pause", "GET, HEAD, POST, OPTIONS"),
        ("/v1/reload", "GET, HEAD, POST, OPTIONS"),
    ])
    func optionsReportsTheMethodsOfAPath(path: String, allowed: String) throws {
        let connection = try ControlConnection(uid: guest)
        try connection.send(get(path, method: "OPTIONS"))
        let options = try #require(connection.response())
        #expect(options.status == 204 && options.headers["allow"] == allowed)
        try connection.send(get(path, method: "DELETE"))
        let refused = try #require(connection.response())
        #expect(refused.status == 405 && refused.headers["allow"] == allowed)
        #expect(refused.error != nil && connection.isOpen)
    }

    @Test func optionsReportsTheMethodsOfTheServer() throws {
        let connection = try ControlConnection()
        try connection.send(get("*", method: "OPTIONS"))
        #expect(connection.response()?.headers["allow"] == "GET, HEAD, POST, OPTIONS")
    }

    @Test func aClientThatWaitsToSendABodyIsToldToContinue_orRefused() throws {
        let expecting = "Expect: 100-continue\r\nContent-Length: 2\r\n"
        let connection = try ControlConnection()
        try connection.send(get("/v1/reload", method: "POST", expecting))
        #expect(connection.response()?.status == 100)
        try connection.send("{}")
        #expect(connection.response()?.status == 200 && connection.isOpen)
        for (path, uid, status) in [
            ("/v1/jobs", geteuid(), 405), ("/x", geteuid(), 404), ("/v1/reload", guest, 403),
        ] {
            let other = try ControlConnection(uid: uid)
            try other.send(get(path, method: "POST", expecting))
            #expect(other.response()?.status == status)
            other.pass(.seconds(2))
            #expect(!other.isOpen)
        }
        let odd = try ControlConnection()
        try odd.send(get("/v1/reload", method: "POST", "Expect: tea\r\n"))
        #expect(odd.response()?.status == 417)
    }

    @Test(arguments: [
        ("GET /v1/jobs HTTP/1.1\r\n\r\n", 400), ("GET /v1/jobs HTTP/1.0\r\n\r\n", 200),
        ("GET /v1/jobs HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET /v1/jobs HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET /v1/jobs HTTP/1.1\r\nHost:\r\n\r\n", 200),
        ("GET http://timerd/v1/jobs HTTP/1.1\r\nHost: timerd\r\n\r\n", 200),
        ("GET /v1/jobs HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200),
        ("BREW /v1/jobs HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("nonsense\r\n\r\n", 400),
        ("GET /v1/jobs HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (
            "POST /v1/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
        ),
        ("POST /v1/reload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZ\r\n", 400),
        (
            "GET /v1/jobs HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n",
            431
        ),
        (
            "GET /v1/jobs HTTP/1.1\r\nHost: a\r\n"
                + String(repeating: "X: y\r\n", count: 200) + "\r\n", 431
        ),
    ])
    func theHeaderIsJudged(text: String, status: Int) throws {
        let connection = try ControlConnection()
        try connection.send(text)
        let answer = try #require(connection.response())
        #expect(answer.status == status)
        if status != 200 {
            #expect(answer.error != nil && answer.headers["connection"] == "close")
            // Further input is discarded, so that the answer can be read.
            try connection.send(list)
            #expect(connection.output.isEmpty)
        }
        connection.pass(.seconds(31))
        #expect(!connection.isOpen)
    }

    @Test func anErrorIsReportedAfterTheAnswersBeforeIt() throws {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service)
        try connection.send(list + "nonsense\r\n\r\n")
        #expect(connection.output.isEmpty)
        let call = try #require(service.takeCalls().first)
        call.reply(StubService.answer(to: call.request))
        connection.work()
        #expect(connection.responses()?.map(\.status) == [200, 400])
    }

    @Test func theDecoderReadsNothingAfterAnUpgrade_soTheConnectionEnds() throws {
        let connection = try ControlConnection()
        try connection.send(
            get("/v1/jobs", "Connection: upgrade\r\nUpgrade: websocket\r\n") + list)
        #expect(connection.responses()?.map(\.status) == [200])
        #expect(!connection.isOpen)
    }

    private func chunked(_ path: String, _ chunks: [String]) -> String {
        get(path, method: "POST", "Transfer-Encoding: chunked\r\n")
            + chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
            + "0\r\n\r\n"
    }

    @Test func aBodyMayComeInChunks() throws {
        let service = StubService(isHolding: true)
        let connection = try ControlConnection(service)
        try connection.send(chunked("/v1/jobs/a/pause", ["{\"note\"", ": \"x\"}"]))
        #expect(
            service.takeCalls().map(\.request)
                == [.command(.pause, Job.Name("a")!, CommandBody(note: "x"))])
    }

    @Test func aBodyHasALimit_knownFromItsLengthOrAsItComes() throws {
        let most = ControlRequest.bodyBytesMax
        let fits = try ControlConnection()
        try fits.send(post("/v1/reload", "{}" + String(repeating: " ", count: most - 2)))
        #expect(fits.response()?.status == 200 && fits.isOpen)
        let long = String(repeating: " ", count: most + 1)
        for text in [post("/v1/reload", long), chunked("/v1/reload", ["{}", long])] {
            let connection = try ControlConnection()
            try connection.send(text)
            #expect(connection.response()?.status == 413)
            connection.pass(.seconds(2))
            #expect(!connection.isOpen && connection.service.count == 0)
        }
    }

    @Test func aListOfManyJobsMayBeLonger_fromThoseWhoMayChangeThem() throws {
        let names = (0..<5000).map { "\"job-number-\($0)\"" }.joined(separator: ",")
        let text = post("/v1/jobs/pause", "{\"jobs\":[\(names)]}")
        for (uid, status) in [(geteuid(), 200), (guest, 413)] {
            let connection = try ControlConnection(uid: uid)
            try connection.send(text)
            #expect(connection.response()?.status == status)
        }
    }
}
