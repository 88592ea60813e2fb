// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

/// The stream of changes.
@Suite struct WatchTests {
    private static let created = #"{"result":{\#(FakeEtcd.header),"created":true}}"# + "\n"

    private static func event(
        _ name: String, _ value: String?, at revision: Int, fleet: String = "prod"
    ) -> String {
        let key = Base64.encode("/timerd/\(fleet)/\(name)".utf8)
        guard let value else {
            return #"{"type":"DELETE","kv":{"key":"\#(key)","mod_revision":"\#(revision)"}}"#
        }
        return """
            {"kv":{"key":"\(key)","create_revision":"2","mod_revision":"\(revision)",\
            "version":"1","value":"\(Base64.encode(value.utf8))"}}
            """
    }

    private static func message(_ events: [String], isFragment: Bool = false) -> String {
        let fragment = isFragment ? #""fragment":true,"# : ""
        return """
            {"result":{\(FakeEtcd.header),\(fragment)"events":[\(events.joined(separator: ","))]}}

            """
    }

    /// What a watch reported, as texts, and how it ended.
    private func follow(
        _ steps: [FakeEtcd.Step], silenceMax: Duration = .seconds(60), stopAfter most: Int = .max,
        _ change: (inout EtcdOptions) -> Void = { _ in }
    ) throws -> (events: [String], end: WatchEnd) {
        let server = FakeEtcd { _ in steps }
        defer { server.stop() }
        let client = try Fixtures.client(server) { change(&$0) }
        return follow(client, silenceMax, stopAfter: most)
    }

    private func follow(
        _ client: EtcdClient, _ silenceMax: Duration = .seconds(60), stopAfter most: Int = .max
    ) -> (events: [String], end: WatchEnd) {
        var events: [String] = []
        let end = client.watch(from: 5, silenceMax: silenceMax) { event in
            events.append(Self.text(event))
            return events.count < most
        }
        return (events, end)
    }

    private static func text(_ event: WatchEvent) -> String {
        switch event {
        case .created(let receipt): return "created \(receipt.revision)"
        case .progress(let revision): return "progress \(revision)"
        case .unknownKey(let key): return "unknown \(key)"
        case .changed(let cluster, let revision, let reads):
            let changes = reads.map { key, value in
                "\(key.path(in: "f").dropFirst(10))=\(value?.value ?? "deleted")"
            }
            return "\(cluster) \(revision): \(changes.sorted().joined(separator: " "))"
        }
    }

    private func code(_ end: WatchEnd) -> EtcdError.Code? {
        if case .failed(let error) = end { error.code } else { nil }
    }

    @Test func changesAreReportedForEachRevision() throws {
        let (events, end) = try follow([
            .chunked, .chunk(Self.created),
            .chunk(
                Self.message([
                    Self.event("clock", "a", at: 5), Self.event("hold", "b", at: 6),
                    Self.event("clock", nil, at: 6), Self.event("nothing", "c", at: 7),
                    Self.event("job/report", "d", at: 8),
                ])), .chunk(#"{"result":{\#(FakeEtcd.header)}}"# + "\n"), .chunk("\n"),
            .text("0\r\n\r\n"),
        ])
        #expect(
            events == [
                "created 7", "b 5: clock=a", "b 6: clock=deleted hold=b",
                "unknown /timerd/prod/nothing", "b 8: job/report=d", "progress 7",
            ])
        #expect(code(end) == .connectionLost)
    }

    /// The ends of chunks mean nothing.
    @Test func aMessageMayArriveInAnyParts() throws {
        let whole = Self.created + Self.message([Self.event("clock", "a", at: 5)])
        for size in [1, 2, 7, 100, whole.utf8.count] {
            var steps: [FakeEtcd.Step] = [.chunked]
            var rest = whole[...]
            while !rest.isEmpty {
                steps.append(.chunk(String(rest.prefix(size))))
                rest = rest.dropFirst(size)
            }
            let (events, end) = try follow(steps + [.wait], stopAfter: 2)
            #expect(events == ["created 7", "b 5: clock=a"])
            guard case .stopped = end else {
                Issue.record("\(end)")
                continue
            }
        }
    }

    @Test func theFragmentsOfARevisionAreJoined() throws {
        let (events, _) = try follow(
            [
                .chunked, .chunk(Self.created),
                .chunk(
                    Self.message(
                        [Self.event("clock", "a", at: 5), Self.event("hold", "b", at: 6)],
                        isFragment: true)),
                .chunk(Self.message([Self.event("job/report", "c", at: 6)], isFragment: true)),
                .chunk(Self.message([Self.event("identity", "d", at: 6)])), .wait,
            ], stopAfter: 3)
        #expect(
            events == ["created 7", "b 5: clock=a", "b 6: hold=b identity=d job/report=c"])
    }

    @Test func aRequestNamesTheKeysAndTheRevision() throws {
        let server = FakeEtcd { _ in [.chunked, .chunk(Self.created), .wait] }
        defer { server.stop() }
        _ = follow(try Fixtures.client(server), stopAfter: 1)
        #expect(
            server.requests[0].body == """
                {"create_request":{"fragment":true,"key":"\(Base64.encode("/timerd/prod/".utf8))",\
                "progress_notify":true,"range_end":"\(Base64.encode("/timerd/prod0".utf8))",\
                "start_revision":"5"}}
                """)
        #expect(server.requests[0].header.contains("Grpc-Metadata-hasleader: true"))
    }

    /// etcd leaves the stream open.
    @Test func aCompactedRevisionEndsTheWatch() throws {
        for isAtOnce in [true, false] {
            let cancelled = """
                {"result":{\(FakeEtcd.header),\(isAtOnce ? #""created":true,"# : "")\
                "canceled":true,"compact_revision":"9"}}

                """
            let first: [FakeEtcd.Step] = isAtOnce ? [] : [.chunk(Self.created)]
            let (_, end) = try follow([.chunked] + first + [.chunk(cancelled), .wait])
            guard case .compacted = end else {
                Issue.record("\(end)")
                continue
            }
        }
    }

    @Test(arguments: [
        (
            #"{"result":{\#(FakeEtcd.header),"canceled":true,"cancel_reason":"etcdserver: no leader"}}"#,
            EtcdError.Code.noLeader
        ),
        (#"{"result":{\#(FakeEtcd.header),"canceled":true}}"#, .unavailable),
        (
            #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}"#,
            .noLeader
        ),
        (#"{"error":{"code":14,"message":"transport is closing"}}"#, .unavailable),
        ("nope", .notJSON), ("[]", .notJSON), ("{}", .notEtcd),
        (#"{"result":{\#(FakeEtcd.header),"events":[{}]}}"#, .notEtcd),
        (#"{"result":{\#(FakeEtcd.header),"events":[{"kv":{"key":"?"}}]}}"#, .notEtcd),
        (#"{"result":{\#(FakeEtcd.header),"events":{}}}"#, .notEtcd),
    ])
    func anythingElseEndsTheWatch(line: String, code: EtcdError.Code) throws {
        let (events, end) = try follow([
            .chunked, .chunk(Self.created), .chunk(line + "\n"), .wait,
        ])
        #expect(events == ["created 7"])
        #expect(self.code(end) == code, "\(end)")
    }

    @Test func revisionsMustNotGoBack() throws {
        let (events, end) = try follow([
            .chunked, .chunk(Self.created), .chunk(Self.message([Self.event("clock", "a", at: 6)])),
            .chunk(Self.message([Self.event("clock", "b", at: 5)])), .wait,
        ])
        #expect(events.count == 2)
        #expect(code(end) == .notEtcd)
    }

    @Test func aMessageThatIsTooLongEndsTheWatch() throws {
        let limit = { (options: inout EtcdOptions) in options.messageBytesMax = 4096 }
        let part = "10\r\n" + String(repeating: " ", count: 16) + "\r\n"
        let (events, end) = try follow(
            [.chunked, .chunk(Self.created), .flood(Array(part.utf8))], limit)
        #expect(events == ["created 7"])
        #expect(code(end) == .replyTooLarge)
        let large = Self.event("clock", String(repeating: "x", count: 1500), at: 5)
        let fragments = [FakeEtcd.Step](
            repeating: .chunk(Self.message([large], isFragment: true)), count: 3)
        #expect(
            code(try follow([.chunked, .chunk(Self.created)] + fragments + [.wait], limit).end)
                == .replyTooLarge)
        // Many messages that are each within the limit are no reason.
        let messages = (1...50).map {
            FakeEtcd.Step.chunk(Self.message([Self.event("clock", "x", at: $0)]))
        }
        let (many, last) = try follow(
            [.chunked, .chunk(Self.created)] + messages + [.text("0\r\n\r\n")], limit)
        #expect(many.count == 51)
        #expect(code(last) == .connectionLost)
    }

    @Test func aSilentStreamEnds() throws {
        let (events, end) = try follow(
            [.chunked, .chunk(Self.created), .wait], silenceMax: .milliseconds(200))
        #expect(events == ["created 7"])
        #expect(code(end) == .silent)
    }

    @Test func aWatchThatIsNeverCreatedEnds() throws {
        for steps in [[FakeEtcd.Step.wait], [.chunked, .wait]] {
            let server = FakeEtcd { _ in steps }
            defer { server.stop() }
            let (events, end) = follow(
                try Fixtures.client(server, timeout: .milliseconds(200)))
            #expect(events.isEmpty)
            #expect(code(end) == .timeout)
        }
    }

    @Test func anEndpointThatFailsAtOnceIsFollowedByTheNext() throws {
        let first = FakeEtcd { _ in
            [Fixtures.error("etcdserver: no leader", code: 14, status: 503)]
        }
        let second = FakeEtcd { _ in [.chunked, .chunk(Self.created), .wait] }
        defer {
            first.stop()
            second.stop()
        }
        #expect(follow(try Fixtures.client(first, second), stopAfter: 1).events == ["created 7"])
    }

    /// From another thread, while nothing arrives.
    @Test func aWatchThatIsCancelledEndsAtOnce() throws {
        let server = FakeEtcd { _ in [.chunked, .chunk(Self.created), .wait] }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        let canceller = client.canceller
        let start = ContinuousClock.now
        var ended: WatchEnd?
        ended = client.watch(from: 1, silenceMax: .seconds(600)) { _ in
            let thread = Thread { canceller.cancel() }
            thread.start()
            return true
        }
        #expect(ended.flatMap { code($0) } == .cancelled)
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func aClientCanBeUsedAfterAWatch() throws {
        let server = FakeEtcd { request in
            request.path == "/v3/watch"
                ? [.chunked, .chunk(Self.created), .wait] : [.json(Fixtures.applied)]
        }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        for _ in 0..<3 {
            #expect(follow(client, stopAfter: 1).events.count == 1)
            #expect(client.execute(Fixtures.transaction).answer != nil)
        }
    }

    /// etcd says that a watch with an expired login is not permitted.
    @Test func anExpiredLoginIsRepeated() throws {
        let refused = """
            {"result":{\(FakeEtcd.header),"created":true,"canceled":true,\
            "cancel_reason":"rpc error: code = PermissionDenied desc = etcdserver: permission denied"}}

            """
        let server = FakeEtcd { request in
            switch (request.path, request.number) {
            case ("/v3/auth/authenticate", _):
                return [.json(#"{\#(FakeEtcd.header),"token":"t\#(request.number)"}"#)]
            case (_, 1): return [.json(Fixtures.applied)]
            case (_, 2): return [.chunked, .chunk(refused), .wait]
            default: return [.chunked, .chunk(Self.created), .wait]
            }
        }
        defer { server.stop() }
        let client = try Fixtures.client(server) { ($0.user, $0.password) = ("a", "b") }
        #expect(client.execute(Fixtures.transaction).answer != nil)
        #expect(follow(client, stopAfter: 1).events == ["created 7"])
        #expect(
            server.requests.map(\.path) == [
                "/v3/auth/authenticate", "/v3/kv/txn", "/v3/watch", "/v3/auth/authenticate",
                "/v3/watch",
            ])
    }
}
