// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Synchronization
import Testing
import TimerControl
import TimerCore
import TimerHTTP
import TimerWeb

/// Which requests of browsers are answered.
@Suite struct WebRulesTests {
    static let host = "127.0.0.1:8321"
    static let cookie = "Cookie: timerd-session-8321=\(StubWeb.key)\r\n"
    private static let own =
        "Origin: http://\(host)\r\nSec-Fetch-Site: same-origin\r\n"
    private static let json = "Content-Type: application/json\r\n"

    static func get(
        _ target: String, _ headers: String = cookie, host: String = host, method: String = "GET"
    ) -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(headers)\r\n"
    }

    static func post(
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
        ("the same in digits", get("/%2e%2e/app.css"), 404),
        ("a command to a file", post("/app.css"), 405),
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
            ("/", "text/html"), ("/app.css", "text/css"),
            ("/script/app.js", "text/javascript"), ("/icon.svg", "image/svg+xml"),
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

    @Test func theFilesNeedNothingFromElsewhere_andAreSmall() throws {
        let web = StubWeb()
        var bytes = 0
        for path in WebPage().paths {
            let body = try #require(try web.answer(Self.get(path, ""))).body
            bytes += body.utf8.count
            #expect(!body.contains("//cdn") && !body.contains("@import"))
        }
        #expect(bytes <= 160_000)
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
}
