// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import Synchronization
import TimerFleetLink

/// What the threads know about the connection to etcd.
final class StatusBoard: Sendable {
    /// The connections, by what they are for.
    enum Part: Hashable, CaseIterable {
        case leases
        case watch
        case transactions
    }

    private struct State {
        var problems: [Part: String] = [:]
        var clusters: [Part: String] = [:]
        var endpoint: String?
        var version: String?
        var alarm: String?
        var last = FleetLinkStatus(isRunning: true)
        /// Whether other threads have taken the place of those that report here.
        var isClosed = false
    }

    private let state = Mutex(State())
    private let reports: ReportQueue

    init(reports: ReportQueue) { self.reports = reports }

    /// The status now.
    var current: FleetLinkStatus { state.withLock { $0.last } }

    /// etcd answered.
    func answered(_ part: Part, _ receipt: EtcdReceipt) {
        change { state in
            state.problems[part] = nil
            state.clusters[part] = receipt.cluster
            state.endpoint = receipt.endpoint
        }
    }

    /// etcd did not answer, or refused something.
    func failed(_ part: Part, _ error: EtcdError) {
        guard error.code != .cancelled else { return }
        change { $0.problems[part] = error.description }
    }

    /// Something that etcd answered cannot be used.
    func failed(_ part: Part, _ problem: String) { change { $0.problems[part] = problem } }

    /// What the member said that answered.
    func learned(_ status: EtcdStatus) {
        change { state in
            state.version = status.version
            state.alarm =
                status.errors.isEmpty
                ? nil
                : "\(status.receipt.endpoint): etcd reports \(status.errors.joined(separator: ", ")); "
                    + "etcdctl alarm list and the log of etcd say why"
        }
    }

    /// Nothing is reported any more.
    func close() { state.withLock { $0.isClosed = true } }

    private func change(_ body: (inout State) -> Void) {
        let changed = state.withLock { state -> FleetLinkStatus? in
            guard !state.isClosed else { return nil }
            body(&state)
            let problem = Self.problem(state)
            let new = FleetLinkStatus(
                isRunning: true, endpoint: state.problems.isEmpty ? state.endpoint : nil,
                cluster: state.clusters[.watch] ?? state.clusters[.leases],
                version: state.version, problem: problem)
            guard new != state.last else { return nil }
            state.last = new
            return new
        }
        if let changed { reports.put(changed) }
    }

    private static func problem(_ state: State) -> String? {
        for part in Part.allCases {
            if let problem = state.problems[part] { return problem }
        }
        // Both are asked all the time; transactions are not, and can be those of an earlier cluster.
        if let one = state.clusters[.leases], let other = state.clusters[.watch], one != other {
            return "the endpoints in [fleet] belong to different clusters (\(one), \(other)); "
                + "name the members of one cluster only"
        }
        return state.alarm
    }
}
