// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch

/// The daemon's memory. Reading a configuration and the saved state of its jobs takes several times
/// the memory that the result needs, and the freed pieces lie between pieces in use.
package enum Heap {
    /// How long to wait before memory is given back: until the result is also stored and logged.
    private static let delay: DispatchTimeInterval = .seconds(1)
    private static let queue = DispatchQueue(label: "timerd.heap", qos: .utility)

    /// Configures malloc to keep little free memory. Must be called before any thread is created.
    package static func configureMalloc() { clinux_heap_keep_small(2) }

    /// Gives free memory back to the system after a delay.
    package static func giveBackSoon() {
        queue.asyncAfter(deadline: .now() + delay) { clinux_heap_give_back() }
    }
}
