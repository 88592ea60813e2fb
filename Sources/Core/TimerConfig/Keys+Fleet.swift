// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension Draft {
    /// The keys of jobs that a fleet of machines shares.
    static let fleets: [JobKey] = [
        JobKey(
            "fleet", .words(["one", "each"]),
            "\"one\": each firing starts on one machine of the fleet; \"each\": on each of them, and they share the pause; absent: on this machine.",
            default: false,
            value: { draft in
                draft.fleetMark.map { _ in .string(draft.isOnEachMachine ? "each" : "one") }
            }
        ) { node, draft throws(Fault) in
            draft.isOnEachMachine = try node.choice(of: [("one", false), ("each", true)])
            draft.fleetMark = node.mark
        },
        JobKey(
            \.fleet.labels, "on", .labels,
            "With fleet: the labels that a machine must have to start the job."
        )
        .removed { $0.fleet.labels = [] },
        JobKey(
            \.fleet.prefer, "prefer",
            .list(
                of: .pattern(ValueShape.name), min: 1, write: { .string($0.description) }
            ) { (node) throws(Fault) in
                try node.machineNames()
            },
            "With fleet: the machines that start the job first, in this order."
        )
        .removed { $0.fleet.prefer = [] },
        JobKey(
            \.fleet.takeoverDelay, "takeover-delay",
            .span.atLeast(
                FleetPolicy.takeoverDelayMin,
                "so that several machines would try to start each firing"),
            "With fleet: how long each further machine waits for the one before it."),
        JobKey(
            \.fleet.onLost, "on-lost", .words,
            "With fleet: what happens with a run whose machine disappeared."),
        JobKey(
            \.fleet.onIsolation, "on-isolation", .words,
            "With fleet: what happens with a run whose machine loses its connection to the fleet."),
        JobKey(
            \.fleet.onFleetAway, "on-fleet-away", .words,
            "With fleet: what happens with runs that are due while etcd does not answer."),
    ]
}

extension FleetSettings: KeyTarget {
    /// The keys of `[fleet]`.
    static let keys: [Key<FleetSettings>] = [
        Key(\.name, "name", .fleetName, "The name of the fleet."),
        Key(
            \.machine, "machine", .machine,
            "The name of this machine in the fleet; the default is its hostname."),
        Key(
            \.labels, "labels", .labels,
            "The labels of this machine, which jobs can name in on."),
        Key(
            \.etcd, "etcd",
            .list(of: .url, min: 1, limits: "1 to \(endpointsMax)") { (node) throws(Fault) in
                try node.endpoints()
            },
            "The addresses of the members of the etcd cluster."),
        Key(
            \.ca, "ca", .path,
            "The certificates that sign those of etcd; the default is those of the system."),
        Key(
            \.certificate, "certificate", .path,
            "The certificate of this machine, if etcd requires one."),
        Key(\.key, "key", .path, "The private key of the certificate."),
        Key(
            \.user, "user",
            .text.checked {
                (1...100).contains($0.utf8.count) ? nil : "must have 1 to 100 characters"
            },
            "The user in etcd, if its authentication is enabled."),
        Key(
            \.passwordFile, "password-file", .path,
            "The file with the password of the user in etcd."),
        Key(
            \.lease, "lease",
            .span(in: leases).checked { lease in
                lease.components.attoseconds == 0
                    ? nil : "must be whole seconds: etcd knows no others"
            },
            "How long a machine that does not answer counts as connected."),
        Key(
            \.clockSkewMax, "clock-skew-max", .span(in: clockSkews),
            "How far the wall clock of this machine may differ from that of etcd."),
    ]
}

extension Key where Target == FleetSettings {
    /// The key as one of the daemon's settings.
    var ofDaemon: DaemonKey {
        DaemonKey(
            name, schema, type: type, limits: limits, help,
            value: { [value] in value($0.fleet ?? FleetSettings()) }
        ) {
            [read] (node, settings) throws(Fault) in
            var fleet = settings.fleet ?? FleetSettings()
            // A table with an error is a table too.
            defer { settings.fleet = fleet }
            try read(node, &fleet)
        }
    }
}

extension KeyShape where Value == Set<String> {
    fileprivate static var labels: Self {
        texts(of: .pattern(ValueShape.name), min: 1) { (node) throws(Fault) in
            try node.labels()
        }
    }
}

extension KeyShape where Value == String {
    fileprivate static var fleetName: Self {
        Self(.pattern(ValueShape.name), type: "NAME") { (node) throws(Fault) in
            let text = try node.string()
            guard let name = Job.Name(text) else {
                throw Fault(node.mark, "\"\(text)\" is not a name; it has the form of a job name")
            }
            return name.description
        }
    }
}

extension KeyShape where Value == MachineName {
    fileprivate static var machine: Self {
        Self(.pattern(ValueShape.name), type: "NAME") { (node) throws(Fault) in
            try node.machineName()
        }
    }
}
