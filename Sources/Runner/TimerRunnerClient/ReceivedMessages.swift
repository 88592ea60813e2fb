// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerRunnerProtocol

/// What a client has received from a runner, and what it acknowledges: starts and ends of runs, and
/// output, which have numbers of their own. The numbers of another runner start at 1 again.
struct ReceivedMessages {
    /// The instance number of the runner of the current or last connection.
    private(set) var instance: UInt64
    /// The identity of the memory of that runner.
    private(set) var memory: UInt64
    private var events = Receipts()
    private var output = Receipts()
    /// Whether to acknowledge messages in the next loop iteration.
    private var mustAcknowledge = false

    init(instance: UInt64, memory: UInt64) {
        self.instance = instance
        self.memory = memory
    }

    /// The client is connected again.
    /// - Returns: whether it is the same runner.
    mutating func reconnect(instance: UInt64, memory: UInt64) -> Bool {
        self.memory = memory
        mustAcknowledge = true
        guard instance != self.instance else {
            events.resetAcknowledged()
            output.resetAcknowledged()
            return true
        }
        (self.instance, events, output) = (instance, Receipts(), Receipts())
        return false
    }

    /// Output was received.
    /// - Returns: false if it was received, and passed on, on an earlier connection.
    mutating func receiveOutput(_ number: UInt64) -> Bool {
        guard !output.receive(number) else {
            mustAcknowledge = true
            return false
        }
        output.expectAcknowledgement(of: number)
        return true
    }

    /// The start or the end of a run was received.
    /// - Returns: false if it was received on an earlier connection.
    mutating func receiveEvent(_ number: UInt64) -> Bool { !events.receive(number) }

    /// This event is passed on, and counts as handled once that is reported.
    mutating func expectAcknowledgement(ofEvent number: UInt64) {
        events.expectAcknowledgement(of: number)
    }

    /// An event that is not passed on needs to be acknowledged.
    mutating func acknowledgeSoon() { mustAcknowledge = true }

    /// - Parameter seen: what was handled since the last call.
    /// - Returns: the numbers to acknowledge to the runner; nil if it does not wait for that.
    mutating func acknowledge(_ seen: ClientMailbox.Seen?) -> ClientMailbox.Seen? {
        if let seen {
            let isNew = [events.markHandled(seen.events), output.markHandled(seen.output)]
            if isNew.contains(true) { mustAcknowledge = true }
        }
        let slack = mustAcknowledge ? 0 : RunnerClient.unacknowledgedMax
        mustAcknowledge = false
        let more = [events.nextToAcknowledge(slack: slack), output.nextToAcknowledge(slack: slack)]
        guard more.contains(where: { $0 != nil }) else { return nil }
        return ClientMailbox.Seen(events: events.acknowledged, output: output.acknowledged)
    }
}
