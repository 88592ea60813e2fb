// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension Outbox.NotifierQueue {
    /// Whether there are as many messages as are created before pings are sent.
    private var hasAllPings: Bool { messages.count >= Outbox.pingsAhead }

    /// Adds a notification that belongs to no message.
    mutating func add(_ one: Outbox.Pending, since: AwakeInstant) {
        pending.append((one, since: since))
        if one.isUrgent, urgentSince == nil { urgentSince = since }
    }

    /// Removes the notifications that are a message now, and counts the message.
    ///
    /// - Returns: these, and since when the first of them is known; nil if no message is due.
    /// - Complexity: O(*n*) in the number of pending notifications if a message is due.
    mutating func takeDue(
        at now: AwakeInstant
    ) -> (group: [Outbox.Pending], since: AwakeInstant)? {
        guard let first = pending.first else { return nil }
        guard let notifier else { return take(min(pending.count, Outbox.notificationsMax)) }
        // Each of them is the state of something, and arrives in its order.
        guard !notifier.transport.isPing else { return hasAllPings ? nil : take(1) }
        let tokens = currentTokens(of: notifier, at: now)
        creations.removeAll { now - $0 >= Outbox.hour }
        guard creations.count < notifier.perHour else { return nil }
        let wait = batch(of: notifier)
        let needed = tokens.need(isUrgent: false)
        var taken: (group: [Outbox.Pending], since: AwakeInstant)?
        if tokens.time(of: needed) <= now {
            guard first.0.isAlone || now - first.since >= wait else { return nil }
            let isLast =
                tokens.time(of: needed + 1) > now || creations.count + 1 >= notifier.perHour
            taken = take(count(of: notifier, first: first.0, isLast: isLast))
        } else if let urgentSince, now - urgentSince >= wait,
            tokens.time(of: tokens.need(isUrgent: true)) <= now
        {
            taken = takeWithUrgent(upTo: notifier.transport.canBatch ? Outbox.lastMessageMax : 1)
        }
        guard taken != nil else { return nil }
        creations.append(now)
        self.tokens?.consume(at: now)
        return taken
    }

    /// How many of the first notifications are one message. With the last one that can be sent for now, all that waits
    /// is sent.
    private func count(
        of notifier: Notifier, first: Outbox.Pending, isLast: Bool
    ) -> Int {
        guard notifier.transport.canBatch else { return 1 }
        guard !isLast else { return min(pending.count, Outbox.lastMessageMax) }
        guard !first.isAlone else { return 1 }
        return min(pending.prefix { !$0.0.isAlone }.count, Outbox.notificationsMax)
    }

    private mutating func take(
        _ count: Int
    ) -> (group: [Outbox.Pending], since: AwakeInstant)? {
        guard let since = pending.first?.since else { return nil }
        let group = pending.prefix(count).map(\.0)
        pending.removeFirst(count)
        if group.contains(where: \.isUrgent) { noteUrgent() }
        return (group, since)
    }

    /// Takes those that begin an incident, and then the others up to a number, in their order.
    private mutating func takeWithUrgent(
        upTo most: Int
    ) -> (group: [Outbox.Pending], since: AwakeInstant)? {
        guard pending.count > most else { return take(pending.count) }
        let urgent = pending.indices.filter { pending[$0].0.isUrgent }.prefix(most)
        let others = pending.indices.filter { !pending[$0].0.isUrgent }
            .prefix(most - urgent.count)
        let chosen = Set(urgent).union(others)
        guard let since = urgent.first.map({ pending[$0].since }) else { return nil }
        let group = pending.indices.filter { chosen.contains($0) }.map { pending[$0].0 }
        pending = ArraySlice(pending.indices.filter { !chosen.contains($0) }.map { pending[$0] })
        noteUrgent()
        return (group, since)
    }

    private mutating func noteUrgent() {
        urgentSince = pending.first { $0.0.isUrgent }?.since
    }

    /// How long notifications are collected before they are a message.
    private func batch(of notifier: Notifier) -> Duration {
        notifier.transport.canBatch ? notifier.batch : .zero
    }

    /// The tokens by the limit of this notifier, which a reload may have changed.
    private mutating func currentTokens(
        of notifier: Notifier, at now: AwakeInstant
    ) -> MessageTokens {
        if let tokens, tokens.perHour == notifier.perHour { return tokens }
        let made = MessageTokens(perHour: notifier.perHour, after: creations, at: now)
        tokens = made
        return made
    }

    /// When `takeDue` next has a message, if nothing else happens.
    var nextGroup: AwakeInstant? {
        guard let first = pending.first else { return nil }
        guard let notifier else { return first.since }
        // The end of an attempt makes room for the next ping.
        guard !notifier.transport.isPing else { return hasAllPings ? nil : first.since }
        let wait = batch(of: notifier)
        let due = first.0.isAlone ? first.since : first.since + wait
        guard let tokens else { return due }
        let window =
            creations.count < notifier.perHour
            ? due : creations[creations.count - notifier.perHour] + Outbox.hour
        let other = max(due, tokens.time(of: tokens.need(isUrgent: false)))
        let urgent = urgentSince.map {
            max($0 + wait, tokens.time(of: tokens.need(isUrgent: true)))
        }
        return max(window, min(other, urgent ?? other))
    }

    /// What would be a message now without the limit `per-hour`: how many notifications, and when the next message is
    /// sent; nil if the limit holds nothing back.
    func held(at now: AwakeInstant) -> (count: Int, until: AwakeInstant)? {
        guard let notifier, !notifier.transport.isPing, let next = nextGroup, next > now else {
            return nil
        }
        let wait = batch(of: notifier)
        let count = pending.count { now - $0.since >= ($0.0.isAlone ? .zero : wait) }
        return count == 0 ? nil : (count, next)
    }
}

extension Outbox.Pending {
    /// Whether it is a message of its own, as long as the limit of messages allows it: what a run
    /// wrote, as a mail of cron.
    fileprivate var isAlone: Bool { kind == .output }

    /// A notification as the store has it, with its number there.
    init(_ id: Int64, _ notification: JobNotification) {
        let begins: Bool =
            switch notification.kind {
            case .failure, .late, .long, .stale, .lost, .pausedLong:
                !notification.isRepeat && !notification.willRetry
            case .start, .success, .recovery, .skipped, .output, .test: false
            }
        self.init(
            id: id, notifier: notification.notifier, kind: notification.kind,
            at: notification.at, isUrgent: begins)
    }
}
