// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

extension Outbox {
    /// A message that is not sent.
    struct Message {
        var id: Int64
        var created: WallInstant
        /// How many attempts have ended.
        var attempts: Int
        /// When the next attempt is made.
        var next: AwakeInstant
        /// From then on a failed attempt is the last one.
        var givesUp: AwakeInstant
        /// Its notifications, until it is stored.
        var creating: [Int64]?
    }

    /// The messages of one notifier.
    struct Lane {
        /// Nil if it is not in the configuration any more.
        var notifier: Notifier?
        /// The notifications that belong to no message yet, and since when they are known.
        var pending: [(Pending, since: AwakeInstant)] = []
        /// When messages were created in the last hour.
        var creations: [AwakeInstant] = []
        var messages: [Message] = []
        /// The message that is being sent, and the number of the attempt.
        var active: (id: Int64, attempt: Int)?
        var turn: UInt64 = 0

        var isUnused: Bool {
            notifier == nil && pending.isEmpty && messages.isEmpty && active == nil
        }

        /// How many of the first pending notifications are a message now.
        mutating func dueCount(at now: AwakeInstant) -> Int {
            guard let first = pending.first else { return 0 }
            guard let notifier else { return min(pending.count, Outbox.notificationsMax) }
            // Each of them is the state of something, and arrives in its order.
            guard !notifier.transport.isPing else { return 1 }
            creations.removeAll { now - $0 >= Outbox.hour }
            guard creations.count < notifier.perHour else { return 0 }
            guard notifier.transport.canBatch else { return 1 }
            // With the last message of this hour, all that waits is sent.
            if first.0.isAlone, creations.count + 1 < notifier.perHour { return 1 }
            guard now - first.since >= notifier.batch || first.0.isAlone else { return 0 }
            let isLast = creations.count + 1 >= notifier.perHour
            let count =
                isLast
                ? pending.count : pending.firstIndex { $0.0.isAlone } ?? pending.count
            return min(count, Outbox.notificationsMax)
        }

        /// When `dueCount` is next above 0, if nothing else happens.
        private var nextGroup: AwakeInstant? {
            guard let first = pending.first else { return nil }
            guard let notifier, notifier.transport.canBatch || !notifier.transport.isPing else {
                return first.since
            }
            let batch = first.0.isAlone ? first.since : first.since + notifier.batch
            guard creations.count >= notifier.perHour else { return batch }
            return max(batch, creations[creations.count - notifier.perHour] + Outbox.hour)
        }

        /// The message to send now; nil if there is none. Pings wait for those before them.
        func due(at now: AwakeInstant) -> Message? {
            let ready = messages.first { $0.creating == nil && $0.next <= now }
            guard notifier?.transport.isPing == true else { return ready }
            return ready?.id == messages.first?.id ? ready : nil
        }

        /// Makes all messages due.
        mutating func hurry(at now: AwakeInstant) {
            for index in messages.indices { messages[index].next = min(messages[index].next, now) }
        }

        func nextWake(canSend: Bool, at now: AwakeInstant) -> AwakeInstant? {
            let isPing = notifier?.transport.isPing == true
            let candidates = isPing ? messages.prefix(1) : messages[...]
            let message =
                active == nil && canSend
                ? candidates.filter { $0.creating == nil }.map(\.next).min() : nil
            return [nextGroup, message].compactMap { $0 }.min()
        }
    }
}

extension Outbox.Pending {
    /// Whether it is a message of its own, as long as the limit of messages allows it: what a run
    /// wrote, as a mail of cron.
    fileprivate var isAlone: Bool { kind == .output }
}
