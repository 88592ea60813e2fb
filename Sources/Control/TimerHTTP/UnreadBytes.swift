// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How many bytes of answers wait for users with read access to read them. The client decides how
/// long such an answer stays in memory.
package final class UnreadBytes: Sendable {
    package init() {}

    /// The most bytes of answers that wait at the same time.
    static let max = 256 << 20
    /// An answer of at most this many bytes is sent even if too many wait.
    static let shortMax = 65_536

    private let bytes = Mutex(0)

    /// Counts this many bytes.
    ///
    /// - Returns: false if too many bytes wait already, and these do not count. An answer that is
    ///   longer than the limit is accepted if it is the only one.
    func reserve(_ count: Int) -> Bool {
        bytes.withLock { bytes in
            guard count <= Self.shortMax || bytes == 0 || bytes + count <= Self.max else {
                return false
            }
            bytes += count
            return true
        }
    }

    /// Ends counting these bytes: they were read, or the client is gone.
    func giveBack(_ count: Int) { bytes.withLock { $0 -= count } }
}
