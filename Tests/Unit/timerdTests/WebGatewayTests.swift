// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import TimerAPI
@testable import TimerDaemon
@testable import TimerHTTP

/// What is answered on the socket for the web server: only requests of users who are logged in.
@Suite struct WebGatewayTests {
    /// Knows one operator, one user who may only read, and one program.
    private final class Service: ControlService {
        static let operatorKey = String(repeating: "o", count: Credentials.keyLength)
        static let viewerKey = String(repeating: "v", count: Credentials.keyLength)
        static let token = String(repeating: "t", count: 40)

        let asked = Mutex<[(ControlRequest, Peer)]>([])

        func answer(
            _ request: ControlRequest, from peer: Peer, reply: @escaping ControlAnswer.Reply
        ) {
            asked.withLock { $0.append((request, peer)) }
            reply(ControlAnswer(.ok, ["path": request.path]))
        }

        func mayHaveRight(_ peer: Peer) -> Bool { peer.origin == .session(Self.operatorKey) }

        func peer(of credentials: Credentials) -> Peer? {
            var peer = Peer(pid: 0, uid: 1000)
            switch credentials {
            case .session(Self.operatorKey): peer.origin = .session(Self.operatorKey)
            case .session(Self.viewerKey): peer.origin = .session(Self.viewerKey)
            case .token(Self.token): peer.origin = .program
            default: return nil
            }
            return peer
        }
    }

    private static let session = "Timerd-Session: "

    private func answer(_ text: String) throws -> (
        response: Response?, asked: [(ControlRequest, Peer)]
    ) {
        let service = Service()
        let connection = try ControlConnection(responder: WebGateway(service: service))
        try connection.send(text)
        return (connection.response(), service.asked.withLock { $0 })
    }

    private func text(_ method: String, _ path: String, _ headers: String = "", _ body: String = "")
        -> String
    {
        "\(method) \(path) HTTP/1.1\r\nHost: timerd\r\n\(headers)"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let viewer = "\(session)\(Service.viewerKey)\r\n"
    private static let writer = "\(session)\(Service.operatorKey)\r\n"
    private static let program = "Authorization: Bearer \(Service.token)\r\n"

    @Test(arguments: [
        ("GET", "/v1/jobs", "", 401), ("POST", "/v1/jobs/a/pause", "", 401),
        ("GET", "/v1/session", "", 401), ("POST", "/v1/reload", "", 401),
        ("GET", "/nothing", "", 401), ("OPTIONS", "/v1/jobs", "", 401),
        ("GET", "/v1/jobs", "\(session)x\r\n", 401),
        ("GET", "/v1/jobs", "\(session)\(StubWeb.key)\r\n", 401),
        // Two answers to the question who it is are none.
        ("GET", "/v1/jobs", viewer + viewer, 401), ("GET", "/v1/jobs", viewer + program, 401),
        ("GET", "/v1/jobs", "Authorization: Bearer \(Service.token)x\r\n", 401),
        ("GET", "/v1/jobs", viewer, 200), ("GET", "/v1/jobs", program, 200),
        ("POST", "/v1/jobs/a/pause", viewer, 403), ("POST", "/v1/jobs/a/pause", program, 403),
        ("POST", "/v1/jobs/a/pause", writer, 200), ("POST", "/v1/reload", viewer, 403),
        ("POST", "/v1/jobs/a/kill", viewer, 403), ("POST", "/v1/one-offs/a/cancel", viewer, 403),
        ("POST", "/v1/session/logout", viewer, 200),
        // A session makes no other, and says nothing of the configuration's directory.
        ("POST", "/v1/login-links", writer, 403), ("POST", "/v1/sessions/revoke", writer, 403),
        ("GET", "/v1/one-offs", writer, 403), ("POST", "/v1/one-offs/a", writer, 403),
        ("GET", "/v1/web", "", 200), ("HEAD", "/v1/web", "", 200),
    ])
    func eachRequestShowsForWhomItIs(method: String, path: String, headers: String, status: Int)
        throws
    {
        let (response, asked) = try answer(text(method, path, headers))
        #expect(response?.status == status, "\(method) \(path): \(String(describing: response))")
        #expect(asked.count == (status == 200 ? 1 : 0))
    }

    @Test func aLoginNeedsNoSession_andTheRestOfTheRequestIsChecked() throws {
        let body = #"{"token": "x"}"#
        let (response, asked) = try answer(text("POST", "/v1/login", "", body))
        #expect(response?.status == 200 && asked.first?.0 == .login(LoginBody(token: "x")))
        #expect(asked.first?.1.isOwner == false)
        #expect(try answer(text("POST", "/v1/login", "", "{}")).response?.status == 400)
        #expect(try answer(text("GET", "/v1/login")).response?.status == 405)
    }

    /// Only a client that may change something sends long lists of jobs.
    @Test func aLongBodyNeedsALogin() throws {
        let head = "POST /v1/jobs/pause HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n"
        #expect(try answer("\(head)\r\n").response?.status == 413)
    }

    @Test func onTheControlSocketTheHeaderMeansNothing() throws {
        let service = Service()
        let connection = try ControlConnection(
            responder: ControlResponder(service: service, peer: Peer(pid: 1, uid: 4_000_000_000)))
        try connection.send(text("POST", "/v1/jobs/a/pause", Self.writer))
        #expect(connection.response()?.status == 403)
        try connection.send(text("POST", "/v1/login-links"))
        #expect(connection.response()?.status == 200)
        try connection.send(text("POST", "/v1/sessions/revoke", "", #"{"all": true}"#))
        #expect(connection.response()?.status == 403)
        try connection.send(text("POST", "/v1/sessions/revoke", "", #"{"user": "root"}"#))
        #expect(connection.response()?.status == 403, "those of another user need the right")
        for body in [#"{"user": ""}"#, #"{"user": "a b"}"#, #"{"user": "a", "all": false}"#] {
            try connection.send(text("POST", "/v1/sessions/revoke", "", body))
            #expect(connection.response()?.status == 400, "\(body)")
        }
        try connection.send(text("POST", "/v1/sessions/revoke"))
        #expect(connection.response()?.status == 200)
        #expect(
            service.asked.withLock { $0.map(\.0) } == [.loginLink, .revokeSessions(.client)])
    }
}
