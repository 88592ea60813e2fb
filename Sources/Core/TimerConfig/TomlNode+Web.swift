// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension TomlNode {
    /// The most hosts in `hosts`.
    private static let hostsMax = 100

    /// Names of hosts as a browser sends them, some with a port, in small letters.
    func hosts() throws(Fault) -> [String] {
        guard case .array(let nodes) = value else {
            throw Fault(mark, "must be an array such as [\"jobs.example.org\"], not \(value.kind)")
        }
        guard nodes.count <= Self.hostsMax else {
            throw Fault(mark, "has \(nodes.count) hosts; at most \(Self.hostsMax)")
        }
        return try nodes.readEach { (node) throws(Fault) in
            let text = try node.string()
            guard Self.isHost(text) else {
                throw Fault(
                    node.mark,
                    "is not a host such as \"jobs.example.org\" or \"jobs.example.org:8443\": no "
                        + "scheme, no path, no wildcard")
            }
            return text.lowercased()
        }
    }

    /// Letters, digits, '.' and '-', and a port from 1 to 65535 behind a colon.
    private static func isHost(_ text: String) -> Bool {
        let halves = text.utf8.split(
            separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard halves.count <= 2, (1...253).contains(halves[0].count) else { return false }
        let isName = halves[0].allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
        }
        let ends = [halves[0].first, halves[0].last]
        let isBounded = ends.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") }
        guard isName, isBounded else { return false }
        guard halves.count == 2 else { return true }
        guard (1...5).contains(halves[1].count),
            halves[1].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = Int(String(decoding: halves[1], as: UTF8.self))
        else { return false }
        return (1...65_535).contains(port)
    }
}
