// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// How the values of keys about fleets are read.
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
