// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
package import Dispatch
import Glibc
import HostFiles

/// Notices when the wall clock is set. The timers of libdispatch do not report that.
package final class ClockWatch {
    private let descriptor: Int32
    private var source: (any DispatchSourceRead)?

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package init() throws(Failure) {
        descriptor = clinux_clock_watch()
        guard descriptor >= 0 else {
            throw Failure(description: "cannot watch the clock: \(systemError())")
        }
    }

    /// Calls `changed` on the queue each time the clock is set from now on, and at once if it was
    /// set since this watch was created. Called once.
    package func activate(queue: DispatchQueue, changed: @escaping @Sendable () -> Void) {
        let watch = descriptor
        let source = DispatchSource.makeReadSource(fileDescriptor: watch, queue: queue)
        source.setEventHandler { @Sendable in
            if clinux_clock_watch_again(watch) != 0 { changed() }
        }
        source.setCancelHandler { @Sendable in close(watch) }
        source.activate()
        self.source = source
    }

    deinit {
        if let source { source.cancel() } else { close(descriptor) }
    }
}
