// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol
import TimerStore

/// When messages are sent, and what follows from the results.
extension Outbox {
    mutating func sendNext(at now: Now) -> [Action] {
        var actions: [Action] = []
        var places = places
        for (name, message) in waitingForAPlace(at: now.awake) {
            guard let queue = queues[name], places.hasOne(for: queue) else { continue }
            places.take(for: queue)
            turn += 1
            queues[name]?.turn = turn
            queues[name]?.began = now.awake
            queues[name]?.active = (message.id, attempt: message.attempts + 1, began: now.awake)
            actions.append(
                .send(
                    message.id, attempt: message.attempts + 1, created: message.created,
                    timeout: attemptTimeout))
        }
        return actions
    }

    /// The message that each queue would send now, the one that waits for the longest time first. So
    /// none waits for more than one attempt of each of the others.
    private func waitingForAPlace(at now: AwakeInstant) -> [(Notifier.Name, Message)] {
        let found = queues.compactMap { name, queue in
            queue.active == nil && queue.notifier != nil
                ? queue.due(at: now).map { (name, $0, queue.waits(for: $0), queue.turn) } : nil
        }
        return found.sorted { ($0.2, $0.3, $0.0) < ($1.2, $1.3, $1.0) }.map { ($0.0, $0.1) }
    }

    /// How long an attempt may take that begins now: so long that all receivers that have messages
    /// get their turn in `roundMax`, even if each of them hangs.
    var attemptTimeout: Duration {
        let count = queues.values.count { $0.notifier != nil && !$0.messages.isEmpty }
        let rounds = max(1, (count + Self.failingMax - 1) / Self.failingMax)
        return min(Self.attemptMax, max(Self.attemptMin, Self.roundMax / rounds))
    }

    /// How many of the places for attempts at the same time are taken.
    struct Places {
        var active = 0
        var failing = 0

        func hasOne(for queue: NotifierQueue) -> Bool {
            active < activeMax && (!queue.isFailing || failing < failingMax)
        }

        mutating func take(for queue: NotifierQueue) {
            active += 1
            failing += queue.isFailing ? 1 : 0
        }
    }

    var places: Places {
        queues.values.reduce(into: Places()) { if $1.active != nil { $0.take(for: $1) } }
    }

    mutating func end(
        _ id: Int64, _ attempt: Int, _ result: MessageResult, at now: Now
    ) -> [Action] {
        let found = queues.first {
            $0.value.active.map { $0.id == id && $0.attempt == attempt } ?? false
        }
        guard let (name, queue) = found, let began = queue.active?.began,
            let index = queue.messages.firstIndex(where: { $0.id == id })
        else { return [] }
        queues[name]?.active = nil
        queues[name]?.messages[index].attempts = attempt
        if case .failed(let why) = result.verdict {
            return fail(
                index, of: name, began: began, why, retryAfter: result.retryAfter, at: now)
        }
        var message = queue.messages[index]
        message.attempts = attempt
        queues[name]?.messages.remove(at: index)
        queues[name]?.failures = 0
        guard case .refused(let why) = result.verdict else {
            queues[name]?.hurry(at: now.awake)
            return [record(message, of: name, .sent, error: nil, at: now)]
        }
        return [record(message, of: name, .dead, error: why, at: now)]
    }

    /// An attempt to send the message at this index has failed. The time to the next one counts from
    /// the beginning of this one: a receiver that comes back while an attempt still waits for it
    /// gets the next one as soon as any other. If the receiver said how long to wait, none of its messages is tried
    /// before.
    private mutating func fail(
        _ index: Int, of name: Notifier.Name, began: AwakeInstant, _ why: String,
        retryAfter: Duration?, at now: Now
    ) -> [Action] {
        let most = longestWait
        guard var queue = queues.removeValue(forKey: name) else { return [] }
        defer { queues[name] = queue }
        let soonest = now.awake + max(Self.retryMin, retryAfter ?? .zero)
        queue.failures += 1
        queue.resume = max(soonest, began + Self.wait(after: queue.failures, most: most))
        queue.messages[index].tried = began
        guard now.awake < queue.messages[index].expires else {
            // This tells as much about the others whose time is over.
            let over = queue.messages.filter { $0.expires <= now.awake && $0.creating == nil }
            queue.messages.removeAll { $0.expires <= now.awake && $0.creating == nil }
            return over.map { record($0, of: name, .dead, error: why, at: now) }
        }
        let next = max(
            soonest, began + Self.wait(after: queue.messages[index].attempts, most: most))
        queue.messages[index].next = next
        return [
            record(
                queue.messages[index], of: name, .waiting, error: why, next: next - now.awake,
                at: now)
        ]
    }

    /// The time from the begin of an attempt, of so many, to the next one.
    static func wait(after attempts: Int, most: Duration) -> Duration {
        min(most, retryMin * (1 << min(max(0, attempts - 1), 10)))
    }

    /// The longest of these times. A receiver that must wait for a place begins to do so earlier.
    private var longestWait: Duration {
        let count = queues.values.count { $0.notifier != nil }
        return count > Self.failingMax ? Self.retryMax - Self.retryLead : Self.retryMax
    }

    func record(
        _ message: Message, of name: Notifier.Name, _ state: Store.MessageState, error: String?,
        next: Duration? = nil, at now: Now
    ) -> Action {
        .record(
            Store.MessageResult(
                id: message.id, state: state, attempts: message.attempts,
                next: next.map { now.wall + $0 }, error: error, at: now.wall),
            created: message.created, notifier: name)
    }
}
