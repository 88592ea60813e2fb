// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TimerCore

/// How long writes to the store take, and how many fail.
package final class StoreMeter: Sendable {
    package struct Reading: Sendable {
        package var writes = Histogram(bounds: Histogram.writeBounds)
        package var errors: UInt64 = 0
    }

    private let state = Mutex(Reading())

    package var reading: Reading { state.withLock { $0 } }

    func addWrite(_ took: Duration) { state.withLock { $0.writes.add(took) } }

    func addError() { state.withLock { $0.errors &+= 1 } }
}

extension Histogram {
    /// For how long writes to the store take.
    fileprivate static let writeBounds: [Duration] =
        [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 500_000].map {
            .microseconds($0)
        } + [.seconds(1), .seconds(10)]
}
