// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import TimerControl
import TimerCore
import TimerHTTP

@testable import TimerDaemon

/// Logging in and out, and a daemon that is away.
extension WebRulesTests {
    static func login(_ request: ControlRequest) -> Result<
        ControlClient.Reply, ControlClient.Failure
    > {
        let reply = LoginReply(session: StubWeb.key, until: "2026-11-22T00:00:00.000000Z")
        let body = (try? ControlJSON.encode(reply)) ?? []
        return .success(ControlClient.Reply(status: 200, body: body))
    }

    @Test func aLinkBecomesACookie_whichGoesOverTLSOnlyForOtherHosts() throws {
        for (host, secure) in [(Self.host, ""), ("jobs.example.org", "; Secure")] {
            let web = StubWeb { Self.login($0) }
            let answer = try #require(
                try web.answer(
                    Self.get(
                        "/login?token=\(StubWeb.token)", "Sec-Fetch-Site: cross-site\r\n",
                        host: host),
                    hosts: ["jobs.example.org"]))
            #expect(answer.status == 303 && answer.headers["location"] == "/")
            #expect(
                answer.headers["set-cookie"]
                    == "timerd-session-8321=\(StubWeb.key); Path=/; HttpOnly; SameSite=Strict\(secure)"
            )
            #expect(answer.headers["cache-control"] == "no-store")
            let asked = web.takeAsked()
            #expect(asked.map(\.0) == [.login(LoginBody(token: StubWeb.token))])
            #expect(asked.map(\.1) == [.none])
        }
    }

    @Test(arguments: [(401, 401), (503, 503), (200, 200)])
    func aLinkThatIsRefusedGivesNoCookie(status: Int, shown: Int) throws {
        // The last one is no answer to a login.
        let web = StubWeb { _ in
            .success(ControlClient.Reply(status: status, body: Array("{}".utf8)))
        }
        let answer = try #require(try web.answer(Self.get("/login?token=\(StubWeb.token)")))
        #expect(answer.status == shown && answer.headers["set-cookie"] == nil)
    }

    @Test func logoutTakesTheCookieAway() throws {
        let answer = try #require(try StubWeb().answer(Self.post("/v1/session/logout")))
        #expect(answer.status == 200)
        #expect(answer.headers["set-cookie"]?.hasPrefix("timerd-session-8321=; ") == true)
        #expect(answer.headers["set-cookie"]?.hasSuffix("; Max-Age=0") == true)
    }

    @Test func aDaemonThatIsAwayIsNamed() throws {
        let away = StubWeb { _ in .failure(.noDaemon("x")) }
        let answer = try #require(try away.answer(Self.get("/v1/jobs")))
        #expect(answer.status == 503 && answer.body.contains("\"no-daemon\""))
        let broken = StubWeb { _ in .failure(.broken("x")) }
        #expect(try broken.answer(Self.get("/v1/jobs"))?.status == 502)
    }

    @Test func slowClientsAreClosed() throws {
        let connection = try StubWeb().connection()
        try connection.send("GET / HTTP/1.1\r\n")
        connection.pass(.seconds(11))
        #expect(connection.response()?.status == 408)
        let silent = try StubWeb().connection()
        silent.pass(.seconds(21))
        #expect(!silent.isOpen)
    }
}
