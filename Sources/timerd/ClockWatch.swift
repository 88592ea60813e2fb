// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Dispatch
import Glibc

/// Hears of every setting of the calendar clock: libdispatch's own wall timers are never told of one.
final class ClockWatch {
    private let source: any DispatchSourceRead

    /// Why the clock cannot be watched.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Calls `changed` on the queue each time the clock was set.
    init(queue: DispatchQueue, changed: @escaping @Sendable () -> Void) throws(Failure) {
        let watch = clinux_clock_watch()
        guard watch >= 0 else {
            throw Failure(description: "cannot watch the clock: \(systemError())")
        }
        source = DispatchSource.makeReadSource(fileDescriptor: watch, queue: queue)
        source.setEventHandler { @Sendable in
            if clinux_clock_watch_again(watch) != 0 { changed() }
        }
        source.setCancelHandler { @Sendable in close(watch) }
        source.activate()
    }

    deinit { source.cancel() }
}
