// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import TimerCore
import TimerFleetLink
import TimerRunnerProtocol

/// Asks each endpoint how it is: what its clock reads, its version, its alarms, and how many members it
/// knows. The other threads talk to one endpoint as long as it answers.
struct MemberThread {
    /// The time between two rounds of questions, in nanoseconds.
    private static let interval: Int64 = 10_000_000_000

    /// The connections of schedulers that prolong leases.
    let work: WorkQueue<UInt64>
    let options: EtcdOptions
    let status: StatusBoard
    let reports: ReportQueue

    func run() {
        guard let client = EtcdClient.make(options, for: work, .leases, status) else { return }
        var last: (scheduler: UInt64, asked: Int64)?
        while let scheduler = work.next() {
            let now = RunnerClock.awake()
            if let last, last.scheduler == scheduler, now - last.asked < Self.interval { continue }
            last = (scheduler, now)
            for index in client.endpointIndices where !work.isClosed {
                ask(index, client, scheduler)
            }
        }
    }

    /// That one does not answer is no problem while another one does.
    private func ask(_ index: Int, _ client: EtcdClient, _ scheduler: UInt64) {
        guard let found = try? client.status(of: index) else { return }
        status.learned(found)
        if let date = found.receipt.date {
            reports.put(
                .dated(
                    endpoint: found.receipt.endpoint, date: date, sent: found.receipt.sent.wall),
                for: scheduler, isAnswer: false)
        }
        guard let members = try? client.memberCount(of: index) else { return }
        status.learned(members: members, from: found.receipt.endpoint, of: client.memberEndpoints)
    }
}
