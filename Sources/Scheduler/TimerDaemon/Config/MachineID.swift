// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore

/// The identity of the machine (machine-id(5)), from which the jitter of jobs is derived.
package enum MachineID {
    /// A number that never changes on one machine and differs between machines. The id itself is
    /// confidential, so only a hash of it leaves this type. Without an id, the number is a hash of
    /// the host name.
    package static var seed: UInt64 {
        FNV1a.hash(read("/etc/machine-id") ?? Array((Hostname.current ?? "").utf8))
    }

    private static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        let digits = bytes.prefix(max(0, count)).filter { $0 > 32 }
        // Before the first boot it may be empty or say "uninitialized".
        return digits.count == 32 ? digits : nil
    }
}
