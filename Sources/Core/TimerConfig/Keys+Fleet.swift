// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension JobKey {
    /// The keys of jobs that a fleet of machines shares.
    static let fleets: [JobKey] = [
        JobKey(
            "fleet", .words(["one", "each"]),
            "\"one\": each firing starts on one machine of the fleet; \"each\": on each of them, and they share the pause; absent: on this machine.",
            default: false
        ) { node, draft throws(Fault) in
            draft.isOnEachMachine = try node.choice(of: [("one", false), ("each", true)])
            draft.fleetMark = node.mark
        },
        JobKey(
            "on", .array(.pattern(ValueShape.nameOfFleet), min: 1),
            "With fleet: the labels that a machine must have to start the job."
        ) { node, draft throws(Fault) in draft.fleet.labels = try node.labels() },
        JobKey(
            "prefer", .array(.pattern(ValueShape.nameOfFleet), min: 1),
            "With fleet: the machines that start the job first, in this order."
        ) { node, draft throws(Fault) in draft.fleet.prefer = try node.machineNames() },
        JobKey(
            "takeover-delay", .span,
            "With fleet: how long each further machine waits for the one before it.",
            standard: .string("2s")
        ) { node, draft throws(Fault) in
            draft.fleet.takeoverDelay = try node.span()
            guard draft.fleet.takeoverDelay >= FleetPolicy.takeoverDelayMin else {
                throw Fault(
                    node.mark,
                    "is shorter than 100 ms, so that several machines would try to start each firing"
                )
            }
        },
        JobKey(
            "on-lost", .words(of: FleetPolicy.Loss.self),
            "With fleet: what happens with a run whose machine disappeared.",
            standard: .string(FleetPolicy().onLost.rawValue)
        ) { node, draft throws(Fault) in draft.fleet.onLost = try node.word() },
        JobKey(
            "on-isolation", .words(of: FleetPolicy.Isolation.self),
            "With fleet: what happens with a run whose machine loses its connection to the fleet.",
            standard: .string(FleetPolicy().onIsolation.rawValue)
        ) { node, draft throws(Fault) in draft.fleet.onIsolation = try node.word() },
        JobKey(
            "on-fleet-away", .words(of: FleetPolicy.Away.self),
            "With fleet: what happens with runs that are due while etcd does not answer.",
            standard: .string(FleetPolicy().onFleetAway.rawValue)
        ) { node, draft throws(Fault) in draft.fleet.onFleetAway = try node.word() },
    ]
}

extension DaemonKey {
    /// The keys of `[fleet]`.
    static let fleet: [DaemonKey] = [
        fleetKey(
            "name", .pattern(ValueShape.nameOfFleet), "The name of the fleet."
        ) { node, fleet throws(Fault) in
            let text = try node.string()
            guard let name = Job.Name(text) else {
                throw Fault(node.mark, "\"\(text)\" is not a name; it has the form of a job name")
            }
            fleet.name = name.description
        },
        fleetKey(
            "machine", .pattern(ValueShape.nameOfFleet),
            "The name of this machine in the fleet; the default is its hostname."
        ) { node, fleet throws(Fault) in fleet.machine = try node.machineName() },
        fleetKey(
            "labels", .array(.pattern(ValueShape.nameOfFleet), min: 1),
            "The labels of this machine, which jobs can name in on."
        ) { node, fleet throws(Fault) in fleet.labels = try node.labels() },
        fleetKey(
            "etcd", .array(.url, min: 1), "The addresses of the members of the etcd cluster."
        ) { node, fleet throws(Fault) in fleet.etcd = try node.endpoints() },
        fleetKey(
            "ca", .path,
            "The certificates that sign those of etcd; the default is those of the system."
        ) { node, fleet throws(Fault) in fleet.ca = try node.programPath() },
        fleetKey(
            "certificate", .path, "The certificate of this machine, if etcd requires one."
        ) { node, fleet throws(Fault) in fleet.certificate = try node.programPath() },
        fleetKey(
            "key", .path, "The private key of the certificate."
        ) { node, fleet throws(Fault) in fleet.key = try node.programPath() },
        fleetKey(
            "user", .text, "The user in etcd, if its authentication is enabled."
        ) { node, fleet throws(Fault) in
            let text = try node.string()
            guard (1...100).contains(text.utf8.count) else {
                throw Fault(node.mark, "must have 1 to 100 characters")
            }
            fleet.user = text
        },
        fleetKey(
            "password-file", .path, "The file with the password of the user in etcd."
        ) { node, fleet throws(Fault) in fleet.passwordFile = try node.programPath() },
        fleetKey(
            "lease", .span, "How long a machine that does not answer counts as connected.",
            standard: .string("10s")
        ) { node, fleet throws(Fault) in
            fleet.lease = try node.span(in: FleetSettings.leases)
            guard fleet.lease.components.attoseconds == 0 else {
                throw Fault(node.mark, "must be whole seconds: etcd knows no others")
            }
        },
        fleetKey(
            "clock-skew-max", .span,
            "How far the wall clock of this machine may differ from that of etcd.",
            standard: .string("1s")
        ) { node, fleet throws(Fault) in
            fleet.clockSkewMax = try node.span(in: FleetSettings.clockSkews)
        },
    ]

    private static func fleetKey(
        _ name: String, _ shape: ValueShape, _ help: String, standard: JSONValue? = nil,
        _ read: @escaping @Sendable (TomlNode, inout FleetSettings) throws(Fault) -> Void
    ) -> DaemonKey {
        DaemonKey(name, shape, help, standard: standard) { node, settings throws(Fault) in
            var fleet = settings.fleet ?? FleetSettings()
            // A table with an error is a table too.
            defer { settings.fleet = fleet }
            try read(node, &fleet)
        }
    }
}

extension ValueShape {
    /// A name or a label of a fleet.
    static let nameOfFleet = "^[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}$"
}

extension TomlNode {
    /// The most labels of a machine or a job, and the most machines that a job prefers.
    private static let namesMax = 100

    func machineName() throws(Fault) -> MachineName {
        let text = try string()
        guard let name = MachineName(text) else {
            throw Fault(mark, MachineName.fault(in: text) ?? "is not a name")
        }
        return name
    }

    /// The names of machines; an error if one is there twice.
    func machineNames() throws(Fault) -> [MachineName] {
        var names: [MachineName] = []
        _ = try list("[\"web1\"]").readEach { (node) throws(Fault) in
            let name = try node.machineName()
            guard !names.contains(name) else {
                throw Fault(node.mark, "\"\(name)\" is there twice")
            }
            names.append(name)
        }
        return names
    }

    func labels() throws(Fault) -> Set<String> {
        let labels = try list("[\"db\"]").readEach { (node) throws(Fault) in
            let text = try node.string()
            guard Job.Name(text) != nil else {
                throw Fault(node.mark, "\"\(text)\" is not a label; it has the form of a job name")
            }
            return text
        }
        return Set(labels)
    }

    private func list(_ example: String) throws(Fault) -> [TomlNode] {
        guard case .array(let nodes) = value else {
            throw Fault(mark, "must be an array such as \(example), not \(value.kind)")
        }
        guard (1...Self.namesMax).contains(nodes.count) else {
            throw Fault(mark, "has \(nodes.count) names; 1 to \(Self.namesMax)")
        }
        return nodes
    }

    /// The addresses of a cluster: a scheme, a host and a port each. What connects to them parses
    /// them again.
    func endpoints() throws(Fault) -> [String] {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark, "must be an array such as [\"https://10.0.0.1:2379\"], not \(value.kind)")
        }
        guard (1...FleetSettings.endpointsMax).contains(nodes.count) else {
            throw Fault(mark, "has \(nodes.count) addresses; 1 to \(FleetSettings.endpointsMax)")
        }
        return try nodes.readEach { (node) throws(Fault) in
            let text = try node.string()
            guard Self.isEndpoint(text) else {
                throw Fault(
                    node.mark,
                    "is not an address such as \"https://10.0.0.1:2379\": a scheme, a host and a port; a password "
                        + "is in password-file")
            }
            return text
        }
    }

    private static func isEndpoint(_ text: String) -> Bool {
        let lower = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }),
            text.utf8.count <= 300
        else { return false }
        var place = lower.dropFirst(scheme.count)
        if place.hasSuffix("/") { place.removeLast() }
        guard let colon = place.lastIndex(of: ":"), colon > place.startIndex,
            let port = Int(place[place.index(after: colon)...]), (1...65_535).contains(port)
        else { return false }
        let host = place[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        return host.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 97...122, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            case UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): isBracketed
            default: false
            }
        }
    }

    func span(in range: ClosedRange<Duration>) throws(Fault) -> Duration {
        let span = try span()
        guard range.contains(span) else {
            throw Fault(
                mark,
                "is out of range; from \(TimeSpan.text(range.lowerBound)) to \(TimeSpan.text(range.upperBound))"
            )
        }
        return span
    }
}
