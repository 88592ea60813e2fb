// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import TimerCore
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol

/// Opens, prolongs and ends leases, one after the other.
struct LeaseThread {
    let work: WorkQueue<EtcdThreads.LeaseWork>
    let options: EtcdOptions
    let status: StatusBoard
    let reports: ReportQueue

    func run() {
        guard let client = EtcdClient.make(options, for: work, .leases, status) else { return }
        while let next = work.next() { perform(next, client) }
    }

    private func perform(_ next: EtcdThreads.LeaseWork, _ client: EtcdClient) {
        do throws(EtcdError) {
            switch next.request {
            case .open(let seconds):
                let (lease, _, receipt) = try client.grantLease(seconds: seconds)
                status.answered(.leases, receipt)
                reports.put(.leased(lease, sent: receipt.sent.boot), for: next.client)
            case .keepAlive(let lease):
                guard let receipt = try client.keepAlive(lease) else {
                    return reports.put(.leaseLost(lease), for: next.client)
                }
                keep(lease, receipt, next.client)
            case .end(let lease):
                try client.revoke(lease)
                reports.put(.leaseEnded(lease), for: next.client)
            }
        } catch {
            status.failed(.leases, error)
            switch next.request {
            case .open: reports.put(.leaseUnanswered(nil), for: next.client)
            case .keepAlive(let lease): reports.put(.leaseUnanswered(lease), for: next.client)
            case .end(let lease): reports.put(.leaseEnded(lease), for: next.client)
            }
        }
    }

    /// Without the date of the answer nothing is known about the clocks, and this machine must not
    /// start anything.
    private func keep(_ lease: LeaseID, _ receipt: EtcdReceipt, _ client: UInt64) {
        guard receipt.date != nil else {
            status.failed(
                .leases,
                "\(receipt.endpoint): the answer has no date; use the address of etcd itself, without "
                    + "a proxy that removes it")
            return reports.put(.leaseUnanswered(lease), for: client)
        }
        status.answered(.leases, receipt)
        reports.put(.kept(lease, sent: receipt.sent.boot), for: client)
    }
}
