// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

extension Outbox {
    /// A message that is not sent and not given up.
    struct Message {
        var id: Int64
        var created: WallInstant
        /// How many attempts have ended, also those of earlier daemon instances.
        var attempts: Int
        /// When the next attempt is made, if its notifier can send then.
        var next: AwakeInstant
        /// When the last attempt was made here; nil: none was.
        var tried: AwakeInstant?
        /// Whether an attempt was made earlier than planned, because the receiver was there again.
        /// That happens once: a message that still fails then waits longer and longer.
        var wasHurried = false
        /// From then on a failed attempt is the last one.
        var expires: AwakeInstant
        /// Whether it is recorded that it waits for its notifier.
        var isWithoutNotifier = false
        /// Its notifications, until it is stored; nil after that.
        var creating: [Int64]?
    }

    /// What one notifier has to send, and how that is going.
    struct NotifierQueue {
        /// Nil if it is not in the configuration any more.
        var notifier: Notifier?
        /// The notifications that belong to no message yet, and since when they are known.
        var pending: ArraySlice<(Pending, since: AwakeInstant)> = []
        /// Since when the first of them is known that begins an incident; nil: none does.
        var urgentSince: AwakeInstant?
        /// When messages were created in the last hour. Pings are not counted.
        var creations: [AwakeInstant] = []
        /// The limit `per-hour`; nil until it is needed.
        var tokens: MessageTokens?
        var messages: [Message] = []
        /// The message that is being sent, the number of the attempt, and when that began.
        var active: (id: Int64, attempt: Int, began: AwakeInstant)?
        /// In which order the queues got their turn.
        var turn: UInt64 = 0
        /// When the last attempt began; the minimum if it is not known.
        var began = AwakeInstant(nanoseconds: .min)
        /// How many attempts have failed since the last one that did not. While the receiver is
        /// away, a message is tried now and then, and not each of thousands that wait.
        var failures = 0
        /// No attempt is made before this instant, while the receiver is away.
        var resume = AwakeInstant(nanoseconds: .min)

        var isFailing: Bool { failures > 0 }

        var isUnused: Bool {
            notifier == nil && pending.isEmpty && messages.isEmpty && active == nil
        }

        /// Whether the message is stored, and is not being sent.
        func canExpire(_ message: Message) -> Bool {
            message.creating == nil && message.id != active?.id
        }

        /// The messages of which one may be tried. Pings wait for those before them.
        private var candidates: ArraySlice<Message> {
            notifier?.transport.isPing == true ? messages.prefix(1) : messages[...]
        }

        /// The message to send now; nil if there is none.
        ///
        /// While attempts fail, it is by turns the first one, so that the order is kept, and the one
        /// that was not tried for the longest time: a message that the receiver cannot process must
        /// not delay the others.
        func due(at now: AwakeInstant) -> Message? {
            guard resume <= now else { return nil }
            let ready = candidates.lazy.filter { $0.creating == nil && $0.next <= now }
            guard failures % 2 == 1 else { return ready.first }
            return ready.min { first, second in
                guard let before = first.tried else { return second.tried != nil }
                return second.tried.map { before < $0 } ?? false
            }
        }

        /// From when on the time counts that decides which queue gets the next place: the one that has
        /// waited for the longest time. A receiver that did not answer waits from the begin of the
        /// last attempt, so that each of them is tried again after a limited time, whatever comes in
        /// for the others. The others are preferred for as long as that time allows it.
        func waits(for message: Message) -> AwakeInstant {
            isFailing ? began : max(began, message.next) + (.zero - Outbox.preference)
        }

        /// If an attempt of an earlier instance failed, the receiver may still hang, and must not
        /// take the place of one that did not fail.
        mutating func noteEarlierFailures() {
            for message in messages where message.attempts > 0 {
                failures = 1
                // That attempt began at least so long ago.
                let wait = Outbox.wait(after: message.attempts, most: Outbox.retryMax)
                began = max(began, message.next + (.zero - wait))
            }
        }

        /// The receiver is there again: all messages are due.
        mutating func hurry(at now: AwakeInstant) {
            for index in messages.indices where !messages[index].wasHurried {
                messages[index].wasHurried = messages[index].attempts > 0
                messages[index].next = min(messages[index].next, now)
            }
        }

        /// Forgets what failed, for example because the notifier has another address now.
        mutating func startAfresh(at now: AwakeInstant) {
            failures = 0
            resume = now
            for index in messages.indices {
                messages[index].next = min(messages[index].next, now)
                messages[index].isWithoutNotifier = false
            }
        }

        func nextWake(canSend: Bool) -> AwakeInstant? {
            guard notifier != nil else { return messages.filter(canExpire).map(\.expires).min() }
            let message =
                active == nil && canSend
                ? candidates.lazy.filter { $0.creating == nil }.map(\.next).min() : nil
            return [nextGroup, message.map { max($0, resume) }].compactMap { $0 }.min()
        }
    }
}
