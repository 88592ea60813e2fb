// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization
import Systemd
import TimerCore

/// Sends the daemon's state to the service manager. Does nothing if there is none.
final class Supervision: Sendable {
    let watchdogInterval: Duration?

    private let notify: Notify
    private let log: Logger
    private let hasFailed = Mutex(false)
    private let hasStopped = Mutex(false)

    init(notify: Notify, watchdogInterval: Duration?, log: Logger) {
        self.notify = notify
        self.watchdogInterval = watchdogInterval
        self.log = log
    }

    /// Whether a service manager listens.
    var isSupervised: Bool { notify.isSupervised }

    /// Whether `stopping` was called.
    var isStopping: Bool { hasStopped.withLock { $0 } }

    /// Does nothing after `stopping`: the manager would take the daemon for one that runs.
    func ready(_ status: String) {
        hasStopped.withLock { if !$0 { note(notify.ready(status: status)) } }
    }

    func status(_ text: String) { note(notify.status(text)) }
    func keepAlive() { note(notify.watchdog()) }
    func stopping() {
        hasStopped.withLock { hasStopped in
            hasStopped = true
            note(notify.stopping())
        }
    }

    func extendTimeout(_ span: Duration) { note(notify.extendTimeout(span)) }
    func reloading(at now: Now) { note(notify.reloading(monotonic: now.awake.nanoseconds / 1000)) }

    /// A manager that cannot be reached is logged once. It will act by its own time limits.
    private func note(_ result: Notify.Result) {
        switch result {
        case .sent, .notSupervised: hasFailed.withLock { $0 = false }
        case .failed(let code):
            let isFirst = hasFailed.withLock { failed in
                defer { failed = true }
                return !failed
            }
            guard isFirst else { return }
            log.warning(
                """
                The service manager cannot be told anything: \(systemError(code)); if that lasts, \
                its watchdog will restart the daemon
                """)
        }
    }
}
