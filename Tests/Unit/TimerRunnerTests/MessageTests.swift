// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore
import WebReceiver

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

let hasCurl = access("/usr/bin/curl", X_OK) == 0

/// Sending messages of notifiers.
@Suite struct MessageTests {
    static let secret = "T0S3cr3tZ/B1-tok3n"

    static func hook(_ receiver: WebReceiver, _ rest: String = "") -> Notifier.Address {
        .url("http://127.0.0.1:\(receiver.port)/hook/\(secret)\(rest)")
    }

    /// The proxy learns the host, and nothing of the rest of the address.
    @Test(.enabled(if: hasCurl))
    func aRequestGoesThroughTheProxyOfTheConfiguration_butNotToThisMachine() throws {
        let proxy = WebReceiver { _ in .status(403) }
        let receiver = WebReceiver()
        defer {
            proxy.stop()
            receiver.stop()
        }
        let fixture = try MessageFixture(
            [
                "far": .webhook(.url("https://hooks.invalid/\(Self.secret)"), .json),
                "near": .webhook(Self.hook(receiver), .json),
            ], proxy: "http://127.0.0.1:\(proxy.port)")
        let far = MessageResult(try #require(fixture.send("far")), isRequest: true)
        guard case .failed = far.verdict else { return #expect(far.verdict == .failed("")) }
        #expect(proxy.requests.map(\.line) == ["CONNECT hooks.invalid:443 HTTP/1.1"])
        #expect(!proxy.requests.contains { $0.header.joined().contains(Self.secret) })
        let near = MessageResult(try #require(fixture.send("near")), isRequest: true)
        #expect(near.verdict == .sent)
        #expect(proxy.requests.count == 1 && receiver.requests.count == 1)
    }

    @Test(.enabled(if: hasCurl))
    func aRequestReachesTheAddressOfTheConfiguration_withItsBody() throws {
        let receiver = WebReceiver()
        defer { receiver.stop() }
        let fixture = try MessageFixture([
            "ops": .webhook(Self.hook(receiver, "?a=1&status=up&b=2"), .ntfy),
            "ping": .ping(Self.hook(receiver, "/"), .healthchecks),
            "push": .ping(Self.hook(receiver, "/?a=1&status=up"), .kuma),
        ])
        // Everything that has a meaning in the configuration of curl, and bytes that are no text.
        let body = Array("\"\\ '@/etc/passwd\nurl = \"x\"\r\n%{url}".utf8) + [0, 255, 10]
        let end = fixture.send(
            "ops",
            MessageRequest.Request(
                headers: [
                    .init("Content-Type", "application/json"), .init("Title", "a \"b\" \\n"),
                ],
                body: body))
        #expect(end?.outcome == .exited(0))
        #expect(MessageResult(try #require(end), isRequest: true).verdict == .sent)
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: MessageRequest.bytesMax)
        #expect(
            fixture.send("ping", MessageRequest.Request(path: "/start", body: large))?.outcome
                == .exited(0))
        #expect(
            fixture.send(
                "push", MessageRequest.Request(method: "GET", query: "status=down&msg=a%20b"))?
                .outcome == .exited(0))
        let requests = receiver.requests
        try #require(requests.count == 3)
        #expect(
            requests[0].line
                == "POST /hook/\(Self.secret)?a=1&status=up&b=2 HTTP/1.1")
        #expect(requests[0].body == body)
        #expect(requests[0].header.contains("Title: a \"b\" \\n"))
        #expect(requests[0].header.filter { $0.hasPrefix("Content-Type:") }.count == 1)
        #expect(requests[1].line == "POST /hook/\(Self.secret)/start HTTP/1.1")
        #expect(requests[1].body == large)
        #expect(
            requests[2].line == "GET /hook/\(Self.secret)/?a=1&status=down&msg=a%20b HTTP/1.1")
    }

    /// What anybody on the machine, or the scheduler, can see of a message.
    @Test(.enabled(if: hasCurl)) func theAddressIsSeenNowhere() throws {
        let mayAnswer = DispatchSemaphore(value: 0)
        let receiver = WebReceiver { request in
            mayAnswer.wait()
            let path = request.line.split(separator: " ")[1]
            return .status(500, "cannot POST \(path) (\(path.uppercased()))")
        }
        defer { receiver.stop() }
        let fixture = try MessageFixture([
            "ops": .webhook(Self.hook(receiver, "?key=K3ySecret"), .json)
        ])
        let request = fixture.request(
            "ops", .request(MessageRequest.Request(body: Array("body".utf8))))
        fixture.client.send(request)
        #expect(receiver.wait { !$0.isEmpty })
        var programs = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc")
        where Int32(name) != nil {
            let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
            let variables = FileManager.default.contents(atPath: "/proc/\(name)/environ") ?? Data()
            let text = String(decoding: line + variables, as: UTF8.self)
            if text.hasPrefix("curl\0") {
                programs += 1
                #expect(!text.contains("S3cr3t") && !text.contains("K3ySecret"))
            }
        }
        #expect(programs > 0)
        mayAnswer.signal()
        let end = try #require(fixture.end(of: request.run))
        let told = String(decoding: end.tail, as: UTF8.self)
        #expect(told.contains("cannot POST") && told.contains("[removed]"), "\(told)")
        for part in ["s3cr3t", "k3ysecret", "tok3n", "/hook"] {
            #expect(!told.lowercased().contains(part), "\(told)")
        }
        let result = MessageResult(end, isRequest: true)
        #expect(result.status == 500)
        guard case .failed(let why) = result.verdict else { return #expect(Bool(false)) }
        #expect(why.hasPrefix("HTTP status 500: cannot POST"))
        let registry = FileManager.default.contents(
            atPath: "\(fixture.server.folder)/registry/registry")
        #expect(registry?.firstRange(of: Data("S3cr3t".utf8)) == nil)
        // Lines of output are never sent to the scheduler, which would log them.
        #expect(!fixture.events.events.contains { if case .output = $0 { true } else { false } })
    }

    @Test func aMailGoesToTheRecipientsOfTheConfiguration() throws {
        let folder = "/tmp/timerd-mail-\(UUID().uuidString)"
        mkdir(folder, 0o755)
        chmod(folder, 0o777)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let program = "\(folder)/sendmail"
        let script = """
            #!/bin/sh
            printf '%s,' "$@" >\(folder)/arguments
            cat >\(folder)/mail
            env >\(folder)/environment
            id -un >\(folder)/user
            echo queued
            exit 75

            """
        #expect(FileManager.default.createFile(atPath: program, contents: Data(script.utf8)))
        chmod(program, 0o755)
        let fixture = try MessageFixture(
            ["ops": .mail(to: ["root", "a@b.org"], from: "t@b.org", contentType: nil)],
            sendmail: program
        ) { $0.messageUser = geteuid() == 0 ? "nobody" : nil }
        let mail = Array("To: other@example.org\nSubject: x\n\n.\nÄ\n".utf8)
        let end = try #require(fixture.send(fixture.request("ops", .mail(mail))))
        #expect(end.outcome == .exited(75))
        #expect(
            MessageResult(end, isRequest: false).verdict
                == .failed("sendmail ended with exit code 75: queued"))
        func read(_ name: String) -> String {
            String(
                decoding: FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data(),
                as: UTF8.self)
        }
        #expect(read("arguments") == "-i,-f,t@b.org,--,root,a@b.org,")
        #expect(read("mail") == String(decoding: mail, as: UTF8.self))
        #expect(!read("environment").contains("TIMERD"))
        if geteuid() == 0 { #expect(read("user") == "nobody\n") }
    }

    @Test(.enabled(if: hasCurl))
    func aReceiverThatDoesNotAnswerTakesNoPlaceOfAJob_norOfMoreThanFourMessages() throws {
        let receiver = WebReceiver { _ in .silence }
        defer { receiver.stop() }
        let job = Job(
            name: Job.Name("probe")!, command: .shell("exit 3"), schedule: .every(.seconds(1)))
        let hook = Self.hook(receiver)
        let name = Notifier.Name("ops")!
        var rules = RunnerServer.RunRules()
        rules.activeMax = 1
        rules.notifiers[name] = Notifier(name: name, transport: .webhook(hook, .json))
        let fixed = rules
        let fixture = try MessageFixture([:]) { $0.didApply = { fixed } }
        fixture.server.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let requests = (0..<6).map { _ in fixture.request("ops", .request(MessageRequest.Request()))
        }
        for request in requests { fixture.client.send(request) }
        #expect(receiver.wait { $0.count == StartQueue.activeMessagesMax })
        var runs: [Run] = []
        for number in 0..<20 {
            let scheduled = WallInstant(
                microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
            let firing = Firing(
                id: Firing.ID(job: job.name, scheduled: scheduled), missed: 0, active: .zero)
            runs.append(Run(firing: firing, job: job))
        }
        fixture.client.start(runs)
        for run in runs {
            guard case .ended(_, let end) = fixture.events.end(of: run) else { continue }
            #expect(end.outcome == .exited(3))
        }
        // The limit is of requests that wait, too: no further one has come.
        #expect(receiver.requests.count == StartQueue.activeMessagesMax)
        // A message that waits can be cancelled, and one that is being sent be ended.
        for request in requests.reversed() { fixture.client.end(request.run, grace: .zero) }
        for request in requests { #expect(fixture.end(of: request.run)?.outcome == .stopped) }
    }

    @Test(.enabled(if: hasCurl)) func anAttemptThatIsRequestedAgainIsNotMadeAgain() throws {
        let receiver = WebReceiver()
        defer { receiver.stop() }
        let fixture = try MessageFixture(["ops": .webhook(Self.hook(receiver), .json)])
        var request = fixture.request("ops", .request(MessageRequest.Request()))
        #expect(fixture.send(request)?.outcome == .exited(0))
        fixture.client.close()
        // The next scheduler does not know what became of it.
        let events = ReceivedEvents()
        let client = try RunnerClient(timeout: .seconds(30)) { [server = fixture.server] in
            let socket = server.connect()
            return socket >= 0 ? .success(socket) : .failure(.init("no process listens"))
        }
        #expect(client.holdings.map(\.run) == [request.run])
        client.begin(adopting: []) { events.take($0, $1) }
        client.send(request)
        events.wait { $0.contains { if case .ended(request.run, _) = $0 { true } else { false } } }
        #expect(receiver.requests.count == 1)
        request.run.attempt = 2
        client.send(request)
        events.wait { $0.contains { if case .ended(request.run, _) = $0 { true } else { false } } }
        #expect(receiver.requests.count == 2)
        client.close()
    }

    @Test(.enabled(if: hasCurl)) func anAddressIsReadFromTheCredentialsOfTheRunner() throws {
        let receiver = WebReceiver()
        defer { receiver.stop() }
        let folder = "/tmp/timerd-secrets-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func put(_ name: String, _ text: String, mode: mode_t = 0o400) {
            _ = FileManager.default.createFile(
                atPath: "\(folder)/\(name)", contents: Data(text.utf8))
            chmod("\(folder)/\(name)", mode)
        }
        put("good", " http://127.0.0.1:\(receiver.port)/\(Self.secret)\r\n")
        put("open", "http://127.0.0.1:\(receiver.port)/\(Self.secret)", mode: 0o666)
        put("two", "http://127.0.0.1/\(Self.secret)\nheader = \"x\"")
        put("plain", "http://example.org/\(Self.secret)")
        put("huge", String(repeating: "x", count: 10_000))
        symlink("good", "\(folder)/link")
        let names = ["good", "open", "two", "plain", "huge", "link", "none"]
        let fixture = try MessageFixture(
            Dictionary(
                uniqueKeysWithValues: names.map { ($0, .webhook(.credential($0), .slack)) })
        ) { $0.messageCredentials = folder }
        #expect(fixture.send("good")?.outcome == .exited(0))
        #expect(receiver.requests.map(\.line) == ["POST /\(Self.secret) HTTP/1.1"])
        let faults = [
            ("open", "EPERM", "which others may write to"),
            ("two", "EINVAL", "has a character that a URL cannot have"),
            ("plain", "EINVAL", "is not encrypted"), ("huge", "EFBIG", "more than 8192 bytes"),
            ("link", "ELOOP", "symbolic link"), ("none", "ENOENT", "LoadCredential="),
        ]
        for (name, code, what) in faults {
            guard case .spawnFailed(let errno, let text) = fixture.send(name)?.outcome else {
                Issue.record("\(name) was sent")
                continue
            }
            #expect(errno == code && text.contains(what), "\(name): \(errno) \(text)")
            #expect(!text.contains(Self.secret))
        }
        #expect(receiver.requests.count == 1)
    }
}
