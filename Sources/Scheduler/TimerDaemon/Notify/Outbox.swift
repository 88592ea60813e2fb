// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol
import TimerStore

/// Decides which notifications are sent together as a message, and when each message is sent.
///
/// It is a pure value: it reads no clock and no store. Its owner performs the actions that it
/// returns, and tells it about their results as further events. A message is sent at least once:
/// it is stored before it is sent, and an attempt that was interrupted is made again.
struct Outbox {
    /// How many messages are sent at the same time, and how many to the same receiver: one, so that
    /// the messages arrive in their order.
    static let activeMax = 4
    /// How many of these may be to receivers that did not answer the last time: if they hang, the
    /// others have a place.
    static let failingMax = 3
    /// The time between two attempts: it doubles up to the maximum.
    static let retryMin: Duration = .seconds(10)
    static let retryMax: Duration = .seconds(600)
    /// How much earlier the next attempt may begin if there are more receivers than can be
    /// sent to at a time: it may have to wait, and must still begin before the maximum has passed.
    static let retryLead: Duration = .seconds(60)
    /// How much longer a receiver that did not answer must have waited than one that did, to get a
    /// place before it.
    static let preference: Duration = .seconds(300)
    /// How long an attempt may take. If more receivers hang than can be tried in `roundMax`, each
    /// of them gets less time.
    static let attemptMax: Duration = .seconds(60)
    static let attemptMin: Duration = .seconds(10)
    static let roundMax: Duration = .seconds(420)
    /// How long a message is tried, and how long at least after a start: the machine may have been
    /// off for days, and its network may not be there at once.
    static let lifetime: Duration = .seconds(86_400)
    static let lifetimeMin: Duration = .seconds(3600)
    static let hour: Duration = .seconds(3600)
    /// How many notifications a message contains at most.
    static let notificationsMax = 500
    /// How many messages of a receiver of pings there are at most. Each is sent after the one before, so
    /// to write all of them at once would only delay the runs of a burst.
    static let pingsAhead = 8
    /// The same for the last message of an hour, which contains all that waits: otherwise more could
    /// come in an hour than is sent.
    static let lastMessageMax = 10_000

    /// A notification that belongs to no message yet.
    struct Pending: Hashable {
        var id: Int64
        var notifier: Notifier.Name
        var kind: NotificationKind
        /// When it happened, by the wall clock.
        var at: WallInstant
        /// Whether an incident begins with it, so that the limit `per-hour` lets it pass before repeats and skipped
        /// firings.
        var isUrgent = false
    }

    /// What an outbox must know.
    enum Event {
        /// The store has these notifications, in this order. Those that are known are ignored.
        case recorded([Pending])
        /// The messages with these numbers are stored, and may be sent.
        case created(Set<Int64>)
        /// An attempt to send a message has ended.
        case ended(Int64, attempt: Int, MessageResult)
        /// A user requested to send this message again, which is not sent yet.
        case retry(Store.Message)
        /// The configuration has these notifiers now.
        case reload([Notifier])
        /// The instant of `nextWake` may have come.
        case wake
    }

    /// What the owner of an outbox must do, in the order given.
    enum Action: Hashable {
        /// Stores these notifications as a message.
        case create(Int64, Notifier.Name, notifications: [Int64], at: WallInstant)
        /// Makes an attempt to send a message, which ends by this timeout. If this attempt was made
        /// already, its result counts.
        case send(Int64, attempt: Int, created: WallInstant, timeout: Duration)
        /// Stores the result of an attempt, also one after which the message waits again.
        case record(Store.MessageResult, created: WallInstant, notifier: Notifier.Name)
    }

    var queues: [Notifier.Name: NotifierQueue] = [:]
    /// How many attempts were made, so that the notifiers take turns.
    var turn: UInt64 = 0
    /// The number of the last message; the next one is higher.
    private var last: Int64
    /// The notifications that are known and not in a stored message.
    private var known: Set<Int64> = []
    /// When the last message was created, and the latest of these instants. No two messages have
    /// the same, because that distinguishes the runs that send them.
    private var lastCreated = WallInstant(microsecondsSinceEpoch: 0)
    private var latestCreated = WallInstant(microsecondsSinceEpoch: 0)
    /// Restores an outbox from what is stored.
    ///
    /// - Parameters:
    ///   - last: the highest number that a message ever had.
    ///   - waiting: the messages that are not sent.
    ///   - created: when the messages of the last hour were created.
    init(
        _ notifiers: [Notifier], last: Int64, waiting: [Store.Message],
        created: [(notifier: Notifier.Name, at: WallInstant)], at now: Now
    ) {
        self.last = last
        for notifier in notifiers {
            queues[notifier.name, default: NotifierQueue()].notifier = notifier
        }
        for (_, at) in created { noteCreation(at, at: now) }
        for (name, at) in created {
            // A message of the future was created while the clock was wrong. It must not count again
            // at each start until that time has come.
            let age = now.wall - at
            guard age > .seconds(-1), Self.hour > age else { continue }
            queues[name, default: NotifierQueue()].creations.append(now.awake + (.zero - age))
        }
        for name in queues.keys { queues[name]?.creations.sort() }
        for message in waiting { add(message, at: now) }
        for name in queues.keys { queues[name]?.noteEarlierFailures() }
    }

    private mutating func noteCreation(_ created: WallInstant, at now: Now) {
        latestCreated = max(latestCreated, created)
        guard created - now.wall < .seconds(1) else { return }
        lastCreated = max(lastCreated, created)
    }

    /// The instant at which a message is created now: that of the wall clock, or one a little later
    /// that no other message has.
    private mutating func newCreation(at now: Now) -> WallInstant {
        // If the clock was set back by more, the messages must not have wrong dates until it has
        // caught up.
        let isNear = lastCreated - now.wall < .seconds(1)
        var created =
            isNear && lastCreated >= now.wall ? lastCreated + .microseconds(1) : now.wall
        if created <= latestCreated {
            let taken = Set(queues.values.flatMap { $0.messages.lazy.map(\.created) })
            while taken.contains(created) { created = created + .microseconds(1) }
        }
        lastCreated = created
        latestCreated = max(latestCreated, created)
        return created
    }

    private mutating func add(_ stored: Store.Message, at now: Now) {
        // The wall clock may have been set meanwhile.
        let wait = stored.next.map { $0 - now.wall } ?? .zero
        let left = Self.lifetime - (now.wall - stored.created)
        noteCreation(stored.created, at: now)
        queues[stored.notifier, default: NotifierQueue()].messages.append(
            Message(
                id: stored.id, created: stored.created, attempts: stored.attempts,
                next: now.awake + min(max(.zero, wait), Self.retryMax),
                expires: now.awake + min(max(Self.lifetimeMin, left), Self.lifetime)))
    }

    // MARK: - Events

    /// Handles an event, and returns what must be done because of it.
    mutating func handle(_ event: Event, at now: Now) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .recorded(let pending): restore(pending, at: now)
        case .created(let ids): noteCreated(ids)
        case .ended(let id, let attempt, let result):
            actions += end(id, attempt, result, at: now)
        case .retry(let message): retry(message, at: now)
        case .reload(let notifiers): reload(notifiers, at: now)
        case .wake: break
        }
        for name in queues.keys.sorted() {
            if queues[name]?.notifier == nil { actions += awaitNotifier(name, at: now) }
            actions += group(name, at: now)
        }
        queues = queues.filter { !$0.value.isUnused }
        return actions + sendNext(at: now)
    }

    private mutating func restore(_ pending: [Pending], at now: Now) {
        for one in pending where known.insert(one.id).inserted {
            // The time that it waited before a restart counts.
            let age = min(max(.zero, now.wall - one.at), Self.hour)
            queues[one.notifier, default: NotifierQueue()].add(
                one, since: now.awake + (.zero - age))
        }
    }

    private mutating func noteCreated(_ ids: Set<Int64>) {
        for name in queues.keys {
            guard var messages = queues[name]?.messages else { continue }
            // Without a second reference the array is changed in place.
            queues[name]?.messages = []
            for index in messages.indices where messages[index].creating != nil {
                guard ids.contains(messages[index].id) else { continue }
                known.subtract(messages[index].creating ?? [])
                messages[index].creating = nil
            }
            queues[name]?.messages = messages
        }
    }

    private mutating func retry(_ stored: Store.Message, at now: Now) {
        var message = stored
        message.created = max(message.created, now.wall)
        if let index = queues[stored.notifier]?.messages.firstIndex(where: { $0.id == stored.id }) {
            guard queues[stored.notifier]?.active?.id != stored.id else { return }
            queues[stored.notifier]?.resume = now.awake
            queues[stored.notifier]?.messages[index].next = now.awake
            queues[stored.notifier]?.messages[index].expires = now.awake + Self.lifetime
            return
        }
        message.next = nil
        add(message, at: now)
        let index = (queues[stored.notifier]?.messages.count ?? 1) - 1
        queues[stored.notifier]?.messages[index].created = stored.created
        queues[stored.notifier]?.resume = now.awake
    }

    private mutating func reload(_ notifiers: [Notifier], at now: Now) {
        let earlier = queues.mapValues(\.notifier)
        for name in queues.keys { queues[name]?.notifier = nil }
        for notifier in notifiers {
            queues[notifier.name, default: NotifierQueue()].notifier = notifier
            guard let before = earlier[notifier.name], before != notifier else { continue }
            queues[notifier.name]?.startAfresh(at: now.awake)
        }
    }

    // MARK: - Grouping

    private mutating func group(_ name: Notifier.Name, at now: Now) -> [Action] {
        var actions: [Action] = []
        while let (group, since) = queues[name]?.takeDue(at: now.awake) {
            let isPing = queues[name]?.notifier?.transport.isPing == true
            last += 1
            let created = newCreation(at: now)
            var message = Message(
                id: last, created: created, attempts: 0, next: now.awake,
                expires: (isPing ? since : now.awake) + Self.lifetime)
            message.creating = group.map(\.id)
            queues[name]?.messages.append(message)
            actions.append(
                .create(last, name, notifications: group.map(\.id), at: created))
        }
        return actions
    }

    /// A notifier that is not in the configuration may be missing because of an error in a file, so
    /// its messages wait for it as they would for a receiver.
    private mutating func awaitNotifier(_ name: Notifier.Name, at now: Now) -> [Action] {
        guard var queue = queues.removeValue(forKey: name) else { return [] }
        defer { queues[name] = queue }
        let error = "the notifier \(name) is not in the configuration"
        var actions: [Action] = []
        for index in queue.messages.indices where queue.canExpire(queue.messages[index]) {
            let message = queue.messages[index]
            let left = message.expires - now.awake
            guard left <= .zero || !message.isWithoutNotifier else { continue }
            queue.messages[index].isWithoutNotifier = true
            actions.append(
                record(
                    message, of: name, left <= .zero ? .dead : .waiting, error: error,
                    next: left <= .zero ? nil : left, at: now))
        }
        let active = queue.active?.id
        queue.messages.removeAll {
            $0.expires <= now.awake && $0.creating == nil && $0.id != active
        }
        return actions
    }

    /// Whether this run would be the next attempt to send a message, or is it now.
    func wants(_ run: Run.ID) -> Bool {
        queues.values.contains { queue in
            queue.messages.contains {
                $0.created == run.firing.scheduled && $0.attempts + 1 == run.attempt
            }
        }
    }

    /// How many notifications and messages of each notifier are not sent.
    var waiting: [Notifier.Name: Int] {
        queues.mapValues { queue in
            queue.messages.count { $0.creating == nil } + queue.pending.count
                + queue.messages.reduce(0) { $0 + ($1.creating?.count ?? 0) }
        }
    }

    /// What the limit `per-hour` of each notifier holds back: how many notifications, and when the next message is
    /// sent.
    func held(at now: Now) -> [Notifier.Name: (count: Int, until: WallInstant)] {
        queues.compactMapValues { queue in
            queue.held(at: now.awake).map { ($0.count, now.wall + ($0.until - now.awake)) }
        }
    }

    /// When `wake` must come, if no other event comes before; nil if it need not.
    func nextWake(at now: AwakeInstant) -> AwakeInstant? {
        let places = places
        return queues.values.compactMap { $0.nextWake(canSend: places.hasOne(for: $0)) }.min()
    }
}
