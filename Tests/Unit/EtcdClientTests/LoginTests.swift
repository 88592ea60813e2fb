// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

/// The login and its tokens.
@Suite struct LoginTests {
    /// A server that accepts one token, and gives the next one at each login.
    private func server(
        accepts: @escaping @Sendable (String) -> Bool, answer: String = Fixtures.applied
    ) -> FakeEtcd {
        FakeEtcd { request in
            if request.path == "/v3/auth/authenticate" {
                return [.json(#"{\#(FakeEtcd.header),"token":"token\#(request.number)"}"#)]
            }
            let token = request.header.first { $0.hasPrefix("Authorization: ") }
            guard let token, accepts(String(token.dropFirst(15))) else {
                return [Fixtures.error("etcdserver: invalid auth token", code: 16, status: 401)]
            }
            return [.json(answer)]
        }
    }

    private func logIn(_ options: inout EtcdOptions) {
        (options.user, options.password) = ("timerd", #"se"cret"#)
    }

    @Test func aTokenIsUsedUntilItIsRefused() throws {
        // Tokens of the first login are not accepted any more after three calls.
        let server = server { $0 == "token0" || $0 == "token3" }
        defer { server.stop() }
        let client = try Fixtures.client([server.url], logIn)
        #expect(client.execute(Fixtures.transaction).answer != nil)
        #expect(client.execute(Fixtures.transaction).answer != nil)
        #expect(server.requests.count == 3)
        #expect(server.requests[0].body == #"{"name":"timerd","password":"se\"cret"}"#)
    }

    @Test func aRefusedTokenIsReplacedOnce() throws {
        let server = server { $0 != "token0" }
        defer { server.stop() }
        let client = try Fixtures.client([server.url], logIn)
        // The first token is fresh: there is no reason to try again.
        #expect(client.execute(Fixtures.transaction).summary.error?.code == .tokenExpired)
        #expect(server.requests.count == 2)
        // The second call knows it already.
        #expect(client.execute(Fixtures.transaction).answer != nil)
        #expect(
            server.requests.map(\.path).dropFirst(2) == [
                "/v3/kv/txn", "/v3/auth/authenticate", "/v3/kv/txn",
            ])
    }

    @Test func aTokenThatIsAlwaysRefusedIsAnError() throws {
        let server = server { _ in false }
        defer { server.stop() }
        let client = try Fixtures.client([server.url], logIn)
        for _ in 0..<3 {
            let outcome = client.execute(Fixtures.transaction).summary
            #expect(outcome.word == "rejected")
            #expect(outcome.error?.code == .tokenExpired)
        }
        #expect(server.requests.count <= 8)
    }

    @Test(arguments: [
        (
            "etcdserver: authentication failed, invalid user ID or password", 3, 400,
            EtcdError.Code.wrongPassword
        ),
        ("etcdserver: authentication is not enabled", 9, 412, .authenticationOff),
    ])
    func aRefusedLoginSaysWhy(
        message: String, number: Int, status: Int, code: EtcdError.Code
    ) throws {
        let server = FakeEtcd { _ in [Fixtures.error(message, code: number, status: status)] }
        defer { server.stop() }
        let outcome = try Fixtures.client([server.url], logIn).execute(Fixtures.transaction).summary
        #expect(outcome.word == "not sent")
        #expect(outcome.error?.code == code)
        #expect(outcome.error?.description.contains("se\"cret") == false)
        #expect(server.requests.count == 1)
    }

    /// A token becomes a line of the header.
    @Test(arguments: ["", #"a\r\nX: y"#, #"a\u0000b"#, "ä", String(repeating: "a", count: 20_000)])
    func aTokenThatIsNoneIsRefused(token: String) throws {
        let server = FakeEtcd { _ in [.json(#"{\#(FakeEtcd.header),"token":"\#(token)"}"#)] }
        defer { server.stop() }
        let outcome = try Fixtures.client([server.url], logIn).execute(Fixtures.transaction).summary
        #expect(outcome.word == "not sent")
        #expect(outcome.error?.code == .notEtcd)
        #expect(server.requests.count == 1)
    }
}
