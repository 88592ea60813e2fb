// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import TimerControl
import TimerCore

@testable import timerd

/// A web server without a socket and without a daemon.
final class StubWeb: Sendable {
    static let key = String(repeating: "k", count: SessionTable.keyLength)
    static let token = String(repeating: "t", count: SessionTable.keyLength)

    private let asked = Mutex<[(ControlRequest, Credentials)]>([])
    private let reply:
        @Sendable (ControlRequest) -> Result<ControlClient.Reply, ControlClient.Failure>

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
            rules: WebRules(port: 8321), page: WebPage(), hosts: { hosts },
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

/// What is served of the files of the page.
@Suite struct WebPageTests {
    @Test(arguments: [
        (
            "/* License\n   of it */\n\ncode; // why\n  // a line\n/** a\n * block\n */\nmore;\n",
            "/* License\n   of it */\n\ncode; // why\n\n\n\n\nmore;\n"
        ),
        (
            "// License\n\ncode;\n/* short */ more;\n/* short */\nlast;",
            "// License\n\ncode;\n/* short */ more;\n\nlast;"
        ),
        ("a {\n  color: red; /* why */\n}\n", "a {\n  color: red; /* why */\n}\n"), ("", ""),
    ])
    func commentsAreNotServed_andLinesKeepTheirNumbers(source: String, served: String) {
        #expect(String(decoding: WebPage.withoutComments(source.utf8), as: UTF8.self) == served)
    }

    @Test(arguments: ["/app.js", "/app.css", "/"]) func theFilesSayUnderWhichLicenseTheyAre(
        path: Substring
    ) throws {
        let file = try #require(WebPage().file(at: path))
        #expect(
            String(buffer: file.bytes).prefix(200).contains("SPDX-License-Identifier: Apache-2.0"))
    }
}

/// Which requests of browsers are answered.
@Suite struct WebRulesTests {
    private static let host = "127.0.0.1:8321"
    private static let cookie = "Cookie: timerd-session-8321=\(StubWeb.key)\r\n"
    private static let own =
        "Origin: http://\(host)\r\nSec-Fetch-Site: same-origin\r\n"
    private static let json = "Content-Type: application/json\r\n"

    private static func get(
        _ target: String, _ headers: String = cookie, host: String = host, method: String = "GET"
    ) -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(headers)\r\n"
    }

    private static func post(
        _ target: String, _ headers: String = cookie + own + json, _ body: String = "{}",
        host: String = host
    ) -> String {
        "POST \(target) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(body.utf8.count)\r\n"
            + "\(headers)\r\n\(body)"
    }

    /// Each hostile request with the status of its answer. None of them reaches the daemon.
    private static let hostile: [(String, String, Int)] = [
        ("another name for this machine", get("/v1/jobs", host: "evil.example"), 421),
        ("a name that begins like it", get("/v1/jobs", host: "127.0.0.1.evil.example"), 421),
        ("a user in the host", get("/v1/jobs", host: "127.0.0.1@evil.example"), 421),
        ("a port that is none", get("/v1/jobs", host: "127.0.0.1:8321x"), 421),
        ("an empty host", get("/", host: ""), 421),
        ("the page itself under another name", get("/", host: "evil.example:8321"), 421),
        ("no host", "GET / HTTP/1.1\r\n\r\n", 400),
        ("no host, in an old version", "GET / HTTP/1.0\r\n\r\n", 421),
        ("two hosts", get("/", "Host: evil.example\r\n"), 400),
        ("the target of a proxy", get("http://evil.example/v1/jobs"), 400),
        ("a target that is no path", get("*"), 400),
        ("a tunnel", get("evil.example:80", method: "CONNECT"), 405),
        ("a preflight", get("/v1/jobs/a/pause", own, method: "OPTIONS"), 405),
        ("an echo", get("/", method: "TRACE"), 405),
        ("another method", get("/v1/jobs/a", method: "DELETE"), 405),
        ("no login", get("/v1/jobs", ""), 401),
        (
            "the cookie of another port",
            get("/v1/jobs", "Cookie: timerd-session-1=\(StubWeb.key)\r\n"), 401
        ),
        ("a key that is none", get("/v1/jobs", "Cookie: timerd-session-8321=../../x\r\n"), 401),
        ("two keys", get("/v1/jobs", cookie + cookie), 401),
        (
            "two keys in one cookie",
            get(
                "/v1/jobs",
                "Cookie: timerd-session-8321=\(StubWeb.key); timerd-session-8321=\(StubWeb.key)\r\n"
            ), 401
        ),
        ("the daemon's own header", get("/v1/jobs", "Timerd-Session: \(StubWeb.key)\r\n"), 401),
        ("a token that is none", get("/v1/jobs", "Authorization: Bearer x\r\n"), 401),
        ("a password", get("/v1/jobs", "Authorization: Basic cm9vdDpyb290\r\n" + cookie), 401),
        ("reading from elsewhere", get("/v1/jobs", cookie + "Sec-Fetch-Site: cross-site\r\n"), 403),
        (
            "reading from another port", get("/v1/jobs", cookie + "Sec-Fetch-Site: same-site\r\n"),
            403
        ),
        ("a command without an origin", post("/v1/jobs/a/pause", cookie + json), 403),
        (
            "a command of a file",
            post(
                "/v1/jobs/a/pause",
                cookie + json + "Origin: null\r\nSec-Fetch-Site: same-origin\r\n"), 403
        ),
        (
            "a command of another port",
            post(
                "/v1/jobs/a/pause",
                cookie + json + "Origin: http://127.0.0.1:9999\r\nSec-Fetch-Site: same-origin\r\n"),
            403
        ),
        (
            "a command that a browser says is from elsewhere",
            post(
                "/v1/jobs/a/pause",
                cookie + json + "Origin: http://\(host)\r\nSec-Fetch-Site: same-site\r\n"), 403
        ),
        (
            "a command of an old browser",
            post("/v1/jobs/a/pause", cookie + json + "Origin: http://\(host)\r\n"), 403
        ),
        (
            "two origins",
            post("/v1/jobs/a/pause", cookie + json + own + "Origin: http://\(host)\r\n"), 403
        ),
        (
            "a command of a form",
            post("/v1/jobs/a/pause", cookie + own + "Content-Type: text/plain\r\n"), 415
        ),
        (
            "a command of another form",
            post(
                "/v1/jobs/a/pause",
                cookie + own + "Content-Type: application/x-www-form-urlencoded\r\n"), 415
        ),
        ("a command without a type", post("/v1/jobs/a/pause", cookie + own), 415),
        ("a command with two types", post("/v1/jobs/a/pause", cookie + own + json + json), 415),
        (
            "a command of a program",
            post("/v1/jobs/a/pause", own + json + "Authorization: Bearer \(StubWeb.token)\r\n"), 403
        ),
        ("a command without a login", post("/v1/jobs/a/pause", own + json), 401),
        ("a new link of a session", post("/v1/login-links"), 403),
        (
            "a login by hand",
            post("/v1/login", cookie + own + json, "{\"token\": \"\(StubWeb.token)\"}"), 403
        ),
        ("the end of all sessions", post("/v1/sessions/revoke"), 403),
        ("a one-off job", post("/v1/one-offs/a"), 403),
        ("the directory of the configuration", get("/v1/one-offs"), 403),
        ("an unknown path", get("/v1/nothing"), 404),
        ("a way to another file", get("/../../etc/passwd"), 404),
        ("the same in digits", get("/%2e%2e/app.js"), 404),
        ("a command to a file", post("/app.js"), 405),
        ("a look at a link", get("/login?token=\(StubWeb.token)", method: "HEAD"), 405),
        ("a link without a token", get("/login"), 401),
        ("a link with more", get("/login?token=\(StubWeb.token)&x=1"), 401),
        ("a header in a link", get("/login?token=%0d%0aSet-Cookie:%20a=b"), 401),
        ("an unknown key", post("/v1/jobs/a/pause", cookie + own + json, "{\"x\": 1}"), 400),
        ("a body that is none", post("/v1/jobs/a/pause", cookie + own + json, "[1"), 400),
        ("reading with a body", get("/v1/jobs", cookie + "Content-Length: 1\r\n"), 413),
        (
            "a huge body",
            "POST /v1/jobs/a/pause HTTP/1.1\r\nHost: \(host)\r\n\(cookie)\(own)\(json)Content-Length: 1048577\r\n\r\n",
            413
        ),
        (
            "a body of two lengths",
            "POST /v1/jobs/a/pause HTTP/1.1\r\nHost: \(host)\r\n\(cookie)\(own)\(json)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            400
        ),
        ("a huge header", get("/", "X: \(String(repeating: "x", count: 20_000))\r\n"), 431),
        ("a huge target", get("/\(String(repeating: "x", count: 5000))"), 400),
        ("a folded header", get("/v1/jobs", "X: a\r\n b\r\n" + cookie), 400),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}", 400),
        ("an expectation", get("/", "Expect: something\r\n"), 417),
    ]

    @Test(arguments: hostile.indices)
    func aHostileRequestIsRefused_andNeverReachesTheDaemon(index: Int) throws {
        let (name, text, status) = Self.hostile[index]
        let web = StubWeb()
        let answer = try #require(try web.answer(text), "\(name): no answer")
        #expect(answer.status == status, "\(name): \(answer)")
        #expect(web.takeAsked().isEmpty, "\(name)")
        Self.expectHeaders(answer, name)
    }

    /// What each answer says to the browser.
    private static func expectHeaders(_ answer: Response, _ name: String) {
        let policy = answer.headers["content-security-policy"] ?? ""
        #expect(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "\(name)")
        #expect(policy.contains("require-trusted-types-for 'script'"), "\(name)")
        #expect(answer.headers["x-content-type-options"] == "nosniff", "\(name)")
        #expect(answer.headers["referrer-policy"] == "no-referrer", "\(name)")
        #expect(answer.headers["cache-control"] != nil, "\(name)")
        #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control-") }, "\(name)")
    }

    // MARK: - What is right

    @Test func theFilesNeedNoLogin_andAreNotSentTwice() throws {
        let web = StubWeb()
        for (path, type) in [
            ("/", "text/html"), ("/app.css", "text/css"), ("/app.js", "text/javascript"),
        ] {
            let answer = try #require(try web.answer(Self.get(path, "")))
            #expect(answer.status == 200 && answer.headers["content-type"]?.hasPrefix(type) == true)
            #expect(answer.headers["cache-control"] == "no-cache" && !answer.body.isEmpty)
            Self.expectHeaders(answer, path)
            let tag = try #require(answer.headers["etag"])
            for known in [tag, "W/\(tag)", "\"x\", \(tag)"] {
                let again = try #require(
                    try web.answer(Self.get(path, "If-None-Match: \(known)\r\n")))
                #expect(again.status == 304 && again.body.isEmpty && again.headers["etag"] == tag)
            }
            let head = try #require(try web.answer(Self.get(path, "", method: "HEAD")))
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.headers["content-length"] == "\(answer.body.utf8.count)")
        }
        let icon = try #require(try web.answer(Self.get("/favicon.ico", "")))
        #expect(icon.status == 404)
        #expect(web.takeAsked().isEmpty)
    }

    @Test func theThreeFilesNeedNothingFromElsewhere_andAreSmall() throws {
        let web = StubWeb()
        var bytes = 0
        for path in ["/", "/app.css", "/app.js"] {
            let body = try #require(try web.answer(Self.get(path, ""))).body
            bytes += body.utf8.count
            #expect(!body.contains("//cdn") && !body.contains("@import"))
        }
        #expect(bytes <= 120_000)
    }

    @Test func aReadingIsPassedOnWithItsSession_writtenAgain() throws {
        let web = StubWeb()
        let more = Self.cookie + "Sec-Fetch-Site: same-origin\r\nX-Other: 1\r\n"
        let answer = try #require(try web.answer(Self.get("/v1/jobs/%62ackup", more)))
        #expect(answer.status == 200 && answer.body == "{}\n")
        #expect(answer.headers["cache-control"] == "no-store")
        Self.expectHeaders(answer, "reading")
        let asked = web.takeAsked()
        #expect(asked.count == 1 && asked[0].0 == .show(Job.Name("backup")!))
        #expect(asked[0].0.path == "/v1/jobs/backup" && asked[0].1 == .session(StubWeb.key))
    }

    @Test(arguments: [
        "localhost", "LOCALHOST:1", "[::1]:8321", "127.0.0.1", "jobs.example.org",
        "jobs.example.org:444", "other.example:8443",
    ])
    func aCommandOfThePageIsPassedOn(host: String) throws {
        let web = StubWeb()
        for scheme in ["http", "https"] {
            let own = "Origin: \(scheme)://\(host)\r\nSec-Fetch-Site: same-origin\r\n"
            let text = Self.post(
                "/v1/jobs/a/pause",
                Self.cookie + own + "Content-Type: application/json; charset=utf-8\r\n",
                #"{"note": "x"}"#, host: host)
            let answer = try #require(
                try web.answer(text, hosts: ["jobs.example.org", "other.example:8443"]))
            #expect(answer.status == 200, "\(answer)")
            let asked = web.takeAsked()
            #expect(asked.count == 1 && asked[0].0.path == "/v1/jobs/a/pause")
            #expect(String(decoding: asked[0].0.body, as: UTF8.self) == #"{"note":"x"}"#)
        }
        #expect(
            try web.answer(
                Self.get("/", host: "other.example:8444"), hosts: ["other.example:8443"])?.status
                == 421)
    }

    @Test func aProgramReadsWithAToken() throws {
        let web = StubWeb()
        let headers = "Authorization: bearer \(StubWeb.token)\r\n"
        #expect(try web.answer(Self.get("/v1/jobs", headers))?.status == 200)
        #expect(web.takeAsked().map(\.1) == [.token(StubWeb.token)])
    }

    // MARK: - Login

    private static func login(_ request: ControlRequest) -> Result<
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
            #expect(asked.map(\.0) == [.login(token: StubWeb.token)] && asked.map(\.1) == [.none])
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
