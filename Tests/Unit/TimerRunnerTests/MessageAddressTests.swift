// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore
import WebReceiver

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// What a scheduler that an attacker has taken over can do with the address of a notifier.
@Suite struct MessageAddressTests {
    private typealias Request = MessageRequest.Request

    /// What curl(1) is told to do with a request of the scheduler; nil if the runner refuses the request.
    private func url(
        _ transport: (Notifier.Address) -> Notifier.Transport, _ address: String, _ request: Request
    ) -> String? {
        let notifier = Notifier(
            name: Notifier.Name("ops")!, transport: transport(.url(address)))
        let request = MessageRequest(
            run: MessageRequest.run(created: WallInstant(secondsSinceEpoch: 0), attempt: 1),
            notifier: notifier.name, content: .request(request))
        guard let command = try? MessageCommand(request, for: notifier, credential: nil) else {
            return nil
        }
        let line = command.input.split(separator: "\n").first { $0.hasPrefix("url = ") }
        return line.map { String($0.dropFirst("url = \"".count).dropLast()) }
    }

    @Test(arguments: [Notifier.WebhookFormat.json, .slack, .discord, .ntfy])
    func aWebhookGetsExactlyItsAddress(format: Notifier.WebhookFormat) {
        let bot = "https://api.telegram.example/bot1:T0KEN/sendMessage?chat_id=7&a=b"
        func url(_ request: Request) -> String? {
            self.url({ .webhook($0, format) }, bot, request)
        }
        #expect(url(Request()) == bot)
        for query in ["chat_id=666", "chat%5Fid=666", "x=1", "chat_id", "&"] {
            #expect(url(Request(query: query)) == nil, "\(query)")
        }
        for path in ["/666", "/", "/start"] {
            #expect(url(Request(path: path)) == nil, "\(path)")
        }
        #expect(url(Request(method: "GET")) == nil)
    }

    @Test(arguments: [
        ("/start", "rid=a-1", true), ("/0", "rid=a-1", true), ("/255", "", true), ("", "", true),
        ("/fail", "", true), ("/log", "", true), ("/256", "", false), ("/007", "", false),
        ("/other-uuid", "", false), ("/start/fail", "", false), ("/", "", false),
        ("/start", "rid=a&rid=b", false), ("/start", "create=1", false),
        ("/start", "rid=1&create=1", false), ("/start", "rid", false),
    ])
    func healthchecksGetsItsSuffixesAlone(path: String, query: String, isSent: Bool) {
        let sent = url(
            { .ping($0, .healthchecks) }, "https://hc.example/uuid?create=0",
            Request(path: path, query: query))
        let expected = "https://hc.example/uuid\(path)?create=0\(query.isEmpty ? "" : "&\(query)")"
        #expect(sent == (isSent ? expected : nil), "\(path) \(query)")
    }

    @Test func whatTheConfigurationSaysWins() {
        func cronitor(_ address: String, _ query: String) -> String? {
            url({ .ping($0, .cronitor) }, address, Request(method: "GET", query: query))
        }
        let base = "https://cronitor.example/p/KEY/job"
        #expect(
            cronitor("\(base)?host=web1&env=prod", "state=run&host=evil&series=s")
                == "\(base)?host=web1&env=prod&state=run&series=s")
        #expect(cronitor("\(base)?h%6Fst=web1", "host=evil") == "\(base)?h%6Fst=web1")
        #expect(cronitor(base, "env=prod") == nil && cronitor(base, "auth_key=x") == nil)
        // Kuma shows each address with an example of the three parameters that a ping has.
        func kuma(_ address: String, _ query: String) -> String? {
            url({ .ping($0, .kuma) }, address, Request(method: "GET", query: query))
        }
        let push = "https://kuma.example/api/push/T0KEN"
        #expect(
            kuma("\(push)?status=up&msg=OK&ping=&x=1", "status=down&msg=a&ping=7")
                == "\(push)?x=1&status=down&msg=a&ping=7")
        #expect(kuma(push, "x=1") == nil)
        #expect(url({ .ping($0, .kuma) }, push, Request(path: "/x")) == nil)
    }

    /// A receiver, or a proxy before it, may answer with the header of the request.
    @Test(arguments: ["https://me:p%40ss:w%20rd@h.org/x", "https://t0ken@h.org/x"])
    func theCredentialsOfAnAddressAreRemoved_alsoInBase64(address: String) throws {
        let redaction = Redaction(try MessageAddress(address).secrets)
        let decoded = address.contains("me:") ? "me:p@ss:w rd" : "t0ken:"
        let codes = [decoded, decoded + "?>"].map { Data($0.utf8).base64EncodedString() }
        let code = codes[0]
        let web = code.replacingOccurrences(of: "+", with: "-").replacingOccurrences(
            of: "/", with: "_")
        let bare = String(code.prefix { $0 != "=" })
        for text in [code, web, bare, decoded] {
            let output = Array("Authorization: Basic \(text)\n".utf8)
            let clean = String(
                decoding: redaction.apply(to: output, isCut: false), as: UTF8.self)
            #expect(!clean.contains(bare) && !clean.contains("p@ss") && !clean.contains("t0ken"))
            #expect(clean.hasPrefix("Authorization: Basic [removed]"), "\(clean)")
        }
    }

    @Test(.enabled(if: hasCurl)) func anEchoOfTheHeaderShowsNoCredentials() throws {
        let receiver = WebReceiver { request in
            .status(401, request.header.joined(separator: "\n"))
        }
        defer { receiver.stop() }
        let fixture = try MessageFixture([
            "ops": .webhook(
                .url("http://monitor:S3cr3tW0rd@127.0.0.1:\(receiver.port)/hook"), .json)
        ])
        let end = try #require(fixture.send("ops"))
        let told = String(decoding: end.tail, as: UTF8.self)
        let code = Data("monitor:S3cr3tW0rd".utf8).base64EncodedString()
        #expect(receiver.requests.first?.header.contains("Authorization: Basic \(code)") == true)
        #expect(told.contains("Authorization: Basic [removed]") && !told.contains(code), "\(told)")
    }

    private static func answer(
        _ status: String, _ header: String, _ body: String
    ) -> WebReceiver.Answer {
        let head = "HTTP/1.1 \(status)\r\n\(header)\r\nContent-Length: \(body.utf8.count)\r\n"
        return .bytes(Array("\(head)Connection: close\r\n\r\n\(body)".utf8))
    }

    /// Of a redirection, the new address is shown, and nothing is sent there.
    @Test(.enabled(if: hasCurl)) func aRedirectionIsShownWithoutSecrets() throws {
        let other = WebReceiver()
        let place = "http://127.0.0.1:\(other.port)/new/\(MessageTests.secret)?token=N3W"
        let receiver = WebReceiver { _ in
            Self.answer("308 Moved", "Location: \(place)", "moved")
        }
        defer {
            receiver.stop()
            other.stop()
        }
        let fixture = try MessageFixture(["ops": .webhook(MessageTests.hook(receiver), .json)])
        let end = try #require(fixture.send("ops"))
        let result = MessageResult(end, isRequest: true)
        guard case .refused(let why) = result.verdict else {
            Issue.record("\(result.verdict)")
            return
        }
        #expect(why.contains("has moved to http://127.0.0.1:\(other.port)/new/[removed]"), "\(why)")
        #expect(!why.contains("N3W") && !why.contains("S3cr3t"))
        #expect(other.requests.isEmpty && receiver.requests.count == 1)
    }

    @Test(.enabled(if: hasCurl)) func theTimeToComeAgainIsReadFromTheHeader() throws {
        let receiver = WebReceiver { _ in
            Self.answer("429 Too Many", "retry-after: 77", "Retry-After: 5")
        }
        defer { receiver.stop() }
        let fixture = try MessageFixture(["ops": .webhook(MessageTests.hook(receiver), .json)])
        let result = MessageResult(try #require(fixture.send("ops")), isRequest: true)
        #expect(result.verdict == .failed("HTTP status 429: Retry-After: 5"))
        #expect(result.retryAfter == .seconds(77))
    }
}
