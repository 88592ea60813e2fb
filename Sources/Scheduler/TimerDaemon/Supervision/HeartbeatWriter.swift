// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostFiles
package import Logging
import Synchronization
import TimerCore
package import TimerRecording

/// Writes the heartbeats of the daemon. If the file is in memory, as it should be, it is written at
/// once, so that an idle daemon wakes only one thread. A file on a disk is written on a queue of
/// its own, because a disk may stall.
package final class HeartbeatWriter: Sendable {
    private struct State {
        var file: HeartbeatFile
        var hasFailed = false
        /// The last heartbeat, which is written again when the file is replaced; nil before the
        /// first.
        var last: Heartbeat?
        var generation: Int64 = 0
    }

    private let queue = DispatchQueue(label: "timerd.heartbeat", qos: .default)
    private let state: Mutex<State>
    private let log: Logger
    /// Not in the state, so that no caller waits for a disk to find out.
    private let isInMemory: Atomic<Bool>

    package init(file: HeartbeatFile, log: Logger) {
        isInMemory = Atomic(file.isInMemory)
        state = Mutex(State(file: file))
        self.log = log
    }

    /// Sets the generation of the database for the heartbeats from now on.
    package func note(generation: Int64) { state.withLock { $0.generation = generation } }

    /// Writes a heartbeat as soon as the file can be written.
    func write(_ heartbeat: Heartbeat) {
        guard !isInMemory.load(ordering: .relaxed) else { return writeNow(heartbeat) }
        queue.async { self.writeNow(heartbeat) }
    }

    /// Writes into this file from now on, because the former one was deleted.
    package func replace(_ file: HeartbeatFile) {
        isInMemory.store(file.isInMemory, ordering: .relaxed)
        let last = state.withLock { state in
            state.file.close()
            state.file = file
            return state.last
        }
        // If a later one is written before it, the file has both, and its reader takes that one.
        if let last { write(last) }
    }

    private func writeNow(_ heartbeat: Heartbeat) {
        state.withLock { state in
            var heartbeat = heartbeat
            heartbeat.generation = state.generation
            state.last = heartbeat
            let failure = state.file.write(heartbeat)
            if let failure, !state.hasFailed {
                log.error(
                    """
                    The heartbeat cannot be written: \(systemError(failure)); if the daemon is \
                    killed now, up to \(TimeSpan.text(RecoveredState.lossAtPowerCut)) of each \
                    job's time is lost
                    """)
            }
            state.hasFailed = failure != nil
        }
    }
}
