// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

/// Leases, and the reading of all keys.
@Suite struct CallTests {
    @Test func leases() throws {
        let server = FakeEtcd { request in
            switch request.path {
            case "/v3/lease/grant":
                #expect(request.body == #"{"TTL":"10"}"#)
                return [.json(#"{\#(FakeEtcd.header),"ID":"9223372036854775807","TTL":"12"}"#)]
            case "/v3/lease/keepalive":
                return [
                    .json(
                        #"{"result":{\#(FakeEtcd.header),"ID":"5""#
                            + (request.body == #"{"ID":"5"}"# ? #","TTL":"3"}}"# : "}}") + "\n")
                ]
            default:
                return [
                    Fixtures.error("etcdserver: requested lease not found", code: 5, status: 404)
                ]
            }
        }
        defer { server.stop() }
        let client = try Fixtures.client([server.url])
        let granted = try client.grantLease(seconds: 10)
        #expect(granted.lease == LeaseID(.max) && granted.seconds == 12)
        #expect(try client.keepAlive(LeaseID(5)) != nil)
        #expect(throws: EtcdError.self, "another lease") { try client.keepAlive(LeaseID(6)) }
        #expect(try client.revoke(LeaseID(5)) == false)
    }

    @Test func aLeaseThatIsGoneIsNil() throws {
        let server = FakeEtcd { _ in [.json(#"{"result":{\#(FakeEtcd.header),"ID":"5"}}"#)] }
        defer { server.stop() }
        #expect(try Fixtures.client([server.url]).keepAlive(LeaseID(5)) == nil)
    }

    @Test(arguments: [
        #""ID":"0","TTL":"10""#, #""ID":"1","TTL":"9""#, #""ID":"x","TTL":"10""#,
        #""ID":["1"],"TTL":"10""#,
    ])
    func aLeaseThatIsNoneIsRefused(fields: String) throws {
        let server = FakeEtcd { _ in [.json("{\(FakeEtcd.header),\(fields)}")] }
        defer { server.stop() }
        #expect(throws: EtcdError.self) {
            try Fixtures.client([server.url]).grantLease(seconds: 10)
        }
    }

    private static func pair(_ name: String, _ value: String = "v") -> String {
        """
        {"key":"\(Base64.encode("/timerd/prod/\(name)".utf8))","create_revision":"2",\
        "mod_revision":"3","value":"\(Base64.encode(value.utf8))"}
        """
    }

    @Test func allKeysAreReadInPagesAtOneRevision() throws {
        let server = FakeEtcd { request in
            switch request.number {
            case 0:
                return [
                    .json(
                        "{\(FakeEtcd.header),\"kvs\":[\(Self.pair("clock")),\(Self.pair("else"))],"
                            + "\"more\":true}")
                ]
            default:
                return [.json("{\(FakeEtcd.header),\"kvs\":[\(Self.pair("hold"))]}")]
            }
        }
        defer { server.stop() }
        let loaded = try Fixtures.client([server.url]).loadAll()
        #expect(Set(loaded.snapshot.values.keys) == [.clock, .hold])
        #expect(loaded.snapshot.revision == 7 && loaded.snapshot.cluster == "b")
        #expect(loaded.unknownKeys == ["/timerd/prod/else"])
        let key = Base64.encode("/timerd/prod/else\0".utf8)
        #expect(server.requests[1].body.contains(#""key":"\#(key)""#))
        #expect(server.requests[1].body.contains(#""revision":"7""#))
        #expect(
            server.requests[0].body.contains(
                #""range_end":"\#(Base64.encode("/timerd/prod0".utf8))""#))
    }

    @Test func aCompactionMeanwhileBeginsAgain() throws {
        let server = FakeEtcd { request in
            switch request.number {
            case 0:
                return [.json("{\(FakeEtcd.header),\"kvs\":[\(Self.pair("clock"))],\"more\":true}")]
            case 1:
                return [
                    Fixtures.error(
                        "etcdserver: mvcc: required revision has been compacted", code: 11,
                        status: 400)
                ]
            default: return [.json("{\(FakeEtcd.header),\"kvs\":[\(Self.pair("hold"))]}")]
            }
        }
        defer { server.stop() }
        #expect(Set(try Fixtures.client([server.url]).loadAll().snapshot.values.keys) == [.hold])
    }

    @Test func largeValuesAreReadInSmallerPages() throws {
        let big = FakeEtcd { request in
            request.body.contains(#""limit":"256""#)
                ? [
                    .text("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"),
                    .flood([UInt8](repeating: 32, count: 4096)),
                ] : [.json("{\(FakeEtcd.header),\"kvs\":[\(Self.pair("hold"))]}")]
        }
        defer { big.stop() }
        let loaded = try Fixtures.client([big.url]) { $0.replyBytesMax = 65_536 }.loadAll()
        #expect(Set(loaded.snapshot.values.keys) == [.hold])
        #expect(big.requests.count == 2)
    }

    /// Otherwise reading would never end.
    @Test(arguments: [
        ["clock", "clock"], ["hold", "clock"], ["../other/clock"], ["job/a", "job/a"],
    ])
    func keysThatWereNotAskedForAreRefused(names: [String]) throws {
        let pairs = names.map { Self.pair($0) }.joined(separator: ",")
            .replacing(
                Self.pair("../other/clock"),
                with: Self.pair("clock").replacing(
                    Base64.encode("/timerd/prod/clock".utf8),
                    with: Base64.encode("/timerd/test/clock".utf8)))
        let server = FakeEtcd { _ in
            [.json("{\(FakeEtcd.header),\"kvs\":[\(pairs)],\"more\":true}")]
        }
        defer { server.stop() }
        let error = #expect(throws: EtcdError.self) { try Fixtures.client([server.url]).loadAll() }
        #expect(error?.code == .notEtcd)
        #expect(server.requests.count == 1)
    }

    /// The same page again and again.
    @Test func aPageThatRepeatsItselfIsRefused() throws {
        let server = FakeEtcd { _ in
            [.json("{\(FakeEtcd.header),\"kvs\":[\(Self.pair("clock"))],\"more\":true}")]
        }
        defer { server.stop() }
        #expect(throws: EtcdError.self) { try Fixtures.client([server.url]).loadAll() }
        #expect(server.requests.count == 2)
    }
}
