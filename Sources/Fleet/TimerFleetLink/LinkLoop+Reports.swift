// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet
import TimerRunnerProtocol

/// The keys of a snapshot that have arrived so far.
struct SnapshotParts {
    private var values: FleetAnswer.Reads = [:]
    private var bytes = 0

    /// Adds some keys. False if one was there already, or if there are too many.
    mutating func add(_ entries: [FleetEntry]) -> Bool {
        for entry in entries {
            guard values.updateValue(entry.value, forKey: entry.key) == nil else { return false }
            bytes += entry.cost
        }
        return values.count <= FleetWire.snapshotKeysMax && bytes <= FleetWire.snapshotBytesMax
    }

    /// Returns all parts, and begins again without any.
    mutating func drain() -> FleetAnswer.Reads {
        defer { self = SnapshotParts() }
        return values
    }
}

extension LinkLoop {
    /// Takes a message. False if it must not come now.
    mutating func handle(_ report: FleetReport) -> Bool {
        switch report {
        case .welcome(let version):
            guard !isGreeted else { return false }
            welcome(version)
        case .refused(let sentence):
            guard !isGreeted else { return false }
            disconnect(sentence)
        case .alive: return isGreeted
        case .dated(let endpoint, let date, let sent):
            guard isGreeted else { return false }
            handler(.event(.dated(endpoint: endpoint, date: date, sent: sent)))
        case .status(var status):
            guard isGreeted else { return false }
            status.isRunning = true
            self.report(status)
        case .leased, .kept, .leaseLost, .leaseUnanswered, .leaseEnded:
            return isGreeted && handleLease(report)
        case .values, .loaded, .changed, .watchLost: return isGreeted && handleWatch(report)
        case .answered(let id, let answer):
            guard transactions.remove(id) != nil else { return false }
            handler(.event(.answered(id, answer)))
        case .unknown(let id):
            guard transactions.remove(id) != nil else { return false }
            handler(.event(.unknown(id)))
        }
        return true
    }

    private mutating func handleLease(_ report: FleetReport) -> Bool {
        switch report {
        case .leased(let lease, let sent):
            guard leaseRequests.remove(nil) != nil else { return false }
            leases.insert(lease)
            handler(.event(.leased(lease, sent: sent)))
        case .kept(let lease, let sent):
            guard leaseRequests.remove(lease) != nil else { return handleLate(lease) }
            handler(.event(.kept(lease, sent: sent)))
        case .leaseLost(let lease):
            // A transaction can be refused for it as well.
            if leaseRequests.remove(lease) != nil { lostWhileRenewed = lease }
            leases.remove(lease)
            handler(.event(.leaseLost(lease)))
        case .leaseUnanswered(let lease):
            return leaseRequests.remove(lease) != nil || handleLate(lease)
        case .leaseEnded(let lease): return leases.remove(lease) != nil
        default: return false
        }
        return true
    }

    /// Whether it is the answer to the renewal of a lease that is known to be lost. It comes once.
    private mutating func handleLate(_ lease: LeaseID?) -> Bool {
        guard let lease, lease == lostWhileRenewed else { return false }
        lostWhileRenewed = nil
        return true
    }

    private mutating func handleWatch(_ report: FleetReport) -> Bool {
        switch report {
        case .values(let entries):
            guard case .loading = watch else { return false }
            return snapshot.add(entries)
        case .loaded(let number, let cluster, let revision, let log):
            let values = snapshot.drain()
            guard case .loading(number) = watch else { return isFormer(number) }
            watch = .watching(number)
            let whole = FleetSnapshot(
                cluster: cluster, revision: revision, values: values, log: log)
            handler(.event(.loaded(whole)))
        case .changed(let number, let cluster, let revision, let reads):
            guard case .watching(number) = watch else { return isFormer(number) }
            handler(.event(.changed(cluster: cluster, revision: revision, reads)))
        case .watchLost(let number):
            snapshot = SnapshotParts()
            guard number == loads, number > 0 else { return isFormer(number) }
            watch = .none
            handler(.event(.watchLost))
        default: return false
        }
        return true
    }

    /// Whether it is the number of a watch that was replaced by another one.
    private func isFormer(_ number: UInt64) -> Bool { number < loads }

    // MARK: - The state of the connection

    mutating func report(_ status: FleetLinkStatus) {
        guard status != self.status else { return }
        self.status = status
        handler(.status(status))
    }

    mutating func report(problem: String) {
        var status = status ?? FleetLinkStatus(isRunning: isGreeted)
        status.problem = problem
        report(status)
    }
}
