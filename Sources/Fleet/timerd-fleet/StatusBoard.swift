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
        /// What is wrong with some of the endpoints, by their addresses.
        var alarms: [String: String] = [:]
        var strangers: [String: String] = [:]
        var last = FleetLinkStatus(isRunning: true)
        /// Whether other threads have taken the place of those that report here.
        var isClosed = false
    }

    private let state = Mutex(State())
    private let reports: ReportQueue

    init(reports: ReportQueue) { self.reports = reports }

    /// The status as of the last change.
    var current: FleetLinkStatus { state.withLock { $0.last } }

    /// etcd answered on this connection, so its problem is over.
    func answered(_ part: Part, _ receipt: EtcdReceipt) {
        change { state in
            state.problems[part] = nil
            state.clusters[part] = receipt.cluster
            state.endpoint = receipt.endpoint
        }
    }

    /// etcd did not answer, or refused something. A cancelled call is not a problem.
    func failed(_ part: Part, _ error: EtcdError) {
        guard error.code != .cancelled else { return }
        change { $0.problems[part] = error.description }
    }

    /// Something that etcd answered cannot be used.
    func failed(_ part: Part, _ problem: String) { change { $0.problems[part] = problem } }

    /// Takes what a member said about itself: its version and its alarms.
    func learned(_ status: EtcdStatus) {
        let endpoint = status.receipt.endpoint
        change { state in
            if state.version == nil || state.endpoint == endpoint { state.version = status.version }
            state.alarms[endpoint] =
                status.errors.isEmpty
                ? nil
                : "\(endpoint): etcd reports \(status.errors.joined(separator: ", ")); "
                    + "etcdctl alarm list and the log of etcd say why"
        }
    }

    /// How many members the cluster of an endpoint has, of how many that are configured. Debian's package
    /// starts an etcd when it is installed, and three of these look like one cluster: they even have the
    /// same number.
    func learned(members count: Int, from endpoint: String, of configured: Int) {
        change { state in
            state.strangers[endpoint] =
                count >= configured
                ? nil
                : "the etcd at \(endpoint) is a cluster of \(count == 1 ? "1 member" : "\(count) members"), "
                    + "and [fleet] names \(configured): those that do not know each other have a fleet each; "
                    + "`etcdctl member list` shows what each of them knows, and FLEET.md how they become one"
        }
    }

    /// Reports nothing any more, because its threads are being ended.
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
        return [state.strangers, state.alarms].lazy.compactMap { $0.min { $0.key < $1.key }?.value }
            .first
    }
}
