// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// Sends messages of notifiers, as the configuration says that the runner has read itself.
extension ServerLoop {
    /// Sends a message, once the configuration is read if its files have changed. A run that sends
    /// it already is not started again.
    mutating func send(_ order: MessageOrder) throws(Closing) {
        try check(
            outbound.size.runs + 1, settings.limits.runs, "runs that are not forgotten")
        try check(messages.count + 1, settings.limits.messages, "messages that wait")
        try check(
            runner.load.startBytes, settings.limits.startBytes, "bytes for runs that wait to start")
        guard outbound.isNew(order.run) else { return }
        if settings.hasChanged() {
            mustCheck = true
        } else if readings == 0 {
            isStale = true
        }
        // A reading in progress may have begun before the change.
        let mustWait = mustCheck || isStale || isReading
        messages.append((order, mustWait ? readings + (mustCheck || isStale ? 1 : 0) : 0))
        if !mustWait { sendWaiting() }
    }

    /// Sends the messages that waited for the last reading, or an earlier one.
    mutating func sendWaiting() {
        guard !messages.isEmpty else { return }
        let orders = messages.filter { $0.reading <= readings }.map(\.order)
        messages.removeAll { $0.reading <= readings }
        for order in orders {
            do throws(Spawner.Failure) {
                runner.start([try request(for: order)])
            } catch {
                _ = outbound.take(
                    .ended(order.run, RunEnd(error.outcome, at: RunnerClock.wall())))
            }
        }
    }

    private func request(for order: MessageOrder) throws(Spawner.Failure) -> RunRequest {
        guard let notifier = notifiers[order.notifier] else {
            if let unreadable {
                throw Spawner.failure(EINVAL, "read the configuration: \(unreadable)")
            }
            throw Spawner.failure(
                ENOENT, "find the notifier \(order.notifier) in the current configuration")
        }
        let credential = try MessageCommand.credential(
            of: notifier, in: settings.messageCredentials)
        var request = RunRequest(
            id: order.run,
            definition: MessageCommand.definition(
                for: notifier, timeout: order.timeout, user: settings.messageUser),
            missed: 0, active: .zero)
        request.message = RunRequest.Message(order, of: notifier, credential: credential)
        return request
    }
}
