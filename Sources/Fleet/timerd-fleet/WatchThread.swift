// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol

/// Reads all keys, and then reports their changes, until it is asked to read them again.
struct WatchThread {
    /// How long the watch may be silent. The fleet clock is written each two seconds, but not during
    /// a hold; the member notices earlier than this that it stands.
    private static let silenceMax: Duration = .seconds(30)

    let work: WorkQueue<EtcdThreads.WatchWork>
    let options: EtcdOptions
    let status: StatusBoard
    let reports: ReportQueue

    func run() {
        while let next = work.next() {
            guard case .load(let client, let number) = next else { continue }
            // A cancelled client stays cancelled, so each watch has a new one.
            guard let etcd = EtcdClient.make(options, for: work, .watch, status) else { continue }
            // Something else may have been requested before the new client could be cancelled.
            guard !work.hasWork else {
                reports.put(.watchLost(number: number), for: client)
                continue
            }
            let isLoaded = load(number, client, etcd)
            reports.put(.watchLost(number: number), for: client, isAnswer: !isLoaded)
        }
    }

    /// Returns whether the keys were read, when the watch has ended.
    private func load(_ number: UInt64, _ client: UInt64, _ etcd: EtcdClient) -> Bool {
        let revision: Int64
        do throws(EtcdError) {
            let found = try etcd.loadAll()
            status.answered(.watch, found.receipt)
            let snapshot = found.snapshot
            let log = etcd.log()
            guard report(snapshot.values, for: client),
                put(
                    .loaded(
                        number: number, cluster: snapshot.cluster, revision: snapshot.revision,
                        log: log),
                    for: client, isAnswer: true)
            else { return false }
            revision = snapshot.revision
        } catch {
            status.failed(.watch, error)
            return false
        }
        let end = etcd.watch(from: revision + 1, silenceMax: Self.silenceMax) { event in
            switch event {
            case .created(let receipt): status.answered(.watch, receipt)
            case .changed(let cluster, let revision, let reads):
                return put(
                    .changed(number: number, cluster: cluster, revision: revision, reads),
                    for: client)
            case .progress, .unknownKey: break
            }
            return true
        }
        // A silent watch is no problem by itself: reading again shows whether there is one.
        if case .failed(let error) = end, error.code != .silent { status.failed(.watch, error) }
        return true
    }

    /// Reports the keys in portions. False if they are not wanted any more.
    private func report(_ values: FleetAnswer.Reads, for client: UInt64) -> Bool {
        var entries: [FleetEntry] = []
        var bytes = 0
        for (key, value) in values {
            guard let value else { continue }
            let entry = FleetEntry(key, value)
            if bytes > 0, bytes + entry.cost > FleetWire.valueBytesPerFrame {
                guard put(.values(entries), for: client) else { return false }
                (entries, bytes) = ([], 0)
            }
            entries.append(entry)
            bytes += entry.cost
        }
        return entries.isEmpty || put(.values(entries), for: client)
    }

    /// Waits for a scheduler that does not read. False if the report is not wanted any more.
    private func put(_ report: FleetReport, for client: UInt64, isAnswer: Bool = false) -> Bool {
        let report = ReportQueue.Report(bytes: report.bytes, isAnswer: isAnswer)
        while !reports.putIfRoom(report, for: client) {
            guard !work.hasWork else { return false }
            work.sleep()
        }
        return true
    }
}
