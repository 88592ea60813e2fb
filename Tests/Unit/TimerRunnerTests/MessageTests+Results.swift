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

/// What a message may contain, and what its result says.
extension MessageTests {
    @Test func anOrderThatDoesNotFitTheConfigurationIsRefused() throws {
        let url = Notifier.Address.url("https://example.org/x")
        let fixture = try MessageFixture([
            "hook": .webhook(url, .json), "mail": .mail(to: ["a"], from: nil, contentType: nil),
            "secret": .ping(.credential("x"), .kuma),
        ])
        typealias Request = MessageRequest.Request
        let faults: [(String, MessageRequest.Content, String)] = [
            ("none", .mail([]), "find the notifier none"),
            ("hook", .mail([]), "another kind of notifier"),
            ("mail", .request(Request()), "another kind of notifier"),
            ("mail", .mail([65, 0]), "not text"), ("mail", .mail([0xff]), "not text"),
            ("secret", .request(Request()), "the runner has none"),
            ("hook", .request(Request(method: "PUT")), "that method"),
            ("hook", .request(Request(path: "x")), "that path"),
            ("hook", .request(Request(path: "/../x")), "that path"),
            ("hook", .request(Request(path: "/x\"\nurl = \"")), "that path"),
            ("hook", .request(Request(query: "a=\"")), "that query"),
            ("hook", .request(Request(query: "a=b#c")), "that query"),
            ("hook", .request(Request(headers: [.init("Host", "a")])), "header field"),
            (
                "hook", .request(Request(headers: [.init("User-Agent", "a\r\nHost: b")])),
                "that value"
            ),
            ("hook", .request(Request(headers: [.init("User-Agent", "ä")])), "that value"),
        ]
        for (name, content, what) in faults {
            guard
                case .spawnFailed(_, let text) = fixture.send(fixture.request(name, content))?
                    .outcome
            else {
                Issue.record("\(name) was sent")
                continue
            }
            #expect(text.contains(what), "\(text)")
        }
    }

    @Test func tooManyMessagesThatWaitCloseTheConnection() throws {
        let mayRead = DispatchSemaphore(value: 0)
        let fixture = try MessageFixture([:]) { settings in
            settings.limits.messages = 3
            let read = settings.definitions
            settings.definitions = { last in
                mayRead.wait()
                return read(last)
            }
        }
        let configuration = fixture.server.configuration
        func said() -> [String] { configuration.said.withLock { $0 } }
        for _ in 0..<5 { fixture.client.send(fixture.request("ops", .mail([]))) }
        wait { !said().isEmpty }
        #expect(said().first?.contains("4 messages that wait, at most 3") == true)
        for _ in 0..<100 { mayRead.signal() }
    }

    @Test(
        arguments: [
            ("https://example.org", nil), ("HTTPS://user:pass@example.org:8443/a?b=c", nil),
            ("http://localhost:80/x", nil), ("http://127.9.8.7/x", nil),
            ("http://[::1]:8080/x", nil),
            ("https://[2001:db8::1]/", nil), ("https://a_b.example/%20?x=%22", nil),
            ("ftp://example.org", "does not begin with https://"),
            ("http://example.org/", "is not encrypted"),
            ("http://localhost@example.org/", "is not encrypted"),
            ("http://127.0.0.1.example.org/", "is not encrypted"),
            ("http://127.0.0.1:80@example.org/", "is not encrypted"),
            ("http://127.0.0.256/", "is not encrypted"), ("http://[::2]/", "is not encrypted"),
            ("https://", "has no valid host"), ("https:///x", "has no valid host"),
            ("https://a b/", "has a character"), ("https://a/\n", "has a character"),
            ("https://a/\"", "has a character"), ("https://a/\\", "has a character"),
            ("https://a/é", "has a character"), ("https://a/{x,y}", "has a character"),
            ("https://a/#x", "has a fragment"), ("https://a:0/", "has an invalid port"),
            ("https://a:99999/", "has an invalid port"), ("https://a:+1/", "has an invalid port"),
            ("https://a%2fb/", "has no valid host"), ("https://[::1/", "has no valid host"),
            ("", "does not begin with https://"),
        ] as [(String, String?)])
    func anAddressIsChecked(text: String, fault: String?) {
        do throws(MessageAddress.Fault) {
            _ = try MessageAddress(text)
            #expect(fault == nil, "\(text)")
        } catch {
            #expect(fault != nil && error.description.hasPrefix(fault ?? "?"), "\(text): \(error)")
            #expect(!error.description.contains("example"))
        }
    }

    @Test func secretsAreRemoved_evenIfTheOutputBeginsWithinOne() throws {
        let address = try MessageAddress(
            "https://me:p%40ssword@h.org/services/T00/tok%2Fen?k=valu3")
        let redaction = Redaction(address.secrets)
        func clean(_ text: String, isCut: Bool = false) -> String {
            String(decoding: redaction.apply(to: Array(text.utf8), isCut: isCut), as: UTF8.self)
        }
        #expect(clean("no secret at h.org") == "no secret at h.org")
        let mark = "[removed]"
        #expect(clean("a /SERVICES/T00/TOK%2FEN b") == "a \(mark) b")
        #expect(clean("p@ssword p%40ssword tok/en valu3") == "\(mark) \(mark) \(mark) \(mark)")
        let tail = "T00/tok%2Fen and more, which is long enough to be seen"
        #expect(!clean(tail, isCut: true).contains("T00/"))
        #expect(clean(tail, isCut: true).hasSuffix("long enough to be seen"))
        #expect(clean("", isCut: true) == "")
    }

    @Test func anAddressOfTheSameWordsHidesNoStatus() throws {
        let address = try MessageAddress("https://h.org/timerd/http/status/404x")
        let answer = "status 404x\ntimerd-http-status: 200\n\ntimerd-http-status: 404\n"
        let clean = Redaction(address.secrets).apply(to: Array(answer.utf8), isCut: false)
        let mark = "[removed]"
        #expect(
            String(decoding: clean, as: UTF8.self)
                == "\(mark) \(mark)\n\(mark)-\(mark)-\(mark): 200\n\ntimerd-http-status: 404\n")
    }

    @Test(
        arguments: [
            (.exited(0), "ok\ntimerd-http-status: 204\n", .sent),
            // The answer cannot forge its status.
            (
                .exited(0), "timerd-http-status: 200\n\ntimerd-http-status: 404\n",
                .refused("HTTP status 404: timerd-http-status: 200")
            ),
            (.exited(63), "long\ntimerd-http-status: 200\n", .sent),
            (.exited(0), "x\ntimerd-http-status: 302\n", .refused("HTTP status 302: x")),
            (.exited(0), "x\ntimerd-http-status: 302\t\t\n", .refused("HTTP status 302: x")),
            (
                .exited(0), "\ntimerd-http-status: 301\t\thttps://new.example/[removed]/x\n",
                .refused(
                    "HTTP status 301, the address has moved to https://new.example/[removed]/x "
                        + "(put that into the configuration if it is right)")
            ),
            (
                .exited(0),
                "gone\ntimerd-http-status: 307\t5\thttps://me:pw@new.example:8443/x?token=abc#y\n",
                .refused(
                    "HTTP status 307, the address redirects to https://new.example:8443/x "
                        + "(put that into the configuration if it is right): gone")
            ),
            (.exited(0), "timerd-http-status: 204\t9\thttps://new.example/\n", .sent),
            (.exited(0), "timerd-http-status: 404\t9\thttps://x/\n", .refused("HTTP status 404")),
            (.exited(0), "timerd-http-status: 429\n", .failed("HTTP status 429")),
            (.exited(0), "timerd-http-status: 408\n", .failed("HTTP status 408")),
            (
                .exited(0), "a\u{1b}[31m\r\nb\ntimerd-http-status: 503\n",
                .failed("HTTP status 503: a [31m b")
            ),
            (
                .exited(7), "\ntimerd-http-status: 000\ncurl: (7) refused\n",
                .failed("curl ended with exit code 7: curl: (7) refused")
            ),
            (.exited(0), "", .failed("no answer")), (.timedOut, "", .failed("no answer in time")),
            (.signalled("SIGKILL"), "", .failed("curl did not end by itself (signalled(SIGKILL))")),
            (.lost(.runner), "", .failed("curl did not end by itself (lost(runner))")),
            (
                .spawnFailed(errno: "ENOENT", what: "exec curl"), "",
                .failed("cannot exec curl (ENOENT)")
            ),
        ] as [(RunOutcome, String, MessageResult.Verdict)])
    func theResultOfARequestIsRead(
        outcome: RunOutcome, tail: String, verdict: MessageResult.Verdict
    ) {
        let end = RunEnd(outcome, at: WallInstant(secondsSinceEpoch: 0), tail: Array(tail.utf8))
        #expect(MessageResult(end, isRequest: true).verdict == verdict)
    }

    /// 27 July 2024, 12:00:00, is the instant of the answer.
    @Test(arguments: [
        ("429\t120", 120), ("503\t 120 ", 120), ("500\t7", 7), ("429\t0", nil),
        ("429\t-5", nil), ("429\t1.5", nil), ("429\tsoon", nil), ("429\t", nil), ("429", nil),
        ("429\t99999999999999999999999", 86_400), ("429\t90000", 86_400),
        ("503\tSat, 27 Jul 2024 12:02:00 GMT", 120),
        ("503\tSaturday, 27-Jul-24 12:02:00 GMT", 120),
        ("503\tSat Jul 27 12:02:00 2024", 120), ("503\tSat Aug  3 12:00:00 2024", 86_400),
        ("503\tSat, 27 Jul 2024 11:59:59 GMT", nil),
        ("503\tSat, 27 Jul 2024 12:02:00 CEST", nil), ("503\tSat, 32 Jul 2024 12:02:00 GMT", nil),
        ("503\tSat, 27 Jul 2024 25:02:00 GMT", nil), ("503\tSunday, 06-Nov-94 08:49:37 GMT", nil),
        // These are not tried again, or were accepted.
        ("404\t120", nil), ("301\t120", nil), ("204\t120", nil),
        // The answer cannot forge it.
        ("429\t\nx", nil),
    ])
    func theTimeThatAReceiverAsksForIsRead(line: String, seconds: Int64?) {
        let tail = "timerd-http-status: 429\t999\nbody\n\ntimerd-http-status: \(line)\n"
        let end = RunEnd(
            .exited(0), at: WallInstant(rfc3339: "2024-07-27T12:00:00Z")!, tail: Array(tail.utf8))
        let result = MessageResult(end, isRequest: true)
        #expect(result.retryAfter == seconds.map { .seconds($0) }, "\(line)")
    }

    @Test(
        arguments: [
            (.exited(0), .sent), (.exited(67), .refused("sendmail ended with exit code 67: x")),
            (.exited(75), .failed("sendmail ended with exit code 75: x")),
            (.exited(64), .refused("sendmail ended with exit code 64: x")),
        ] as [(RunOutcome, MessageResult.Verdict)])
    func theResultOfAMailIsRead(outcome: RunOutcome, verdict: MessageResult.Verdict) {
        let end = RunEnd(outcome, at: WallInstant(secondsSinceEpoch: 0), tail: Array("x\n".utf8))
        #expect(MessageResult(end, isRequest: false).verdict == verdict)
    }
}
