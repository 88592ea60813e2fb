// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostQueues

/// Collects output, so that it is written to standard output in large pieces.
package struct Output {

    init() {}

    private var bytes: [UInt8] = []

    mutating func write(_ text: String) {
        bytes += text.utf8
        if bytes.count > 1 << 16 { flush() }
    }

    mutating func write(_ line: [UInt8]) {
        bytes += line
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count > 1 << 16 { flush() }
    }

    mutating func flush() {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            // The reader has ended, as in `timerd simulate | head`.
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        bytes.removeAll(keepingCapacity: true)
    }

    package static func complain(_ message: String) {
        let line = Array((message + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }
}
