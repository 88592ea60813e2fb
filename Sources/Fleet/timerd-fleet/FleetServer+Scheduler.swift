// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import EtcdClient
import Glibc
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol

/// How the server serves the scheduler: its connection, its requests, and the reports.
extension FleetServer {
    /// How many reads to make from a scheduler that has disconnected.
    private static let lastReads = 64

    // MARK: - Connections

    mutating func accept() {
        var peer = clinux_peer()
        let descriptor = clinux_accept(settings.socket, &peer)
        guard descriptor >= 0 else {
            // Without free descriptors the loop would spin; some may be free after a pause.
            if descriptor == -EMFILE || descriptor == -ENFILE { usleep(100_000) }
            return
        }
        guard peer.uid == 0 || settings.users.contains(peer.uid) else {
            settings.log(
                "refused a connection of uid \(peer.uid); only root and the scheduler's user may "
                    + "connect", 4)
            close(descriptor)
            return
        }
        connections += 1
        // A scheduler never has several at a time.
        if strangers.count >= Self.strangersMax { strangers.removeFirst() }
        strangers.append(
            SchedulerConnection(descriptor, number: connections, process: peer.pid))
    }

    /// Reads what has arrived and executes it.
    mutating func receive(from connection: SchedulerConnection) {
        let isHungUp = connection.isHungUp
        for _ in 0..<(isHungUp ? Self.lastReads : 1) {
            let hasRead = connection.socket.fill()
            while let frame = connection.socket.next() {
                guard execute(frame, connection) else { return drop(connection) }
            }
            guard hasRead, connection.socket.isOpen else { break }
        }
        if isHungUp || !connection.socket.isOpen { drop(connection) }
    }

    private mutating func drop(_ connection: SchedulerConnection) {
        // What was said to it last is the reason.
        _ = connection.socket.flush()
        strangers.removeAll { $0 === connection }
        if scheduler === connection { dropScheduler() }
    }

    mutating func dropScheduler() {
        guard scheduler != nil else { return }
        scheduler = nil
        nextReport = nil
        reports.serve(0)
        etcd?.forgetClient()
        settings.notify(.status(summary))
    }

    // MARK: - Requests

    /// Executes a request. False if the connection must be closed.
    private mutating func execute(
        _ frame: ArraySlice<UInt8>, _ connection: SchedulerConnection
    ) -> Bool {
        guard let request = try? FleetRequest(frame) else {
            settings.log("closed a connection that sent an invalid message", 4)
            return false
        }
        if case .hello(let version, let fleet) = request {
            guard !connection.isGreeted else { return false }
            return greet(connection, version, fleet)
        }
        guard connection.isGreeted, let etcd else { return false }
        connection.unanswered += 1
        guard connection.unanswered <= Self.unansweredMax else {
            settings.log("closed a connection that does not wait for answers", 4)
            return false
        }
        return execute(request, connection, etcd)
    }

    private static let unansweredMax =
        FleetWire.transactionsMax + 4 * FleetWire.leaseRequestsMax

    private func execute(
        _ request: FleetRequest, _ connection: SchedulerConnection, _ etcd: EtcdThreads
    ) -> Bool {
        let client = connection.number
        switch request {
        case .hello: return false
        case .openLease(let seconds):
            etcd.ask(.init(client: client, request: .open(seconds: seconds)))
        case .keepAlive(let lease):
            etcd.ask(.init(client: client, request: .keepAlive(lease)))
        case .endLease(let lease):
            etcd.ask(.init(client: client, request: .end(lease)))
        case .load(let number):
            guard number > connection.load else { return false }
            connection.load = number
            for case .load(_, let waiting) in etcd.watch.replace(
                with: .load(client: client, number: number))
            {
                reports.put(.watchLost(number: waiting), for: client)
            }
            etcd.watch.wake()
        case .send(let id, let transaction):
            etcd.transactions.post(
                .init(
                    client: client, id: id, transaction: transaction,
                    requested: RunnerClock.awake()))
        }
        return true
    }

    private mutating func greet(
        _ connection: SchedulerConnection, _ version: UInt64, _ fleet: String
    ) -> Bool {
        if let scheduler, scheduler.isHungUp { receive(from: scheduler) }
        if let refusal = refusal(of: version, fleet) {
            settings.log("refused a scheduler (process \(connection.process)): \(refusal)", 4)
            connection.send(.refused(refusal))
            return false
        }
        connection.isGreeted = true
        strangers.removeAll { $0 === connection }
        scheduler = connection
        reports.serve(connection.number)
        connection.send(.welcome(version: FleetWire.version))
        if let status = etcd?.status.current { connection.send(.status(status)) }
        settings.notify(.status(summary))
        return true
    }

    /// Why a scheduler is not served; nil if it is.
    private func refusal(of version: UInt64, _ fleet: String) -> String? {
        guard version == FleetWire.version else {
            return "timerd speaks version \(version) of their protocol and timerd-fleet "
                + "\(FleetWire.version); restart both: systemctl restart timerd-fleet timerd"
        }
        guard case .etcd(let options, _) = source, etcd != nil else {
            return problem ?? "timerd-fleet is not configured"
        }
        guard fleet == options.fleet else {
            return "timerd belongs to the fleet \"\(fleet)\" and timerd-fleet to "
                + "\"\(options.fleet)\"; run: systemctl reload timerd timerd-fleet"
        }
        guard let scheduler else { return nil }
        return "another timerd (process \(scheduler.process)) is connected to timerd-fleet; stop "
            + "one of them: two daemons must not be one machine of a fleet"
    }

    // MARK: - Reports

    /// Passes the reports of the threads on, as far as the scheduler reads them.
    mutating func send() {
        let isFull = (scheduler?.socket.backlog ?? 0) >= ReportQueue.bytesMax
        let taken = reports.drain(at: RunnerClock.awake(), isFull: isFull)
        nextReport = taken.nextAt
        for report in taken.reports {
            guard let scheduler else { break }
            scheduler.send(report.bytes)
            if report.isAnswer { scheduler.unanswered = max(0, scheduler.unanswered - 1) }
        }
        if taken.hasRoom { etcd?.wake() }
        if let status = taken.status { note(status) }
        for connection in [scheduler].compactMap({ $0 }) + strangers
        where !connection.socket.flush() {
            // Its last requests may have arrived, and are executed.
            receive(from: connection)
            drop(connection)
        }
    }

    private mutating func note(_ status: FleetLinkStatus) {
        scheduler?.send(.status(status))
        settings.notify(.status(summary))
        guard status.problem != nil || status.endpoint != nil,
            logged.mustLog(status.problem, at: RunnerClock.awake())
        else { return }
        if let problem = status.problem {
            settings.log(problem, 4)
        } else if let endpoint = status.endpoint {
            settings.log("etcd answers at \(endpoint)", 6)
        }
    }
}
