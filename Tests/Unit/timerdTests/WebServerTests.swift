// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import NIOCore
import NIOPosix
import ProjectFiles
import SeededRandom
import Synchronization
import Testing
import TimerControl
import TimerHTTP
import WebReceiver

@testable import timerd
@testable import TimerWeb

/// The web server on a real socket of this machine.
@Suite struct WebServerTests {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private func connect(_ port: Int) throws -> Int32 {
        try #require(LocalConnection.open(port, receiveTimeout: 60), "connect: \(errno)")
    }

    /// The first line of the answer; empty if the connection was closed instead.
    ///
    /// - Parameter key: of a session, with which the daemon is asked; nil: the page is asked for.
    private func ask(_ socket: Int32, _ key: String? = nil, path: String = "/v1/jobs") -> String {
        let cookie = key.map { "Cookie: timerd-session-8321=\($0)\r\n" } ?? ""
        let path = key == nil ? "/" : path
        let text = "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(cookie)\r\n"
        _ = send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        let answer = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return String(answer.prefix { $0 != "\r\n" })
    }

    private func address() throws -> WebServer.Place {
        .address(try SocketAddress(ipAddress: "127.0.0.1", port: 0))
    }

    @Test func beyondTheLimitAConnectionIsClosed_andThereIsRoomWhenOneEnds() throws {
        let web = StubWeb()
        let channel = try WebServer.listen(on: address(), group: group, connectionsMax: 2) { _ in
            web.responder()
        }
        defer { try? channel.close().wait() }
        let port = try #require(channel.localAddress?.port)
        let first = try connect(port)
        let second = try connect(port)
        for socket in [first, second] { #expect(ask(socket, StubWeb.key) == "HTTP/1.1 200 OK") }
        let third = try connect(port)
        #expect(ask(third) == "")
        close(third)
        close(first)
        var answer = ""
        let end = Date(timeIntervalSinceNow: 60)
        while answer.isEmpty, Date() < end {
            let next = try connect(port)
            answer = ask(next)
            close(next)
        }
        #expect(answer == "HTTP/1.1 200 OK")
        #expect(ask(second) == "HTTP/1.1 200 OK")
        close(second)
    }

    /// Clients without any rights cannot block others.
    @Test func connectionsOfUnknownClientsGiveWay_theOldestFirst() throws {
        // The daemon does not know the session that asks for the slots.
        let web = StubWeb { request in
            let status = request.path == "/v1/slots" ? 401 : 200
            return .success(ControlClient.Reply(status: status, body: Array("{}\n".utf8)))
        }
        let channel = try WebServer.listen(on: address(), group: group, connectionsMax: 3) { _ in
            web.responder()
        }
        defer { try? channel.close().wait() }
        let port = try #require(channel.localAddress?.port)
        let known = try connect(port)
        #expect(ask(known, StubWeb.key) == "HTTP/1.1 200 OK")
        // One that sends nothing, and one whose request is never complete.
        var strangers = [try connect(port), try connect(port)]
        _ = send(strangers[1], "GET / HTTP", 10, Int32(MSG_NOSIGNAL))
        for _ in 0..<20 {
            let next = try connect(port)
            #expect(ask(next) == "HTTP/1.1 200 OK")
            var byte: UInt8 = 0
            #expect(recv(strangers[0], &byte, 1, 0) == 0)
            close(strangers.removeFirst())
            strangers.append(next)
        }
        #expect(
            ask(strangers[0], StubWeb.key, path: "/v1/slots") == "HTTP/1.1 401 Unauthorized")
        let last = try connect(port)
        #expect(ask(last) == "HTTP/1.1 200 OK" && ask(strangers[0]) == "")
        #expect(ask(known, StubWeb.key) == "HTTP/1.1 200 OK")
        for socket in strangers + [known, last] { close(socket) }
    }

    /// Such clients are answered all the time. They cannot block others either.
    @Test func clientsThatReadNoAnswerGiveWay() throws {
        let web = StubWeb()
        let channel = try WebServer.listen(on: address(), group: group, connectionsMax: 2) { _ in
            web.responder()
        }
        defer { try? channel.close().wait() }
        let port = try #require(channel.localAddress?.port)
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        let many = Array(String(repeating: request, count: 20_000).utf8)
        let strangers = [try connect(port), try connect(port)]
        for socket in strangers {
            _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
            var sent = 0
            while sent < many.count {
                let count = many[sent...].withUnsafeBytes {
                    send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count > 0 { sent += count } else { break }
            }
        }
        for _ in 0..<3 {
            let next = try connect(port)
            #expect(ask(next) == "HTTP/1.1 200 OK")
            close(next)
        }
        for socket in strangers { close(socket) }
    }

    @Test func withoutAConnectionItSaysSo_andNotWhileThereIsOne() throws {
        let web = StubWeb()
        let idle = DispatchSemaphore(value: 0)
        let channel = try WebServer.listen(
            on: address(), group: group, idleTime: .milliseconds(50)
        ) { _ in
            web.responder()
        } whenIdle: {
            idle.signal()
        }
        defer { try? channel.close().wait() }
        #expect(idle.wait(timeout: .now() + .seconds(60)) == .success)
        let connection = try connect(#require(channel.localAddress?.port))
        #expect(ask(connection) == "HTTP/1.1 200 OK")
        while idle.wait(timeout: .now()) == .success {}
        #expect(idle.wait(timeout: .now() + .milliseconds(300)) == .timedOut)
        close(connection)
        #expect(idle.wait(timeout: .now() + .seconds(60)) == .success)
    }

    @Test(arguments: [
        ("127.0.0.1:8321", true), ("[::1]:0", true), ("0.0.0.0:8321", false), ("8321", false),
        ("127.0.0.1", false), ("127.0.0.1:", false), ("127.0.0.1:70000", false),
        ("localhost:1", false), ("example.org:443", false), (":1", false),
    ])
    func onlyAnAddressOfThisMachineIsServed(text: String, isGood: Bool) {
        #expect(((try? WebCommand.address(text)) != nil) == isGood)
    }

    // MARK: - Whatever comes

    private static let corpus: [[UInt8]] = {
        let folder = Project.url(of: "Tests/Support/Corpus/control")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().compactMap {
            (try? Data(contentsOf: folder.appendingPathComponent($0))).map { Array($0) }
        }
    }()

    private static let seeds: [String] = {
        let cookie = "Cookie: a=b; timerd-session-8321=\(StubWeb.key)\r\n"
        let own =
            "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n"
        return [
            "GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"x\", W/\"y\"\r\n\r\n",
            "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\(cookie)\r\n",
            "POST /v1/jobs/a/pause HTTP/1.1\r\nHost: localhost\r\n\(cookie)\(own)Content-Length: 13\r\n\r\n{\"note\": \"x\"}",
            "GET /login?token=\(StubWeb.token) HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /v1/runs?limit=3 HTTP/1.1\r\nHost: [::1]:8321\r\nAuthorization: Bearer \(StubWeb.token)\r\n\r\n",
        ]
    }()

    private static let words: [[UInt8]] = [
        "\r\n", "\r\n\r\n", "\0", " ", ":", "%2f", "?", "=", ";", ",", "\"", "Host: evil\r\n",
        "Host: localhost\r\n", "Origin: null\r\n", "Cookie: timerd-session-8321=x\r\n",
        "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "/v1/login", "/v1/web",
        "/v1/login-links", "/../", "http://evil/", "POST ", "HEAD ", "Expect: 100-continue\r\n",
        "Authorization: Bearer x\r\n", "HTTP/1.0",
    ].map { Array($0.utf8) }

    private static func mutated(_ random: inout SeededRandom) -> [UInt8] {
        var bytes =
            random.int(below: 2) == 0
            ? Array(seeds[random.int(below: seeds.count)].utf8)
            : corpus[random.int(below: corpus.count)]
        for _ in 0..<random.int(below: 6) {
            let place = random.int(below: bytes.count + 1)
            let end = min(bytes.count, place + random.int(below: 30))
            switch random.int(below: 5) {
            case 0 where place < bytes.count: bytes[place] = UInt8(random.int(below: 256))
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
            case 3: bytes += Array(seeds[random.int(below: seeds.count)].utf8)
            default: bytes.insert(contentsOf: words[random.int(below: words.count)], at: place)
            }
        }
        return bytes
    }

    /// Every answer can be read and has the headers of all answers, and the daemon is asked only what browsers may ask,
    /// with a session or a token, except for a login.
    @Test func everyAnswerCanBeRead_whateverComes() throws {
        var random = SeededRandom()
        let web = StubWeb()
        let end = Date(timeIntervalSinceNow: 5)
        var count = 0
        while Date() < end || count < 1000 {
            count += 1
            let bytes = Self.mutated(&random)
            let connection = try web.connection()
            var rest = bytes[...]
            while !rest.isEmpty, connection.isOpen {
                let part = 1 + random.int(below: 2000)
                try connection.send(Array(rest.prefix(part)))
                rest = rest.dropFirst(part)
            }
            connection.endInput()
            connection.pass(.seconds(60))
            connection.pass(.seconds(60))
            let what = "for \(Data(bytes).base64EncodedString()) (base64)"
            #expect(!connection.isOpen, "\(what)")
            let answers = try #require(connection.responses(), "\(what)")
            for answer in answers where answer.status != 100 {
                #expect(
                    answer.headers["content-security-policy"] != nil, "\(answer.status) \(what)")
                #expect(answer.headers["cache-control"] != nil, "\(answer.status) \(what)")
            }
            for (request, credentials) in web.takeAsked() {
                let access = request.endpoint.access
                #expect(access.isForBrowsers, "\(request) \(what)")
                if request.values(of: ControlRequest.login) != nil { continue }
                #expect(access != .beforeLogin && credentials != .none, "\(request) \(what)")
            }
        }
    }
}
