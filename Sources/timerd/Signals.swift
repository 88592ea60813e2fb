// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Signals as events on a queue. SIGTERM and SIGINT stop, SIGHUP reloads; SIGPIPE is ignored for good,
/// since a peer that goes away is an error of a write and no reason to die.
final class Signals {
    private var sources: [any DispatchSourceSignal] = []

    /// Begins to take the signals. Their default actions are off from here on.
    init(
        queue: DispatchQueue, stop: @escaping @Sendable (String) -> Void,
        reload: @escaping @Sendable () -> Void
    ) {
        signal(SIGPIPE, SIG_IGN)
        take(SIGTERM, on: queue) { stop("SIGTERM") }
        take(SIGINT, on: queue) { stop("SIGINT") }
        take(SIGHUP, on: queue, reload)
    }

    private func take(
        _ number: Int32, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
    ) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { @Sendable in body() }
        source.activate()
        sources.append(source)
    }
}
