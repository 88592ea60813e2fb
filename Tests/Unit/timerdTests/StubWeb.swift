// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import TimerDaemon
@testable import TimerHTTP
@testable import TimerWeb

/// A web server without a socket and without a daemon.
final class StubWeb: Sendable {
    static let key = String(repeating: "k", count: Credentials.keyLength)
    static let token = String(repeating: "t", count: Credentials.keyLength)

    private let asked = Mutex<[(ControlRequest, Credentials)]>([])
    private let reply:
        @Sendable (ControlRequest) -> Result<ControlClient.Reply, ControlClient.Failure>

    /// To make the page takes 0.1 s in a debug build.
    private static let page = WebPage()

    init(
        _ reply:
            @escaping @Sendable (ControlRequest) -> Result<
                ControlClient.Reply, ControlClient.Failure
            > = { _ in .success(ControlClient.Reply(status: 200, body: Array("{}\n".utf8))) }
    ) {
        self.reply = reply
    }

    /// What the daemon was asked, since the last look.
    func takeAsked() -> [(ControlRequest, Credentials)] {
        asked.withLock { asked in
            defer { asked = [] }
            return asked
        }
    }

    func responder(hosts: [String] = []) -> WebResponder {
        WebResponder(
            rules: WebRules(port: 8321), page: Self.page, hosts: { hosts },
            ask: { request, credentials, done in
                self.asked.withLock { $0.append((request, credentials)) }
                done(self.reply(request))
            },
            follow: { _, _ in ControlAnswer(.ok, ["follows": true]) })
    }

    func connection(hosts: [String] = []) throws -> ControlConnection {
        try ControlConnection(limits: WebServer.limits, responder: responder(hosts: hosts))
    }

    /// The answer to one request.
    func answer(_ text: String, hosts: [String] = []) throws -> Response? {
        let connection = try connection(hosts: hosts)
        try connection.send(text)
        return connection.response()
    }
}
