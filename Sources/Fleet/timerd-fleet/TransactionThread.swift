// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol

/// Executes transactions, in the order in which they were requested.
struct TransactionThread {
    /// After which time a transaction that was not yet sent is given up, in nanoseconds. What it
    /// compares is old by then.
    static let waitMax: Int64 = 5_000_000_000
    /// When a transaction without an answer is reported at the earliest, in nanoseconds: a member
    /// decides again at once, and would ask an etcd that refuses everything all the time.
    static let retryDelay: Int64 = 1_000_000_000

    let work: WorkQueue<EtcdThreads.TransactionWork>
    let options: EtcdOptions
    let status: StatusBoard
    let reports: ReportQueue

    func run() {
        guard let client = EtcdClient.make(options, for: work, .transactions, status) else {
            return
        }
        while let next = work.next() {
            guard RunnerClock.awake() - next.requested < Self.waitMax else {
                reports.put(.unknown(next.id), for: next.client)
                continue
            }
            switch client.execute(next.transaction) {
            case .answered(let answer, let receipt):
                status.answered(.transactions, receipt)
                report(.answered(next.id, answer), for: next.client)
            case .rejected(let error):
                if error.code == .leaseNotFound, let lease = next.transaction.lease {
                    reports.put(.leaseLost(lease), for: next.client, isAnswer: false)
                } else {
                    status.failed(.transactions, error)
                }
                fail(next)
            case .notSent(let error), .unknown(let error):
                status.failed(.transactions, error)
                fail(next)
            }
        }
    }

    private func fail(_ next: EtcdThreads.TransactionWork) {
        reports.put(
            .unknown(next.id), for: next.client, notBefore: next.requested + Self.retryDelay)
    }

    /// Waits for a scheduler that does not read.
    private func report(_ report: FleetReport, for client: UInt64) {
        let report = ReportQueue.Report(bytes: report.bytes, isAnswer: true)
        while !reports.putIfRoom(report, for: client), !work.isClosed { work.sleep() }
    }
}

extension FleetTransaction {
    /// The lease of a key that it writes.
    fileprivate var lease: LeaseID? {
        for branch in branches {
            for case .put(_, _, let lease?) in branch.changes { return lease }
        }
        return nil
    }
}
