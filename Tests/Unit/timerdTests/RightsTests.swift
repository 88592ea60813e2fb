// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOHTTP1
import Testing
import TimerControl
import TimerCore

@testable import TimerAPI
@testable import TimerDaemon
@testable import TimerHTTP

/// Who gets which answer: each endpoint, asked by each kind of client.
@Suite struct RightsTests {
    /// Answers everything, and knows a session of an operator, one of a user who may only read, one
    /// of a user who has lost all rights, and the token of a program.
    private struct Service: ControlService {
        static let operatorKey = String(repeating: "o", count: Credentials.keyLength)
        static let readerKey = String(repeating: "r", count: Credentials.keyLength)
        static let formerKey = String(repeating: "f", count: Credentials.keyLength)
        static let token = String(repeating: "t", count: 40)

        func answer(
            _ request: ControlRequest, from peer: Peer, reply: @escaping ControlAnswer.Reply
        ) {
            reply(ControlAnswer(.ok, ["path": request.path]))
        }

        func mayHaveRight(_ peer: Peer) -> Bool {
            peer.isOwner || peer.origin == .session(Self.operatorKey)
        }

        func checkUser(of peer: Peer, _ done: @escaping @Sendable (SessionUsers.Finding) -> Void) {
            let isOver = peer.origin == .session(Self.formerKey)
            done(isOver ? .over("ann is not in the group timerd any more") : .current(peer))
        }

        func peer(of credentials: Credentials) -> Peer? {
            var peer = Peer(pid: 0, uid: 1000)
            switch credentials {
            case .session(let key)
            where [Self.operatorKey, Self.readerKey, Self.formerKey].contains(key):
                peer.origin = .session(key)
            case .token(Self.token): peer.origin = .program
            default: return nil
            }
            return peer
        }
    }

    /// In the order of the columns: at the control socket a reader and an operator; over the web server
    /// the session of a reader, of an operator and of a user without rights, a program, and a client without any rights.
    private static let callers: [(isGateway: Bool, uid: UInt32, header: String)] = [
        (false, guest, ""), (false, geteuid(), ""),
        (true, 0, "Timerd-Session: \(Service.readerKey)\r\n"),
        (true, 0, "Timerd-Session: \(Service.operatorKey)\r\n"),
        (true, 0, "Timerd-Session: \(Service.formerKey)\r\n"),
        (true, 0, "Authorization: Bearer \(Service.token)\r\n"), (true, 0, ""),
    ]

    private static func status(
        _ line: String, _ header: String, _ body: String,
        from caller: (isGateway: Bool, uid: UInt32, header: String)
    ) throws -> String {
        let service = Service()
        let connection = try ControlConnection(
            responder: caller.isGateway
                ? WebGateway(service: service)
                : ControlResponder(service: service, peer: Peer(pid: 1, uid: caller.uid)))
        try connection.send(
            "\(line) HTTP/1.1\r\nHost: timerd\r\n\(caller.header)\(header)\r\n\(body)")
        return String(
            String(decoding: connection.output, as: UTF8.self).drop { $0 != " " }
                .dropFirst().prefix(3))
    }

    /// The answers to a whole request, and those to the header of one that asks before it sends its
    /// body, which are only those that the body cannot change.
    private static func row(_ line: String, _ body: String) throws -> (
        whole: String, header: String
    ) {
        let length = "Content-Length: \(body.utf8.count)\r\n"
        let expecting = "Expect: 100-continue\r\nContent-Length: 2\r\n"
        return (
            try callers.map { try status(line, length, body, from: $0) }.joined(separator: " "),
            try callers.map { try status(line, expecting, "", from: $0) }.joined(separator: " ")
        )
    }

    @Test(arguments: expected.flatMap { row in row.requests.map { ($0, row.whole, row.header) } })
    func eachCallerGetsWhatTheTableSays(request: String, whole: String, header: String) throws {
        let (line, body) = Self.parts(of: request)
        let row = try Self.row(line, body)
        #expect(row.whole == whole)
        #expect(row.header == header)
    }

    @Test func eachEndpointIsAnswered() {
        for endpoint in EndpointTable.all {
            #expect(Control.handlers[endpoint] != nil, "\(endpoint.facts.id)")
        }
    }

    @Test func eachEndpointIsAskedFor() throws {
        let asked = Self.expected.flatMap(\.requests).compactMap { request -> String? in
            let (line, body) = Self.parts(of: request)
            let words = line.split(separator: " ").map(String.init)
            do throws(ControlRequest.Fault) {
                return try ControlRequest(method: words[0], path: words[1], body: Array(body.utf8))
                    .endpoint.facts.id
            } catch {
                return nil
            }
        }
        #expect(Set(asked) == Set(EndpointTable.all.map(\.facts.id)))
    }

    /// The request line, and the body.
    private static func parts(of request: String) -> (line: String, body: String) {
        let words = request.split(separator: " ", maxSplits: 2).map(String.init)
        return (words.prefix(2).joined(separator: " "), words.count > 2 ? words[2] : "")
    }

    private static let commands = ControlRequest.commandForms.flatMap { form in
        [
            "POST /v1/jobs/a/\(form.verb.rawValue)",
            #"POST /v1/jobs/\#(form.verb.rawValue) {"all": true}"#,
        ]
    }

    /// What the clients get, and which requests are answered so. Each endpoint is in it.
    private static let expected: [(whole: String, header: String, requests: [String])] = [
        // Readers.
        (
            "200 200 200 200 401 200 401",
            "100 100 100 100 100 100 401",
            [
                "GET /metrics",
                "GET /v1/openapi.json",
                "GET /v1/version",
                "GET /v1/jobs",
                "HEAD /v1/jobs",
                "GET /v1/jobs/a",
                "GET /v1/jobs/pause",
                "GET /v1/jobs/a/why",
                "GET /v1/jobs/a/log",
                "GET /v1/jobs/a/days",
                "GET /v1/runs",
                "GET /v1/runs/a:20261121T043852.000000Z:1",
                "GET /v1/upcoming",
                "GET /v1/reload",
                "GET /v1/session",
                "GET /v1/events",
                "GET /v1/recent",
                "GET /v1/notifications",
                "GET /v1/notifiers",
                "GET /v1/pauses",
                "GET /v1/slots",
                "GET /v1/fleet",
            ]
        ),
        // Operators.
        (
            "403 200 403 200 401 403 401",
            "403 100 100 100 100 100 401",
            [
                "POST /v1/jobs/a/kill",
                "POST /v1/one-offs/a/cancel",
                "POST /v1/hold",
                "POST /v1/release",
                "POST /v1/reload",
                "POST /v1/reload?strict=1",
                "POST /v1/notifications/1/retry",
                "POST /v1/notifiers/ops/test",
                "POST /v1/notifiers/ops/test?dry_run=1",
            ] + commands
        ),
        // Readers at the control socket.
        (
            "200 200 403 403 403 403 401",
            "100 100 100 100 100 100 401",
            [
                "GET /v1/one-offs",
                "POST /v1/login-links",
                "POST /v1/sessions/revoke",
            ]
        ),
        // Operators at the control socket.
        (
            "403 200 403 403 403 403 401",
            "403 100 100 100 100 100 401",
            [
                "POST /v1/one-offs/a",
                #"POST /v1/fleet {"verb": "hold"}"#,
            ]
        ),
        // What is wrong with a request is said to those who have the right to it.
        (
            "403 400 403 400 401 403 401",
            "403 100 100 100 100 100 401",
            [
                "POST /v1/hold {",
                "POST /v1/reload?strict=2",
                #"POST /v1/jobs/pause {"jobs": [1]}"#,
                #"POST /v1/jobs/a/pause {"untl": "1h"}"#,
            ]
        ),
        (
            "403 400 403 403 403 403 401",
            "403 100 100 100 100 100 401",
            [
                "POST /v1/fleet {",
                #"POST /v1/fleet {"verb": "fly"}"#,
            ]
        ),
        // Also before a login.
        (
            "200 200 200 200 200 200 200",
            "100 100 100 100 100 100 100",
            [
                #"POST /v1/login {"token": "x"}"#,
                "GET /v1/web",
            ]
        ),
        // Every session.
        (
            "200 200 200 200 200 200 401",
            "100 100 100 100 100 100 401",
            [
                "POST /v1/session/logout"
            ]
        ),
        // The same, if the body is about others.
        (
            "403 200 403 403 403 403 401",
            "100 100 100 100 100 100 401",
            [
                #"POST /v1/sessions/revoke {"all": true}"#,
                #"POST /v1/sessions/revoke {"user": "ann"}"#,
            ]
        ),
        // Before a login, the path must be spelled as in the table.
        (
            "200 200 200 200 200 200 401",
            "100 100 100 100 100 100 401",
            ["GET /v1/web/"]
        ),
        (
            "400 400 400 400 400 400 401",
            "100 100 100 100 100 100 401",
            [
                "GET /v1/web?x=1"
            ]
        ),
        (
            "400 400 400 400 400 400 401",
            "403 100 100 100 100 100 401",
            [
                #"POST /v1/login?x=1 {"token": "x"}"#,
                "POST /v1/session/logout?x=1",
            ]
        ),
        (
            "405 405 405 405 405 405 405",
            "405 405 100 100 100 100 100",
            [
                "GET /v1/login"
            ]
        ),
        (
            "204 204 405 405 405 405 405",
            "100 100 100 100 100 100 100",
            [
                "OPTIONS /v1/login"
            ]
        ),
        (
            "204 204 405 405 405 405 401",
            "100 100 100 100 100 100 401",
            [
                "OPTIONS /v1/jobs"
            ]
        ),
        (
            "404 404 404 404 404 404 401",
            "404 404 100 100 100 100 401",
            [
                "GET /nothing",
                "GET /v1/runs/zzz",
                "POST /v1/runs/zzz",
            ]
        ),
        (
            "405 405 405 405 405 405 401",
            "405 405 100 100 100 100 401",
            [
                "DELETE /v1/jobs",
                "POST /v1/jobs/a",
            ]
        ),
        (
            "400 400 400 400 400 400 400",
            "100 100 100 100 100 100 100",
            [
                "POST /v1/login {}"
            ]
        ),
        (
            "204 204 404 404 404 404 401",
            "404 404 100 100 100 100 401",
            [
                "OPTIONS *"
            ]
        ),
    ]
}
