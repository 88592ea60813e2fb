// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// Sends messages of notifiers, as the configuration says that the runner has read itself.
extension ServerLoop {
    /// Sends a message, once the configuration is read if its files have changed. A run that sends
    /// it already is not started again.
    mutating func send(_ request: MessageRequest) throws(Closing) {
        try check(
            outbound.size.runs + 1, settings.limits.runs, "runs that are not forgotten")
        try check(waiting.messageCount + 1, settings.limits.messages, "messages that wait")
        try check(
            runner.load.startBytes, settings.limits.startBytes, "bytes for runs that wait to start")
        guard outbound.isNew(request.run) else { return }
        if settings.hasChanged() {
            readings.check()
        } else if readings.latest == 0 {
            readings.read()
        }
        // A reading in progress may have begun before the change.
        let mustWait = readings.isNeeded || readings.isReading
        waiting.append(request, until: mustWait ? readings.covering : 0)
        if !mustWait { sendWaiting() }
    }

    /// Sends the messages that waited for the last reading, or an earlier one.
    mutating func sendWaiting() {
        for message in waiting.takeMessages(through: readings.latest) {
            do throws(Spawner.Failure) {
                runner.start([try request(for: message)])
            } catch {
                _ = outbound.enqueue(
                    .ended(message.run, RunEnd(error.outcome, at: RunnerClock.wall())))
            }
        }
    }

    private func request(for message: MessageRequest) throws(Spawner.Failure) -> RunRequest {
        let notifier = try rules.notifier(message.notifier)
        let credential = try MessageCommand.credential(
            of: notifier, in: settings.messageCredentials)
        var request = RunRequest(
            id: message.run,
            definition: MessageCommand.definition(
                for: notifier, timeout: message.timeout, user: settings.messageUser),
            missed: 0, active: .zero)
        request.message = RunRequest.Message(message, of: notifier, credential: credential)
        return request
    }
}
