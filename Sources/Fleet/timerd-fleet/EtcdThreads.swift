// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import Glibc
import HostThreads
import TimerCore
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol

/// The threads with the connections to etcd, one connection each: for leases, for transactions, for the
/// watch, and one that asks each member how it is. Each of them does one thing at a time.
final class EtcdThreads: Sendable {
    /// What the thread for leases must do.
    struct LeaseWork: Sendable {
        enum Request: Sendable {
            case open(seconds: Int64)
            case keepAlive(LeaseID)
            case end(LeaseID)
        }

        var client: UInt64
        var request: Request
    }

    struct TransactionWork: Sendable {
        var client: UInt64
        var id: FleetMember.TransactionID
        var transaction: FleetTransaction
        /// When it was requested, by CLOCK_MONOTONIC.
        var requested: Int64
    }

    enum WatchWork: Sendable {
        case load(client: UInt64, number: UInt64)
        /// There is no scheduler any more.
        case stop
    }

    private let leases: WorkQueue<LeaseWork>
    let transactions: WorkQueue<TransactionWork>
    let watch: WorkQueue<WatchWork>
    /// The connection of a scheduler that prolongs its lease.
    private let members: WorkQueue<UInt64>
    let status: StatusBoard

    /// Starts them. They do not connect before there is work.
    ///
    /// - Throws: `StartFailure` if there can be no thread or descriptor.
    init(_ options: EtcdOptions, lease: Duration, reports: ReportQueue) throws(StartFailure) {
        (leases, transactions, watch) = (try WorkQueue(), try WorkQueue(), try WorkQueue())
        members = try WorkQueue()
        status = StatusBoard(reports: reports)
        // A keepalive that is not answered in time must not delay the next one for long.
        var hurried = options
        hurried.timeout = min(max(lease / 3, .seconds(1)), options.timeout)
        hurried.connectTimeout = min(options.connectTimeout, hurried.timeout)
        let (leases, transactions, watch, members) = (leases, transactions, watch, members)
        let status = status
        let codes = [
            WorkerThread.start("fleet.leases") { [hurried] in
                LeaseThread(work: leases, options: hurried, status: status, reports: reports).run()
            },
            WorkerThread.start("fleet.changes") {
                TransactionThread(
                    work: transactions, options: options, status: status, reports: reports
                ).run()
            },
            WorkerThread.start("fleet.watch") {
                WatchThread(work: watch, options: options, status: status, reports: reports).run()
            },
            WorkerThread.start("fleet.members") { [hurried] in
                MemberThread(work: members, options: hurried, status: status, reports: reports)
                    .run()
            },
        ]
        if let code = codes.first(where: { $0 != 0 }) {
            close()
            throw StartFailure("cannot start a thread", code)
        }
    }

    /// Opens, prolongs or ends a lease. With it the members are asked how they are, from time to time.
    func ask(_ work: LeaseWork) {
        leases.post(work)
        if !members.hasWork { members.post(work.client) }
    }

    /// Drops what a scheduler that is gone has requested, except the end of its leases.
    func forgetClient() {
        leases.removeAll { if case .end = $0.request { false } else { true } }
        transactions.removeAll { _ in true }
        _ = watch.replace(with: .stop)
        wake()
    }

    /// Wakes the threads that wait for room.
    func wake() {
        transactions.wake()
        watch.wake()
    }

    /// Ends the threads, and at once what they wait for. What was sent to etcd without an answer may
    /// still be done.
    func close() {
        status.close()
        leases.close()
        transactions.close()
        watch.close()
        members.close()
    }
}

/// The clocks of this machine. The boot is not needed: the scheduler knows it.
enum FleetClocks {
    static func now() -> Now {
        var times = (timespec(), timespec())
        clock_gettime(CLOCK_BOOTTIME, &times.0)
        clock_gettime(CLOCK_MONOTONIC, &times.1)
        return Now(
            wall: RunnerClock.wall(), awake: AwakeInstant(nanoseconds: nanoseconds(times.1)),
            boot: BootInstant(nanoseconds: nanoseconds(times.0)), bootID: .unknown)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension EtcdClient {
    /// A client whose calls end when the queue is closed.
    ///
    /// - Returns: nil if libcurl has no memory; that is reported as a problem.
    static func make<Work>(
        _ options: EtcdOptions, for queue: WorkQueue<Work>, _ part: StatusBoard.Part,
        _ status: StatusBoard
    ) -> EtcdClient? {
        do throws(EtcdError) {
            let client = try EtcdClient(options, clock: FleetClocks.now)
            queue.use(client.canceller)
            return client
        } catch {
            status.failed(part, error)
            return nil
        }
    }
}
