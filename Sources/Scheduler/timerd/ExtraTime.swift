// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerDaemon

/// While the daemon loads, tells the service manager repeatedly that the start is still in progress
/// (sd_notify(3), EXTEND_TIMEOUT_USEC=).
final class ExtraTime: Sendable {
    /// How much time each message asks for. The next message comes earlier.
    private static let span: Duration = .seconds(30)
    private static let interval: DispatchTimeInterval = .seconds(10)
    /// How many messages are sent at most: a start that takes longer than ten minutes hangs.
    private static let timesMax = 60

    private let supervision: Supervision
    private let isOver = Atomic(false)

    init(_ supervision: Supervision) {
        self.supervision = supervision
        guard supervision.isSupervised else { return }
        ask(times: Self.timesMax)
    }

    func end() { isOver.store(true, ordering: .relaxed) }

    private func ask(times: Int) {
        guard times > 0 else { return }
        Daemon.background.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
            guard let self, !isOver.load(ordering: .relaxed), !supervision.isStopping else {
                return
            }
            supervision.extendTimeout(Self.span)
            ask(times: times - 1)
        }
    }
}
