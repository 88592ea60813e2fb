// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Synchronization
import TimerCore

/// Leaves the daemon's signs of life in the heartbeat file, off the worker queue: a file in the foreground
/// may lie on a disk that stalls.
final class Pulse: Sendable {
    private struct State {
        var file: HeartbeatFile
        var hasFailed = false
    }

    private let queue = DispatchQueue(label: "timerd.pulse", qos: .default)
    private let state: Mutex<State>
    private let log: Logger

    init(file: HeartbeatFile, log: Logger) {
        state = Mutex(State(file: file))
        self.log = log
    }

    /// Writes the sign of life as soon as the file lets it.
    func beat(_ heartbeat: Heartbeat) {
        queue.async { [self] in
            state.withLock { state in
                let failure = state.file.write(heartbeat)
                if let failure, !state.hasFailed {
                    log.error(
                        """
                        The heartbeat cannot be written: \(systemError(failure)); if the daemon is \
                        killed now, up to \(TimeSpan.text(Recollection.lossAtPowerCut)) of each \
                        job's time is lost
                        """)
                }
                state.hasFailed = failure != nil
            }
        }
    }
}
