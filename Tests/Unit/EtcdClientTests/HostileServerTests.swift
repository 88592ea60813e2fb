// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

/// A server that answers wrongly must not do more than fail: no endless memory, no endless wait, and
/// never a transaction that is sent twice.
@Suite struct HostileServerTests {
    private func expect(
        _ word: String, _ code: EtcdError.Code?, requests: Int = 1,
        timeout: Duration = .seconds(60),
        _ change: (inout EtcdOptions) -> Void = { _ in },
        when answer: @escaping @Sendable (FakeEtcd.Request) -> [FakeEtcd.Step],
        place: SourceLocation = #_sourceLocation
    ) throws {
        let server = FakeEtcd(answer)
        defer { server.stop() }
        let client = try Fixtures.client(server, timeout: timeout, change)
        let outcome = client.execute(Fixtures.transaction).summary
        #expect(outcome.word == word, "\(outcome)", sourceLocation: place)
        #expect(outcome.error?.code == code, "\(outcome)", sourceLocation: place)
        #expect(server.requests.count == requests, sourceLocation: place)
        if let error = outcome.error {
            #expect(
                error.description.hasPrefix(server.url + ": "), "\(error)", sourceLocation: place)
        }
    }

    @Test func aTransactionIsAnswered() throws {
        try expect("answered", nil) { _ in [.json(Fixtures.applied)] }
    }

    /// An answer that ends after any of its bytes, with the connection.
    @Test func halfAnAnswerIsAnUnknownOutcome() throws {
        let whole = Array(FakeEtcd.text(Fixtures.applied).utf8)
        let server = FakeEtcd { request in
            [.send(Array(whole[..<min(request.number, whole.count)])), .close]
        }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        for count in whole.indices {
            let outcome = client.execute(Fixtures.transaction).summary
            #expect(outcome.word == "unknown", "\(count) bytes: \(outcome)")
            #expect(server.requests.count == count + 1)
        }
        #expect(client.execute(Fixtures.transaction).answer?.branches == [.applied])
    }

    /// The same in chunks, whose end is another sign.
    @Test func aStreamThatIsCutOffIsAnUnknownOutcome() throws {
        let body = Fixtures.applied
        let whole = Array(
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n").utf8)
        let server = FakeEtcd { request in
            [.send(Array(whole[..<min(request.number, whole.count)])), .close]
        }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        // With the end of the last chunk, the body is complete.
        let end = whole.count - "0\r\n\r\n".utf8.count
        for count in 0...end {
            let outcome = client.execute(Fixtures.transaction).summary
            #expect(outcome.word == "unknown", "\(count) bytes: \(outcome)")
        }
        while server.requests.count < whole.count { _ = client.execute(Fixtures.transaction) }
        #expect(client.execute(Fixtures.transaction).answer?.branches == [.applied])
    }

    @Test(arguments: [
        "", "nope", "[]", "1", #""text""#, "{", #"{"a":null}"#, #"{"a":1.5}"#, "\u{0}",
        String(repeating: "[", count: 100_000), #"{"header":1}"#,
    ])
    func anythingElseThanAnObjectIsRefused(body: String) throws {
        let code: EtcdError.Code = body.hasPrefix(#"{""#) ? .notEtcd : .notJSON
        try expect("unknown", code) { _ in [.json(body)] }
    }

    @Test(arguments: [
        "{}", #"{"succeeded":true}"#, #"{"header":{},"succeeded":true}"#,
        #"{"header":{"cluster_id":"-1"},"succeeded":true}"#,
        #"{\#(FakeEtcd.header),"succeeded":"true"}"#, #"{\#(FakeEtcd.header),"succeeded":true}"#,
        #"{\#(FakeEtcd.header),"succeeded":true,"responses":[{}]}"#,
        #"{\#(FakeEtcd.header),"succeeded":true,"responses":[{"response_txn":{}}]}"#,
        #"{\#(FakeEtcd.header),"succeeded":true,"responses":[{"response_txn":{"succeeded":true}}]}"#,
        #"{\#(FakeEtcd.header),"succeeded":true,"responses":[{"response_txn":{"succeeded":true,"responses":[{"response_range":{}}]}}]}"#,
        // The value of another key.
        #"{\#(FakeEtcd.header),"succeeded":true,"responses":[{"response_txn":{"responses":[{"response_range":{"kvs":[{"key":"YQ==","mod_revision":"3","create_revision":"3","value":"YQ=="}]}}]}}]}"#,
        #"{\#(FakeEtcd.header),"succeeded":true,"responses":[{"response_txn":{"responses":[{"response_range":{"kvs":[{"key":"?"}]}}]}}]}"#,
        #"{\#(FakeEtcd.header),"responses":[{"response_range":{}}]}"#,
    ])
    func anAnswerThatDoesNotFitTheTransactionIsRefused(body: String) throws {
        try expect("unknown", .notEtcd) { _ in [.json(body)] }
    }

    // MARK: - Too much

    @Test func anEndlessBodyIsCutOff() throws {
        let much = [UInt8](repeating: UInt8(ascii: " "), count: 65_536)
        let limit = { (options: inout EtcdOptions) in options.replyBytesMax = 1 << 20 }
        try expect("unknown", .replyTooLarge, limit) { _ in
            [.text("HTTP/1.1 200 OK\r\n\r\n"), .flood(much)]
        }
        try expect("unknown", .replyTooLarge, limit) { _ in
            [.text("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), .flood(much)]
        }
        try expect("unknown", .replyTooLarge, limit) { _ in
            [.chunked, .flood(Array("10\r\n0123456789abcdef\r\n".utf8))]
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n", "X: 0123456789\r\n"), ("", "HTTP/1.1 100 Continue\r\n\r\n"),
        ("", "HTTP/1.1 103 Early Hints\r\n\r\n"),
    ])
    func anEndlessHeaderIsCutOff(start: String, line: String) throws {
        try expect("unknown", .replyTooLarge) { _ in [.text(start), .flood(Array(line.utf8))] }
    }

    @Test func anEndlessTrailerIsCutOff() throws {
        try expect("unknown", .replyTooLarge) { _ in
            [.chunked, .chunk(Fixtures.applied), .text("0\r\n"), .flood(Array("X: y\r\n".utf8))]
        }
    }

    // MARK: - Too slow

    @Test func aSilentServerIsLeftAfterTheTimeout() throws {
        try expect("unknown", .timeout, timeout: .milliseconds(300)) { _ in [.wait] }
        try expect("unknown", .timeout, timeout: .milliseconds(300)) { _ in
            [.text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"), .wait]
        }
    }

    // MARK: - Other answers

    @Test(arguments: [
        "\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{28}", "SSH-2.0-OpenSSH_9.2\r\n", "200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        "HTTP/2 200\r\n\r\n", "\r\n\r\n", "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ])
    func whatIsNoHTTPIsAnUnknownOutcome(text: String) throws {
        let server = FakeEtcd { _ in [.text(text), .close] }
        defer { server.stop() }
        let outcome = try Fixtures.client(server).execute(Fixtures.transaction).summary
        #expect(outcome.word == "unknown", "\(outcome)")
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectIsNotFollowed(status: Int) throws {
        let other = FakeEtcd { _ in [.json(Fixtures.applied)] }
        defer { other.stop() }
        try expect("unknown", .redirected) { [url = other.url] _ in
            [.json("", status: status, header: ["Location: \(url)/v3/kv/txn"])]
        }
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: [
        ("etcdserver: mvcc: database space exceeded", 8, 429, "unknown", EtcdError.Code.full),
        ("etcdserver: requested lease not found", 5, 404, "rejected", .leaseNotFound),
        ("etcdserver: duplicate key given in txn request", 3, 400, "rejected", .requestRefused),
        ("etcdserver: permission denied", 7, 403, "rejected", .notPermitted),
        ("etcdserver: user name is empty", 3, 400, "rejected", .userMissing),
        ("etcdserver: invalid auth token", 16, 401, "rejected", .tokenExpired),
        ("etcdserver: no leader", 14, 503, "rejected", .noLeader),
        ("etcdserver: leader changed", 14, 503, "unknown", .noLeader),
        ("etcdserver: request timed out", 14, 503, "unknown", .noLeader),
        (
            "etcdserver: request timed out, possibly due to connection lost", 14, 503, "unknown",
            .noLeader
        ),
        ("etcdserver: too many requests", 8, 429, "rejected", .busy),
        ("etcdserver: corrupt cluster", 15, 500, "unknown", .corrupt),
        ("etcdserver: something new", 14, 503, "unknown", .unavailable),
        ("transport is closing", 14, 503, "unknown", .unavailable),
        ("Not Found", 5, 404, "unknown", .notEtcd),
        ("Method Not Allowed", 12, 405, "unknown", .notEtcd),
    ])
    func anErrorOfEtcdSaysWhetherItDidAnything(
        message: String, number: Int, status: Int, word: String, code: EtcdError.Code
    ) throws {
        try expect(word, code) { _ in [Fixtures.error(message, code: number, status: status)] }
    }

    @Test func aTextOfTheServerCannotControlATerminal() throws {
        let server = FakeEtcd { _ in
            [Fixtures.error(#"etcdserver: \u001b[2J\n\u202e"#, code: 3, status: 400)]
        }
        defer { server.stop() }
        let error = try #require(
            try Fixtures.client(server).execute(Fixtures.transaction).summary.error)
        #expect(
            error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x202a })
    }

    // MARK: - The connection

    /// libcurl repeats a request by itself if a connection that was used before ends without an
    /// answer.
    @Test func aTransactionIsNotRepeatedOverAnotherConnection() throws {
        let server = FakeEtcd { request in
            request.number == 1 ? [.close] : [.json(Fixtures.applied)]
        }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        #expect(client.execute(Fixtures.transaction).answer != nil)
        let outcome = client.execute(Fixtures.transaction).summary
        #expect(outcome.word == "unknown")
        #expect(outcome.error?.code == .connectionLost)
        #expect(server.requests.map(\.connection) == [0, 0])
        #expect(client.execute(Fixtures.transaction).answer != nil)
        #expect(server.requests.map(\.connection).last == 1 || server.requests.count == 3)
    }

    @Test func aConnectionThatWasClosedMeanwhileIsReplaced() throws {
        let server = FakeEtcd { _ in [.json(Fixtures.applied), .close] }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        for count in 1...3 {
            #expect(client.execute(Fixtures.transaction).answer != nil)
            #expect(server.waitUntilClosed())
            #expect(server.requests.count == count)
        }
    }

    @Test func oneConnectionServesManyCalls() throws {
        let server = FakeEtcd { _ in [.json(Fixtures.applied)] }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        for _ in 0..<50 { #expect(client.execute(Fixtures.transaction).answer != nil) }
        #expect(server.requests.allSatisfy { $0.connection == 0 })
    }

    @Test func aClientLeavesNothingOpen() throws {
        let server = FakeEtcd { _ in [.json(Fixtures.applied)] }
        defer { server.stop() }
        do {
            let client = try Fixtures.client(server)
            #expect(client.execute(Fixtures.transaction).answer != nil)
        }
        #expect(server.waitUntilClosed())
    }

    /// Also one that waits for an answer, in another thread.
    @Test func aCallThatIsCancelledEndsAtOnce() throws {
        let server = FakeEtcd { _ in [.wait] }
        defer { server.stop() }
        let client = try Fixtures.client(server, timeout: .seconds(600))
        let canceller = client.canceller
        let thread = Thread {
            _ = server.waitForRequests(1)
            canceller.cancel()
        }
        let start = ContinuousClock.now
        thread.start()
        let outcome = client.execute(Fixtures.transaction).summary
        #expect(outcome.word == "unknown")
        #expect(outcome.error?.code == .cancelled)
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(client.execute(Fixtures.transaction).summary.word == "not sent")
        #expect(server.requests.count == 1)
    }
}
