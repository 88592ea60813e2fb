// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import TimerCore
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol

/// Opens, prolongs and ends leases.
struct LeaseThread {
    /// How often etcd is asked for its version and its alarms, in nanoseconds.
    private static let statusInterval: Int64 = 300_000_000_000

    let work: WorkQueue<EtcdThreads.LeaseWork>
    let options: EtcdOptions
    let status: StatusBoard
    let reports: ReportQueue

    func run() {
        guard let client = EtcdClient.make(options, for: work, .leases, status) else { return }
        var askedAt: Int64?
        while let next = work.next() {
            let isAnswered = perform(next, client)
            // After the answer, and only if nothing else waits: a keepalive is more urgent.
            let now = RunnerClock.awake()
            guard isAnswered, !work.hasWork, askedAt.map({ now - $0 > Self.statusInterval }) ?? true
            else { continue }
            askedAt = now
            if let found = try? client.status() { status.learned(found) }
        }
    }

    /// Returns whether etcd answered.
    private func perform(_ next: EtcdThreads.LeaseWork, _ client: EtcdClient) -> Bool {
        do throws(EtcdError) {
            switch next.request {
            case .open(let seconds):
                let (lease, _, receipt) = try client.grantLease(seconds: seconds)
                status.answered(.leases, receipt)
                reports.put(.leased(lease, sent: receipt.sent.boot), for: next.client)
            case .keepAlive(let lease):
                guard let receipt = try client.keepAlive(lease) else {
                    reports.put(.leaseLost(lease), for: next.client)
                    return true
                }
                keep(lease, receipt, next.client)
            case .end(let lease):
                try client.revoke(lease)
                reports.put(.leaseEnded(lease), for: next.client)
            }
            return true
        } catch {
            status.failed(.leases, error)
            switch next.request {
            case .open: reports.put(.leaseUnanswered(nil), for: next.client)
            case .keepAlive(let lease): reports.put(.leaseUnanswered(lease), for: next.client)
            case .end(let lease): reports.put(.leaseEnded(lease), for: next.client)
            }
            return false
        }
    }

    /// Without the date of the answer nothing is known about the clocks, and this machine must not
    /// start anything.
    private func keep(_ lease: LeaseID, _ receipt: EtcdReceipt, _ client: UInt64) {
        guard let date = receipt.date else {
            status.failed(
                .leases,
                "\(receipt.endpoint): the answer has no date; use the address of etcd itself, without "
                    + "a proxy that removes it")
            return reports.put(.leaseUnanswered(lease), for: client)
        }
        status.answered(.leases, receipt)
        reports.put(.kept(lease, sent: receipt.sent, date: date), for: client)
    }
}
