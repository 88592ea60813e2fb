// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

/// A decoder of the journal's protocol, written from its description and not from the encoder's
/// source.
func decodeEntry(_ bytes: [UInt8]) throws -> [(name: String, value: [UInt8])] {
    struct Malformed: Error {}
    var fields: [(String, [UInt8])] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let end = try #require(rest.firstIndex(of: 0x0a))
        let line = rest[..<end]
        rest = rest[(end + 1)...]
        if let equals = line.firstIndex(of: UInt8(ascii: "=")) {
            let name = String(decoding: line[..<equals], as: UTF8.self)
            fields.append((name, Array(line[(equals + 1)...])))
        } else {
            guard rest.count >= 8 else { throw Malformed() }
            let count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(8)
            guard rest.count > count, rest.dropFirst(count).first == 0x0a else { throw Malformed() }
            fields.append((String(decoding: line, as: UTF8.self), Array(rest.prefix(count))))
            rest = rest.dropFirst(count + 1)
        }
    }
    return fields
}
