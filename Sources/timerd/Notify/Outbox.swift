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
    /// The time between two attempts: it doubles up to the maximum.
    static let retryMin: Duration = .seconds(10)
    static let retryMax: Duration = .seconds(600)
    /// How long a message is tried.
    static let lifetime: Duration = .seconds(86_400)
    /// The period of the limit `per-hour`.
    static let hour: Duration = .seconds(3600)
    /// How many notifications a message contains at most.
    static let notificationsMax = 500

    /// A notification that belongs to no message yet.
    struct Pending: Hashable {
        var id: Int64
        var notifier: Notifier.Name
        var kind: NotificationKind
    }

    /// What happens to an outbox.
    enum Event {
        /// The store has these notifications, in this order. Those that are known are ignored.
        case recorded([Pending])
        /// The message with this number is on its way to the disk, and may be sent.
        case created(Int64)
        /// An attempt to send a message has ended.
        case ended(Int64, attempt: Int, MessageResult)
        /// A user requested to send this message again, which is not sent yet.
        case retry(Store.Message)
        /// These are the notifiers now.
        case reload([Notifier])
        /// The instant of `nextWake` may have come.
        case wake
    }

    /// What the owner of an outbox does.
    enum Action: Hashable {
        /// Stores these notifications as a message.
        case create(Int64, Notifier.Name, notifications: [Int64], at: WallInstant)
        /// Makes an attempt to send a message. If this attempt was made already, its result counts.
        case send(Int64, attempt: Int, created: WallInstant)
        /// Stores the result of an attempt.
        case record(Store.MessageResult, created: WallInstant, notifier: Notifier.Name)
    }

    var lanes: [Notifier.Name: Lane] = [:]
    /// The number of the last message.
    private var last: Int64
    /// The notifications that are known and not in a stored message.
    private var known: Set<Int64> = []
    /// The instants at which the last messages were created: no two are the same, because the runs
    /// that send them are told apart by that.
    private var lastCreated = WallInstant(microsecondsSinceEpoch: 0)
    /// In which order the lanes get their turn.
    private var turn: UInt64 = 0

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
        for notifier in notifiers { lanes[notifier.name, default: Lane()].notifier = notifier }
        for (_, at) in created { noteCreation(at, at: now) }
        for (name, at) in created where now.wall - at < Self.hour {
            let age = max(.zero, now.wall - at)
            lanes[name, default: Lane()].creations.append(now.awake + (.zero - age))
        }
        for name in lanes.keys { lanes[name]?.creations.sort() }
        for message in waiting { add(message, at: now) }
    }

    /// Instants of a clock that was wrong do not come again.
    private mutating func noteCreation(_ created: WallInstant, at now: Now) {
        guard created - now.wall < .seconds(1) else { return }
        lastCreated = max(lastCreated, created)
    }

    private mutating func add(_ stored: Store.Message, at now: Now) {
        // The wall clock may have been set meanwhile.
        let wait = stored.next.map { $0 - now.wall } ?? .zero
        let left = Self.lifetime - (now.wall - stored.created)
        noteCreation(stored.created, at: now)
        lanes[stored.notifier, default: Lane()].messages.append(
            Message(
                id: stored.id, created: stored.created, attempts: stored.attempts,
                next: now.awake + min(max(.zero, wait), Self.retryMax),
                givesUp: now.awake + min(max(.zero, left), Self.lifetime)))
    }

    // MARK: - Events

    /// Handles an event.
    mutating func handle(_ event: Event, at now: Now) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .recorded(let pending): take(pending, at: now)
        case .created(let id): noteCreated(id)
        case .ended(let id, let attempt, let result):
            if let action = end(id, attempt, result, at: now) { actions.append(action) }
        case .retry(let message): retry(message, at: now)
        case .reload(let notifiers): reload(notifiers)
        case .wake: break
        }
        for name in lanes.keys.sorted() {
            if lanes[name]?.notifier == nil { actions += giveUp(name, at: now) }
            actions += group(name, at: now)
        }
        lanes = lanes.filter { !$0.value.isUnused }
        return actions + sendNext(at: now)
    }

    private mutating func take(_ pending: [Pending], at now: Now) {
        for one in pending where known.insert(one.id).inserted {
            lanes[one.notifier, default: Lane()].pending.append((one, since: now.awake))
        }
    }

    private mutating func noteCreated(_ id: Int64) {
        for (name, lane) in lanes {
            guard let index = lane.messages.firstIndex(where: { $0.id == id }) else { continue }
            known.subtract(lane.messages[index].creating ?? [])
            lanes[name]?.messages[index].creating = nil
        }
    }

    private mutating func retry(_ stored: Store.Message, at now: Now) {
        var message = stored
        message.created = max(message.created, now.wall)
        if let index = lanes[stored.notifier]?.messages.firstIndex(where: { $0.id == stored.id }) {
            guard lanes[stored.notifier]?.active?.id != stored.id else { return }
            lanes[stored.notifier]?.messages[index].next = now.awake
            lanes[stored.notifier]?.messages[index].givesUp = now.awake + Self.lifetime
            return
        }
        message.next = nil
        add(message, at: now)
        let index = (lanes[stored.notifier]?.messages.count ?? 1) - 1
        lanes[stored.notifier]?.messages[index].created = stored.created
    }

    private mutating func reload(_ notifiers: [Notifier]) {
        for name in lanes.keys { lanes[name]?.notifier = nil }
        for notifier in notifiers { lanes[notifier.name, default: Lane()].notifier = notifier }
    }

    // MARK: - Grouping

    private mutating func group(_ name: Notifier.Name, at now: Now) -> [Action] {
        var actions: [Action] = []
        while let count = lanes[name]?.dueCount(at: now.awake), count > 0 {
            guard let group = lanes[name]?.pending.prefix(count).map(\.0) else { break }
            lanes[name]?.pending.removeFirst(count)
            lanes[name]?.creations.append(now.awake)
            last += 1
            lastCreated = lastCreated < now.wall ? now.wall : lastCreated + .microseconds(1)
            var message = Message(
                id: last, created: lastCreated, attempts: 0, next: now.awake,
                givesUp: now.awake + Self.lifetime)
            message.creating = group.map(\.id)
            lanes[name]?.messages.append(message)
            actions.append(
                .create(last, name, notifications: group.map(\.id), at: lastCreated))
        }
        return actions
    }

    /// Messages of a notifier that is not in the configuration any more are kept as dead.
    private mutating func giveUp(_ name: Notifier.Name, at now: Now) -> [Action] {
        guard let lane = lanes[name] else { return [] }
        let done = lane.messages.filter { $0.creating == nil && $0.id != lane.active?.id }
        lanes[name]?.messages.removeAll { message in done.contains { $0.id == message.id } }
        return done.map { message in
            let error = "the notifier \(name) is not in the configuration any more"
            return record(message, of: name, .dead, error: error, at: now)
        }
    }

    // MARK: - Sending

    private mutating func sendNext(at now: Now) -> [Action] {
        var actions: [Action] = []
        var active = lanes.values.count { $0.active != nil }
        let names = lanes.filter { $0.value.active == nil && $0.value.notifier != nil }
            .sorted { ($0.value.turn, $0.key) < ($1.value.turn, $1.key) }.map(\.key)
        for name in names {
            guard active < Self.activeMax else { break }
            guard let message = lanes[name]?.due(at: now.awake) else { continue }
            active += 1
            turn += 1
            lanes[name]?.turn = turn
            lanes[name]?.active = (message.id, attempt: message.attempts + 1)
            actions.append(
                .send(message.id, attempt: message.attempts + 1, created: message.created))
        }
        return actions
    }

    private mutating func end(
        _ id: Int64, _ attempt: Int, _ result: MessageResult, at now: Now
    ) -> Action? {
        let found = lanes.first { $0.value.active.map { $0 == (id, attempt) } ?? false }
        guard let (name, lane) = found,
            let index = lane.messages.firstIndex(where: { $0.id == id })
        else { return nil }
        lanes[name]?.active = nil
        var message = lane.messages[index]
        message.attempts = attempt
        switch result.verdict {
        case .sent:
            lanes[name]?.messages.remove(at: index)
            // The receiver is there again.
            lanes[name]?.hurry(at: now.awake)
            return record(message, of: name, .sent, error: nil, at: now)
        case .refused(let why):
            lanes[name]?.messages.remove(at: index)
            return record(message, of: name, .dead, error: why, at: now)
        case .failed(let why):
            guard now.awake < message.givesUp else {
                lanes[name]?.messages.remove(at: index)
                return record(message, of: name, .dead, error: why, at: now)
            }
            let wait = Self.wait(after: attempt)
            message.next = now.awake + wait
            lanes[name]?.messages[index] = message
            return record(message, of: name, .waiting, error: why, next: wait, at: now)
        }
    }

    /// How long to wait after this many attempts.
    static func wait(after attempts: Int) -> Duration {
        min(retryMax, retryMin * (1 << min(max(0, attempts - 1), 10)))
    }

    private func record(
        _ message: Message, of name: Notifier.Name, _ state: Store.MessageState, error: String?,
        next: Duration? = nil, at now: Now
    ) -> Action {
        .record(
            Store.MessageResult(
                id: message.id, state: state, attempts: message.attempts,
                next: next.map { now.wall + $0 }, error: error, at: now.wall),
            created: message.created, notifier: name)
    }

    /// Whether this run would be the next attempt to send a message, or is it now.
    func wants(_ run: Run.ID) -> Bool {
        lanes.values.contains { lane in
            lane.messages.contains {
                $0.created == run.firing.scheduled && $0.attempts + 1 == run.attempt
            }
        }
    }

    /// How many notifications and messages of each notifier are not sent.
    var waiting: [Notifier.Name: Int] {
        lanes.mapValues { lane in
            lane.messages.count { $0.creating == nil } + lane.pending.count
                + lane.messages.reduce(0) { $0 + ($1.creating?.count ?? 0) }
        }
    }

    /// When `wake` must come, if no other event comes before; nil if it need not.
    func nextWake(at now: AwakeInstant) -> AwakeInstant? {
        let canSend = lanes.values.count { $0.active != nil } < Self.activeMax
        return lanes.values.compactMap { $0.nextWake(canSend: canSend, at: now) }.min()
    }
}
