// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

@testable import EtcdClient

/// What most of the tests need.
enum Fixtures {
    static let job = Job.Name("report")!
    static let machine = MachineName("web1")!
    static let header = FakeEtcd.header

    /// A clock that advances by a second with each reading.
    static func clock() -> () -> Now {
        var reading: Int64 = 0
        return {
            reading += 1
            return Now(
                wall: WallInstant(secondsSinceEpoch: 1_000_000_000 + reading),
                awake: AwakeInstant(nanoseconds: reading * 1_000_000_000),
                boot: BootInstant(nanoseconds: reading * 1_000_000_000), bootID: .unknown)
        }
    }

    static func client(
        _ servers: FakeEtcd..., timeout: Duration = .seconds(60),
        _ change: (inout EtcdOptions) -> Void = { _ in }
    ) throws -> EtcdClient {
        try client(servers.map(\.url), timeout: timeout, change)
    }

    /// A client of the servers at these addresses.
    static func client(
        _ urls: [String], timeout: Duration = .seconds(60),
        _ change: (inout EtcdOptions) -> Void = { _ in }
    ) throws -> EtcdClient {
        var options = EtcdOptions(endpoints: urls, fleet: "prod")
        options.timeout = timeout
        options.connectTimeout = timeout
        change(&options)
        return try EtcdClient(options, clock: clock())
    }

    /// A transaction with one branch, which writes a key.
    static let transaction = FleetTransaction(
        compares: [.modified(.job(job), 3)], changes: [.put(.job(job), "new", lease: nil)],
        reads: [.job(job)])

    /// The answer if it was applied.
    static let applied = """
        {\(header),"succeeded":true,"responses":[{"response_txn":{"header":{},"succeeded":true,\
        "responses":[{"response_put":{"header":{"revision":"7"}}}]}}]}
        """

    /// An error as etcd 3.4 reports it.
    static func error(_ message: String, code: Int, status: Int) -> FakeEtcd.Step {
        .json(
            #"{"error":"\#(message)","message":"\#(message)","code":\#(code)}"#, status: status)
    }
}

extension TransactionOutcome {
    var answer: FleetAnswer? {
        if case .answered(let answer, _) = self { answer } else { nil }
    }

    /// How it ended, as one word, and why.
    var summary: (word: String, error: EtcdError?) {
        switch self {
        case .answered: ("answered", nil)
        case .rejected(let error): ("rejected", error)
        case .notSent(let error): ("not sent", error)
        case .unknown(let error): ("unknown", error)
        }
    }
}
