// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
package import Logging
import Synchronization
package import Systemd
import TimerCore

/// Sends the daemon's state to the service manager. Does nothing if there is none.
package final class Supervision: Sendable {
    let watchdogInterval: Duration?

    /// What the service manager takes the daemon for.
    private enum Phase {
        case starting
        case running
        case stopping
    }

    private let notify: Notify
    private let log: Logger
    private let hasFailed = Mutex(false)
    private let phase = Mutex(Phase.starting)

    package init(notify: Notify, watchdogInterval: Duration?, log: Logger) {
        self.notify = notify
        self.watchdogInterval = watchdogInterval
        self.log = log
    }

    /// Whether a service manager listens, so that it is worth making a status line.
    package var isSupervised: Bool { notify.isSupervised }

    /// Whether `stopping` was called.
    package var isStopping: Bool { phase.withLock { $0 == .stopping } }

    /// The start is complete. Does nothing after `stopping`: the manager would take the daemon for
    /// one that runs.
    package func ready(_ status: String) {
        phase.withLock { phase in
            guard phase != .stopping else { return }
            phase = .running
            note(notify.ready(status: status))
        }
    }

    /// A reload begins. Does nothing before `ready`: the daemon is not in use yet.
    func reloading(at now: Now) {
        phase.withLock { phase in
            guard phase == .running else { return }
            note(notify.reloading(monotonic: now.awake.nanoseconds / 1000))
        }
    }

    /// A reload has ended. Before `ready` only the status is sent: to the manager, the same message
    /// would be the end of the start (sd_notify(3)), and other units would be started too early.
    func reloaded(_ status: String) {
        phase.withLock { phase in
            switch phase {
            case .starting: note(notify.status(status))
            case .running: note(notify.ready(status: status))
            case .stopping: break
            }
        }
    }

    func status(_ text: String) { note(notify.status(text)) }
    func keepAlive() { note(notify.watchdog()) }
    package func stopping() {
        phase.withLock { phase in
            phase = .stopping
            note(notify.stopping())
        }
    }

    package func extendTimeout(_ span: Duration) { note(notify.extendTimeout(span)) }

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
