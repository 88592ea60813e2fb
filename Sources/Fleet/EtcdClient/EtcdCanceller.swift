// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CCurl
import Synchronization

/// Ends what a client waits for, from any thread.
public final class EtcdCanceller: Sendable {
    private struct State {
        var isCancelled = false
        /// The address of the multi handle, as long as it exists.
        var multi: UInt = 0
    }

    private let state = Mutex(State())

    init() {}

    /// Whether `cancel` was called. It cannot be taken back.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends the call that the client executes, at once, with the code `cancelled`, and each later
    /// one too.
    public func cancel() {
        state.withLock { state in
            state.isCancelled = true
            // Its owner cannot free it meanwhile: that needs the lock.
            if let multi = UnsafeMutableRawPointer(bitPattern: state.multi) {
                curl_multi_wakeup(multi)
            }
        }
    }

    /// Names the multi handle that `cancel` wakes. It must be detached before it is freed.
    func attach(_ multi: UnsafeMutableRawPointer) {
        state.withLock { $0.multi = UInt(bitPattern: multi) }
    }

    /// The multi handle is about to be freed.
    func detach() { state.withLock { $0.multi = 0 } }
}
