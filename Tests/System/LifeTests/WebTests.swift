// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore
import WebReceiver

/// A real web server beside a real daemon.
@Suite(.ownThreads) struct WebTests {
    /// The web server of a daemon, on a port that is free.
    private final class Web {
        let process = Process()
        let port: Int
        var url: String { "http://127.0.0.1:\(port)" }

        init(_ daemon: LiveDaemon) throws {
            let errors = Pipe()
            process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerd")
            process.arguments = [
                "web", "--runtime", "\(daemon.folder)/\(daemon.runtime)", "--listen", "127.0.0.1:0",
            ]
            process.standardError = errors
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            let line = String(
                decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
            port = try #require(WebTests.port(in: line), "\(line)")
        }

        deinit { kill() }

        func kill() {
            guard process.isRunning else { return }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    /// The port of the first address in a text.
    private static func port(in text: String) -> Int? {
        guard let range = text.range(of: "http://127.0.0.1:") else { return nil }
        return Int(text[range.upperBound...].prefix { $0.isNumber })
    }

    private struct Answer {
        var status = 0
        var head = ""
        var body = ""

        /// The cookie that it gives, as it is sent back.
        var cookie: String? {
            head.split(separator: "\r\n").first { $0.hasPrefix("Set-Cookie: ") }
                .map { "Cookie: " + $0.dropFirst("Set-Cookie: ".count).prefix { $0 != ";" } }
        }
    }

    private func ask(
        _ web: Web, _ method: String, _ path: String, _ headers: [String] = [], _ body: String = ""
    ) throws -> Answer {
        let socket = try #require(LocalConnection.open(web.port))
        defer { close(socket) }
        var lines = [
            "\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(web.port)", "Connection: close",
        ]
        if method == "POST" { lines.append("Content-Length: \(body.utf8.count)") }
        let text = (lines + headers).joined(separator: "\r\n") + "\r\n\r\n" + body
        try #require(send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        let all = String(decoding: bytes, as: UTF8.self)
        let halves = all.components(separatedBy: "\r\n\r\n")
        return Answer(
            status: Int(all.split(separator: " ").dropFirst().first ?? "") ?? 0,
            head: halves[0], body: halves.dropFirst().joined(separator: "\r\n\r\n"))
    }

    private func command(_ web: Web, _ path: String, _ cookie: String) throws -> Answer {
        try ask(
            web, "POST", path,
            [
                cookie, "Origin: \(web.url)", "Sec-Fetch-Site: same-origin",
                "Content-Type: application/json",
            ], "{}")
    }

    /// Logs in with a link of timerctl.
    ///
    /// - Returns: the link, and the header with the cookie.
    private func logIn(_ daemon: LiveDaemon, _ web: Web) throws -> (path: String, cookie: String) {
        let (status, text) = try daemon.timerctl("web", "--url", web.url)
        #expect(status == 0 && text.hasPrefix("\(web.url)/login?token="))
        let path = String(text.dropFirst(web.url.count).prefix { $0 != "\n" })
        let answer = try ask(web, "GET", path)
        #expect(answer.status == 303)
        return (path, try #require(answer.cookie))
    }

    @Test func anAddressThatIsTakenIsNamed_withTheReason() throws {
        let daemon = try LiveDaemon(Self.jobs)
        let web = try Web(daemon)
        let address = "127.0.0.1:\(web.port)"
        let runtime = "\(daemon.folder)/\(daemon.runtime)"
        let second = try ProgramResult(
            of: "timerd", ["web", "--runtime", runtime, "--listen", address])
        #expect(second.status == 1)
        let place = "cannot serve the status page at \(address)"
        let advice = "choose another address with --listen"
        #expect(second.errors == "\(place): Address already in use; \(advice)\n")
    }

    private static let jobs = "[job.slow]\nevery = \"1h\"\nshell = \"true\"\n"

    @Test func aUserLogsInWithALink_looks_givesACommand_andLogsOut() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let web = try Web(daemon)
        #expect(try ask(web, "GET", "/").status == 200)
        #expect(try ask(web, "GET", "/v1/jobs").status == 401)
        let (path, cookie) = try logIn(daemon, web)
        #expect(try ask(web, "GET", path).status == 401, "a link is used once")
        let jobs = try ask(web, "GET", "/v1/jobs", [cookie])
        #expect(jobs.status == 200 && jobs.body.contains("\"slow\""))
        let session = try ask(web, "GET", "/v1/session", [cookie])
        #expect(session.status == 200 && session.body.contains("\"may_change\":true"))
        #expect(try ask(web, "POST", "/v1/jobs/slow/pause", [cookie]).status == 403)
        #expect(try daemon.show("slow").state == "armed")
        #expect(try command(web, "/v1/jobs/slow/pause", cookie).status == 200)
        #expect(try daemon.show("slow").state == "paused")
        #expect(try command(web, "/v1/jobs/none/pause", cookie).status == 404)
        #expect(try command(web, "/v1/session/logout", cookie).status == 200)
        #expect(try ask(web, "GET", "/v1/jobs", [cookie]).status == 401)
        // Who got a link, and that it was used once, is logged and among the events.
        let events = try daemon.timerctl("events", "-n", "100").text
        #expect(events.contains("requested a login link for the status page"))
        #expect(events.split(separator: "logged in to the status page").count == 2)
        #expect(daemon.stop() == 0)
    }

    @Test func aKilledWebServerCostsNoSession_andAStoppedDaemonCostsAll() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let first = try Web(daemon)
        let (_, cookie) = try logIn(daemon, first)
        let key = try #require(cookie.split(separator: "=").last)
        first.kill()
        let before = try daemon.show("slow")
        let web = try Web(daemon)
        // The next one is on another port here, and its cookie has another name.
        let renamed = "Cookie: timerd-session-\(web.port)=\(key)"
        #expect(try ask(web, "GET", "/v1/jobs", [renamed]).status == 200)
        let after = try daemon.show("slow")
        #expect(after.state == "armed" && after.elapsedUsec > before.elapsedUsec)

        // Each user, which is the same here, can end the own sessions.
        let (_, second) = try logIn(daemon, web)
        let revoked = try daemon.timerctl("web", "--revoke", "--json")
        #expect(revoked.status == 0 && revoked.text == "{\"changed\":true,\"sessions\":2}\n")
        #expect(try ask(web, "GET", "/v1/jobs", [renamed]).status == 401)
        #expect(try ask(web, "GET", "/v1/jobs", [second]).status == 401)

        let (_, third) = try logIn(daemon, web)
        #expect(daemon.stop() == 0)
        let away = try ask(web, "GET", "/v1/jobs", [third])
        #expect(away.status == 503 && away.body.contains("\"no-daemon\""))
        #expect(try ask(web, "GET", "/").status == 200)
        try daemon.start()
        let afterRestart = try ask(web, "GET", "/v1/jobs", [third])
        #expect(afterRestart.status == 401, "\(afterRestart)")
        let (_, last) = try logIn(daemon, web)
        #expect(try ask(web, "GET", "/v1/jobs", [last]).status == 200)
        #expect(daemon.stop() == 0)
    }

    /// What a stream of events sent until the text comes; empty if it does not.
    private func read(_ socket: Int32, until text: String) -> String {
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var all = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !all.contains(text) {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return "" }
            all += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return all
    }

    @Test func browsersFollowTheEvents_untilTheDaemonStops() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let web = try Web(daemon)
        #expect(try ask(web, "GET", "/v1/events").status == 401)
        let (_, cookie) = try logIn(daemon, web)
        var browsers: [Int32] = []
        defer { for browser in browsers { close(browser) } }
        for _ in 0..<12 {
            let socket = try #require(LocalConnection.open(web.port))
            browsers.append(socket)
            let text = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\(cookie)\r\n\r\n"
            try #require(
                send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count)
            let head = read(socket, until: "event: hello")
            #expect(head.contains("HTTP/1.1 200") && head.contains("Content-Security-Policy"))
        }
        #expect(try daemon.timerctl("pause", "slow").status == 0)
        for browser in browsers {
            #expect(read(browser, until: "\"paused\"").contains("event: events"))
        }
        #expect(daemon.stop() == 0)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        for browser in browsers {
            var count = 1
            while count > 0 { count = recv(browser, &buffer, buffer.count, 0) }
            #expect(count == 0, "the stream ends")
        }
    }

    /// What stands in a configuration counts from the reload on.
    @Test func anotherHostIsServedWhenItIsConfigured() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let web = try Web(daemon)
        func status() throws -> Int {
            let socket = try #require(LocalConnection.open(web.port))
            defer { close(socket) }
            let text = "GET / HTTP/1.1\r\nHost: jobs.example.org\r\n\r\n"
            _ = send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL))
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &buffer, buffer.count, 0)
            let answer = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
            return Int(answer.split(separator: " ").dropFirst().first ?? "") ?? 0
        }
        #expect(try status() == 421)
        try daemon.write("[web]\nhosts = [\"jobs.example.org\"]\n" + Self.jobs)
        #expect(try daemon.timerctl("reload").status == 0)
        #expect(try daemon.timerctl("web").text.hasPrefix("https://jobs.example.org/login?token="))
        #expect(try daemon.wait { try status() == 200 })
        #expect(daemon.stop() == 0)
    }

    /// As `make run` starts it.
    @Test func withItsParentItPrintsALink_andEndsWithIt() throws {
        let daemon = try LiveDaemon(Self.jobs)
        try daemon.start()
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c",
            "\"$0\" web --with-parent --runtime \"$1\" --listen 127.0.0.1:0 & exec sleep 1000",
            "\(LiveDaemon.programs)/timerd", "\(daemon.folder)/\(daemon.runtime)",
        ]
        process.standardError = errors
        try process.run()
        let line = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        #expect(line.contains("/login?token="))
        let port = try #require(Self.port(in: line))
        let before = LocalConnection.open(port)
        #expect(before != nil)
        if let before { close(before) }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(
            daemon.wait {
                guard let socket = LocalConnection.open(port) else { return true }
                close(socket)
                return false
            })
        #expect(daemon.stop() == 0)
    }
}
