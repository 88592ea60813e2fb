// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet
import TimerJSON
import Testing

@testable import EtcdClient

/// The translation between the fleet's transactions and etcd's. `Tests/System/Etcd` compares what a real
/// etcd does with them.
@Suite struct FleetCodingTests {
    private static let coding = FleetCoding(fleet: "prod")
    private static let run = Run.ID(
        firing: Firing.ID(
            job: Fixtures.job, scheduled: WallInstant(secondsSinceEpoch: 1_793_491_200)))

    private func base64(_ text: String) -> String { Base64.encode(text.utf8) }

    @Test func eachPartOfATransactionHasItsPlace() {
        let transaction = FleetTransaction(
            compares: [
                .lease(.member(Fixtures.machine), LeaseID(77)), .text(.identity, #"{"a":1}"#),
            ],
            branches: [
                FleetTransaction.Branch(
                    compares: [.modified(.job(Fixtures.job), 9)],
                    changes: [
                        .put(.clock, "t", lease: LeaseID(5)), .delete(.run(Self.run)),
                        .put(.hold, "h", lease: nil),
                    ],
                    reads: [.job(Fixtures.job)])
            ], reads: [.hold])
        let key = { (name: String) in base64("/timerd/prod/\(name)") }
        #expect(
            Self.coding.request(transaction).line == """
                {"compare":[{"key":"\(key("member/web1"))","lease":"77","result":"EQUAL",\
                "target":"LEASE"},{"key":"\(key("identity"))","result":"EQUAL",\
                "target":"VALUE","value":"\(base64(#"{"a":1}"#))"}],\
                "failure":[{"request_range":{"key":"\(key("hold"))"}}],\
                "success":[{"request_txn":{"compare":[{"key":"\(key("job/report"))",\
                "mod_revision":"9","result":"EQUAL","target":"MOD"}],\
                "failure":[{"request_range":{"key":"\(key("job/report"))"}}],\
                "success":[{"request_put":{"key":"\(key("clock"))","lease":"5",\
                "value":"dA=="}},{"request_delete_range":{"key":\
                "\(key("run/report/20261101T000000.000000Z:1"))"}},\
                {"request_put":{"key":"\(key("hold"))","value":"aA=="}}]}}]}
                """)
    }

    private func outcome(of body: String, to transaction: FleetTransaction) throws -> FleetAnswer? {
        let server = FakeEtcd { _ in [.json(body)] }
        defer { server.stop() }
        let outcome = try Fixtures.client(server).execute(transaction)
        #expect(outcome.answer != nil, "\(outcome)")
        return outcome.answer
    }

    @Test func aRefusedBranchHasWhatWasRead() throws {
        let transaction = FleetTransaction(
            compares: [.modified(.clock, 1)], changes: [.delete(.clock)], reads: [.clock, .hold])
        let body = """
            {\(FakeEtcd.header),"succeeded":true,"responses":[{"response_txn":{"responses":[\
            {"response_range":{"kvs":[{"key":"\(base64("/timerd/prod/clock"))",\
            "create_revision":"2","mod_revision":"6","version":"3","value":"dA=="}],"count":"1"}},\
            {"response_range":{"header":{"revision":"7"}}}]}}]}
            """
        #expect(
            try outcome(of: body, to: transaction)
                == FleetAnswer(
                    cluster: "b", revision: 7,
                    branches: [
                        .refused([.clock: Versioned("t", created: 2, modified: 6), .hold: nil])
                    ]))
    }

    /// It is reported like each other value that cannot be read, and does not become a value that
    /// can.
    @Test func aValueThatIsNotUTF8IsNoValue() throws {
        let transaction = FleetTransaction(
            compares: [.modified(.clock, 1)], changes: [], reads: [.clock])
        let body = """
            {\(FakeEtcd.header),"succeeded":true,"responses":[{"response_txn":{"responses":[\
            {"response_range":{"kvs":[{"key":"\(base64("/timerd/prod/clock"))",\
            "create_revision":"2","mod_revision":"6","value":"\(Base64.encode([0x7b, 0xff]))"}]}}\
            ]}}]}
            """
        let answer = try #require(try outcome(of: body, to: transaction))
        guard case .refused(let reads) = answer.branches[0] else {
            Issue.record("\(answer)")
            return
        }
        #expect(throws: FleetFault.self) {
            let clock: Versioned<ClockValue>? = try FleetAnswer.value(.clock, in: reads)
            Issue.record("read as \(String(describing: clock))")
        }
    }

    @Test func aTransactionWithTooManyOperationsIsNotSent() throws {
        let branch = FleetTransaction.Branch(compares: [], changes: [.delete(.clock)], reads: [])
        let server = FakeEtcd { _ in [.json("{}")] }
        defer { server.stop() }
        let client = try Fixtures.client(server)
        let most = FleetTransaction(branches: Array(repeating: branch, count: 127))
        #expect(most.operations == 128)
        #expect(client.execute(most).summary.word == "unknown")
        #expect(server.requests.count == 1)
        let more = FleetTransaction(branches: Array(repeating: branch, count: 128))
        let outcome = client.execute(more).summary
        #expect(outcome.word == "rejected")
        #expect(outcome.error?.description.contains("129 operations") == true)
        #expect(server.requests.count == 1)
    }

    /// The date of an answer, between two readings of the clocks.
    @Test(arguments: [
        ("Date: Mon, 23 Nov 2026 13:43:00 GMT", 1_795_441_380 as Int64?),
        ("dAtE:Mon, 23 Nov 2026 13:43:00 GMT", 1_795_441_380), ("Date: soon", nil),
        ("Date: \(String(repeating: "9", count: 100))", nil), ("X-Date: 0", nil),
    ])
    func theDateOfAnAnswer(line: String, date: Int64?) throws {
        let server = FakeEtcd { _ in [.json(Fixtures.applied, header: [line])] }
        defer { server.stop() }
        guard
            case .answered(_, let receipt) = try Fixtures.client(server).execute(
                Fixtures.transaction)
        else {
            Issue.record("no answer")
            return
        }
        #expect(receipt.date == date)
        #expect(receipt.sent.boot < receipt.received.boot)
        #expect(receipt.cluster == "b" && receipt.revision == 7)
        #expect(receipt.endpoint == server.url)
    }
}
