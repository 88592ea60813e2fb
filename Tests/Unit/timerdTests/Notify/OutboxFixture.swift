// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerStore
@testable import TimerDaemon

/// An outbox with a store, receivers and clocks that the test controls.
struct OutboxFixture {
    var outbox: Outbox
    var notifiers: [Notifier]
    var awake: Int64 = 1_000_000_000_000
    var wall: Int64 = 1_795_000_000_000_000
    /// The stored rows: the message of each notification, and the messages.
    var rows: [Int64: (notifier: Notifier.Name, kind: NotificationKind, message: Int64?)] = [:]
    var messages: [Int64: Store.Message] = [:]
    /// With which of them an incident begins.
    var urgent: Set<Int64> = []
    /// When each of them happened.
    var times: [Int64: WallInstant] = [:]
    /// The attempts in progress, and all that were ever requested.
    var sending: [Int64: Int] = [:]
    var requested: [(message: Int64, attempt: Int, at: Int64, timeout: Duration)] = []
    /// The results that the runner keeps, by message and attempt.
    var results: [[Int64]: MessageResult] = [:]
    var answersAtOnce: MessageResult? = MessageResult(.sent)

    init(_ notifiers: [Notifier]) {
        self.notifiers = notifiers
        outbox = Outbox(
            [], last: 0, waiting: [], created: [],
            at: Now(
                wall: WallInstant(microsecondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
                boot: BootInstant(nanoseconds: 0), bootID: .unknown))
        restart()
    }

    var now: Now {
        Now(
            wall: WallInstant(microsecondsSinceEpoch: wall),
            awake: AwakeInstant(nanoseconds: awake),
            boot: BootInstant(nanoseconds: awake), bootID: .unknown)
    }

    /// The daemon is killed and starts again.
    mutating func restart() {
        sending = [:]
        awake += 5000
        wall += 5
        let waiting = messages.values.filter { $0.state == .waiting }.sorted { $0.id < $1.id }
        outbox = Outbox(
            notifiers, last: messages.keys.max() ?? 0, waiting: waiting,
            created: messages.values.map { (notifier: $0.notifier, at: $0.created) }, at: now)
        handle(.wake)
        readRows()
    }

    mutating func readRows() {
        handle(
            .recorded(
                rows.filter { $0.value.message == nil }.sorted { $0.key < $1.key }.map {
                    Outbox.Pending(
                        id: $0.key, notifier: $0.value.notifier, kind: $0.value.kind,
                        at: times[$0.key] ?? now.wall, isUrgent: urgent.contains($0.key))
                }))
    }

    mutating func add(
        _ count: Int = 1, _ kind: NotificationKind = .failure, isUrgent: Bool = false,
        to name: String
    ) {
        for _ in 0..<count {
            let row = Int64(rows.count) + 1
            rows[row] = (Notifier.Name(name)!, kind, nil)
            times[row] = now.wall
            if isUrgent { urgent.insert(row) }
        }
        readRows()
    }

    mutating func handle(_ event: Outbox.Event) {
        for action in outbox.handle(event, at: now) { perform(action) }
    }

    private mutating func perform(_ action: Outbox.Action) {
        switch action {
        case .create(let id, let notifier, let notifications, let at):
            #expect(messages[id] == nil && !notifications.isEmpty)
            #expect(!messages.values.contains { $0.created == at })
            for row in notifications {
                #expect(rows[row]?.message == nil)
                rows[row]?.message = id
            }
            messages[id] = Store.Message(
                id: id, notifier: notifier, created: at, state: .waiting, attempts: 0, next: at,
                error: nil, sent: nil, count: notifications.count)
            handle(.created([id]))
        case .send(let id, let attempt, let created, let timeout):
            #expect(messages[id]?.created == created && messages[id]?.state == .waiting)
            #expect(sending.updateValue(attempt, forKey: id) == nil)
            let busy = sending.keys.compactMap { messages[$0]?.notifier }
            #expect(busy.count <= Outbox.activeMax && Set(busy).count == busy.count)
            requested.append((id, attempt, awake, timeout))
            if let result = results[[id, Int64(attempt)]] ?? answersAtOnce {
                end(id, result)
            }
        case .record(let result, let created, let notifier):
            #expect(messages[result.id]?.created == created)
            #expect(messages[result.id]?.notifier == notifier)
            messages[result.id]?.state = result.state
            messages[result.id]?.attempts = result.attempts
            messages[result.id]?.next = result.next
            messages[result.id]?.error = result.error
        }
    }

    mutating func end(_ id: Int64, _ result: MessageResult) {
        guard let attempt = sending.removeValue(forKey: id) else { return }
        results[[id, Int64(attempt)]] = result
        handle(.ended(id, attempt: attempt, result))
    }

    /// Lets time pass, and wakes the outbox whenever it asks for it.
    mutating func pass(_ span: Duration) {
        let until = awake + span.wholeNanoseconds
        var wakes = 0
        while let next = outbox.nextWake(at: now.awake), next.nanoseconds <= until {
            let step = max(0, next.nanoseconds - awake)
            awake += step
            wall += step / 1000
            handle(.wake)
            wakes += step == 0 ? 1 : -wakes
            guard wakes < 5 else {
                Issue.record("the outbox asks to be woken again and again")
                return
            }
        }
        wall += (until - awake) / 1000
        awake = until
    }

    var sent: [Store.Message] {
        messages.values.filter { $0.state == .sent }.sorted { $0.id < $1.id }
    }
}
