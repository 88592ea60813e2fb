// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch

/// The daemon's memory. To read a configuration and the accounts of its jobs takes several times what is kept
/// of them, and what is freed lies between what is not.
enum Heap {
    /// How long after the beginning of what frees much: until it is written down and said in the log, too.
    private static let delay: DispatchTimeInterval = .seconds(1)
    private static let queue = DispatchQueue(label: "timerd.heap", qos: .utility)

    /// Has it stay near what is in use. To be called before there are threads.
    static func configureMalloc() { clinux_heap_keep_small() }

    /// Gives what is free back to the machine, in a while.
    static func giveBackSoon() {
        queue.asyncAfter(deadline: .now() + delay) { clinux_heap_give_back() }
    }
}
