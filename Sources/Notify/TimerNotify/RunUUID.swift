// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The identity of a run as a UUID, for services that know no other form.
public struct RunUUID: Hashable, Sendable, CustomStringConvertible {
    /// The UUID in lower case: `1fd2cb38-4bb1-5a2e-9d43-…`.
    public let description: String

    /// The namespace of URLs (RFC 9562, 6.6).
    private static let namespace: [UInt8] = [
        0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30,
        0xc8,
    ]

    /// The UUID of version 5 of `timerd:` with the identity of the run.
    public init(_ run: Run.ID) {
        var bytes = SHA1.hash(Self.namespace + Array("timerd:\(run)".utf8)).prefix(16)
        bytes[6] = bytes[6] & 0x0f | 0x50
        bytes[8] = bytes[8] & 0x3f | 0x80
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        description = String(decoding: text, as: UTF8.self)
    }
}
