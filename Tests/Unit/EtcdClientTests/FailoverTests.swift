// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

/// Several endpoints.
@Suite struct FailoverTests {
    private static let status = """
        {\(FakeEtcd.header),"version":"3.4.23","dbSize":"20480","leader":"1","raftIndex":"31"}
        """

    @Test func aTransactionGoesToTheNextEndpointIfItWasNotSent() throws {
        let server = FakeEtcd { _ in [.json(Fixtures.applied)] }
        defer { server.stop() }
        let dead = "http://127.0.0.1:\(FakeEtcd.unusedPort())"
        let client = try Fixtures.client([dead, server.url])
        #expect(client.execute(Fixtures.transaction).answer != nil)
        #expect(client.preferred == 1)
        #expect(client.execute(Fixtures.transaction).answer != nil)
    }

    @Test func itDoesNotIfItMayHaveBeenExecuted() throws {
        let first = FakeEtcd { _ in [.close] }
        let second = FakeEtcd { _ in [.json(Fixtures.applied)] }
        defer {
            first.stop()
            second.stop()
        }
        let client = try Fixtures.client([first.url, second.url])
        #expect(client.execute(Fixtures.transaction).summary.word == "unknown")
        #expect(second.requests.isEmpty)
        // The next call begins with the other one.
        #expect(client.execute(Fixtures.transaction).answer != nil)
        #expect(first.requests.count == 1)
    }

    @Test func aMemberWithoutALeaderIsLeft() throws {
        let first = FakeEtcd { _ in [Fixtures.error("etcdserver: no leader", code: 14, status: 503)]
        }
        let second = FakeEtcd { _ in [.json(Fixtures.applied)] }
        defer {
            first.stop()
            second.stop()
        }
        #expect(
            try Fixtures.client([first.url, second.url]).execute(Fixtures.transaction).answer != nil
        )
        // It is asked for, because the gateway would wait otherwise.
        #expect(first.requests[0].header.contains("Grpc-Metadata-hasleader: true"))
    }

    @Test func aCallThatMayBeRepeatedIsSentToEach() throws {
        let first = FakeEtcd { _ in [.wait] }
        let second = FakeEtcd { _ in
            [.json(#"{"result":{\#(FakeEtcd.header),"ID":"5","TTL":"10"}}"#)]
        }
        defer {
            first.stop()
            second.stop()
        }
        let client = try Fixtures.client([first.url, second.url], timeout: .milliseconds(800))
        #expect(try client.keepAlive(LeaseID(5))?.endpoint == second.url)
        #expect(client.preferred == 1)
    }

    @Test func ifAllFailTheErrorNamesEach() throws {
        let server = FakeEtcd { _ in [.text("SSH-2.0\r\n"), .close] }
        defer { server.stop() }
        let dead = (0..<2).map { _ in "http://127.0.0.1:\(FakeEtcd.unusedPort())" }
        let outcome = try Fixtures.client([dead[0], server.url, dead[1]])
            .execute(Fixtures.transaction).summary
        #expect(outcome.word == "unknown")
        #expect(outcome.error?.place == server.url)
        #expect(outcome.error?.description.contains(dead[0]) == true)
        let none = try Fixtures.client(dead).execute(Fixtures.transaction).summary
        #expect(none.word == "not sent")
        #expect(none.error?.code == .connectionRefused)
        #expect(none.error?.description.contains("systemctl start etcd") == true)
        #expect(none.error?.description.contains(dead[1]) == true)
    }

    @Test func aHostThatDoesNotExistIsSaid() throws {
        let outcome = try Fixtures.client(["http://host.invalid:2379"]).execute(
            Fixtures.transaction
        ).summary
        #expect(outcome.word == "not sent")
        #expect(outcome.error?.code == .hostNotFound)
    }

    @Test func anotherClusterIsRefusedIfOneIsKnown() throws {
        let server = FakeEtcd { _ in [.json(Fixtures.applied)] }
        defer { server.stop() }
        #expect(
            try Fixtures.client([server.url]) { $0.cluster = "b" }.execute(Fixtures.transaction)
                .answer
                != nil)
        let outcome = try Fixtures.client([server.url]) { $0.cluster = "c" }
            .execute(Fixtures.transaction).summary
        #expect(outcome.word == "rejected")
        #expect(outcome.error?.code == .wrongCluster)
    }

    @Test func endpointsOfTwoClustersAreFound() throws {
        let first = FakeEtcd { _ in [.json(Self.status)] }
        let second = FakeEtcd { _ in [.json(Self.status.replacing(#""11""#, with: #""12""#))] }
        defer {
            first.stop()
            second.stop()
        }
        let dead = "http://127.0.0.1:\(FakeEtcd.unusedPort())"
        #expect(try Fixtures.client([dead, first.url]).requireOneCluster() == "b")
        let error = #expect(throws: EtcdError.self) {
            try Fixtures.client([first.url, dead, second.url]).requireOneCluster()
        }
        #expect(error?.code == .wrongCluster)
        #expect(error?.description.contains(first.url) == true)
        #expect(throws: EtcdError.self) { try Fixtures.client([dead]).requireOneCluster() }
    }

    @Test func theStatusOfEachEndpoint() throws {
        let server = FakeEtcd { _ in
            [
                .json(
                    Self.status.replacing(
                        #""leader":"1""#, with: #""errors":["memberID:1 alarm:NOSPACE "]"#))
            ]
        }
        defer { server.stop() }
        let status = try #require(try Fixtures.client([server.url]).statuses().first).get()
        #expect(status.version == "3.4.23")
        #expect(status.databaseBytes == 20_480)
        #expect(!status.hasLeader && status.logEntries == 31)
        #expect(status.errors == ["memberID:1 alarm:NOSPACE"])
    }

    @Test func theLogOfTheEndpointThatAnswers() throws {
        let server = FakeEtcd { _ in [.json(Self.status)] }
        let silent = FakeEtcd { _ in
            [.json(Self.status.replacing(#","raftIndex":"31""#, with: ""))]
        }
        defer {
            server.stop()
            silent.stop()
        }
        let log = try #require(try Fixtures.client([server.url]).log())
        #expect(log.entries == 31 && log.revision > 0)
        #expect(try Fixtures.client([silent.url]).log() == nil)
        let dead = "http://127.0.0.1:\(FakeEtcd.unusedPort())"
        #expect(try Fixtures.client([dead]).log() == nil)
    }
}
