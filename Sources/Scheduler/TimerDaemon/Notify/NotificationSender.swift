// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import HostQueues
package import Logging
package import TimerCore
import TimerNotify
package import TimerRecording
package import TimerRunnerProtocol
import TimerStore

/// Starts the runs that send messages, and forgets them.
package protocol MessageLauncher: Sendable {
    /// Starts the run of a message, unless it was started already. Its end comes as an event.
    func send(_ request: MessageRequest)
    /// The end of this run is stored, so that it can be forgotten.
    func forget(_ run: Run.ID)
}

/// Sends the notifications of the outbox, on a queue of its own: it performs the actions of
/// `Outbox`. No decision about a job waits for it, and it waits for no receiver.
package actor NotificationSender: QueueActor {
    /// How long notifications are collected before the outbox is read: each commit may have some.
    static let readDelay: Duration = .milliseconds(100)
    /// How many notifications are read at a time.
    static let readMax = 20_000
    /// How many messages are looked at for the limit of an hour.
    static let recentMax = 2000
    /// How long to wait before the store is read again after an error.
    static let retryDelay: Duration = .seconds(1)

    package nonisolated let executor = QueueExecutor(label: "timerd.notify", qos: .utility)
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// The other parts of the daemon that it works with.
    package struct Dependencies: Sendable {
        var clocks: Clocks
        var recorder: Recorder
        var launcher: any MessageLauncher
        var log: Logger
        /// Collects the definitions of these jobs from the loop.
        var definitions:
            @Sendable ([Job.Name], @escaping @Sendable ([Job.Name: Job]) -> Void) -> Void
        /// Executes a command about a job, as that of a user: a notifier may run a job.
        var execute: @Sendable (JobCommand, @escaping @Sendable (Answer) -> Void) -> Void

        package init(
            clocks: Clocks, recorder: Recorder, launcher: any MessageLauncher, log: Logger,
            definitions:
                @escaping @Sendable ([Job.Name], @escaping @Sendable ([Job.Name: Job]) -> Void) ->
                Void,
            execute: @escaping @Sendable (JobCommand, @escaping @Sendable (Answer) -> Void) -> Void
        ) {
            self.clocks = clocks
            self.recorder = recorder
            self.launcher = launcher
            self.log = log
            self.definitions = definitions
            self.execute = execute
        }
    }

    /// The run that makes one attempt to send a message.
    struct Sending {
        /// The number of the message; nil for a test.
        var message: Int64?
        var attempt: Int
        var isRequest: Bool
        var began: AwakeInstant
        /// Called with the result of a test, and how long it took; nil for a message of the outbox.
        var reply: (@Sendable (MessageResult, Duration) -> Void)?
    }

    let dependencies: Dependencies
    package var notifiers: [Notifier.Name: Notifier]
    /// Nil until the store has been read.
    private(set) var outbox: Outbox?
    /// What happened before the outbox was read, which then receives it first.
    private var early: [Outbox.Event] = []
    var sending: [Run.ID: Sending] = [:]
    /// The ends of runs that an earlier instance started.
    var unclaimed: [Run.ID: RunEnd] = [:]
    var states: [Notifier.Name: NotifierState] = [:]
    /// The last notification that was read. Later ones have higher numbers.
    private var lastRead: Int64 = 0
    private var isReading = false
    private var isReadPlanned = false
    private(set) var isStopped = false
    private var timer: (any DispatchSourceTimer)?
    private var wakeAt: AwakeInstant?
    /// The instants of tests, none of which is used twice.
    var lastTest = WallInstant(microsecondsSinceEpoch: 0)

    package init(_ notifiers: [Notifier], dependencies: Dependencies) {
        self.dependencies = dependencies
        self.notifiers = Dictionary(notifiers.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Reads the outbox and begins to send. Call it once the records of this instance are stored.
    package nonisolated func begin() { later { $0.load() } }

    /// There may be new notifications in the store.
    package nonisolated func noteRecorded() { later { $0.planReading() } }

    /// The configuration has these notifiers now.
    package nonisolated func reload(_ notifiers: [Notifier]) {
        later { sender in
            sender.notifiers = Dictionary(notifiers.map { ($0.name, $0) }) { first, _ in first }
            sender.states = sender.states.filter { sender.notifiers[$0.key] != nil }
            sender.receive(.reload(notifiers))
        }
    }

    /// Starts no further run. Messages that are not sent are sent by the next instance.
    package nonisolated func stop() { later { $0.isStopped = true } }

    /// The run of a message has ended. `seen` is called once that is stored.
    package nonisolated func receive(
        _ end: RunEnd, of run: Run.ID, seen: @escaping @Sendable () -> Void
    ) {
        later { sender in
            sender.receive(end, of: run)
            seen()
        }
    }

    // MARK: - The outbox

    private func load() {
        let hour = dependencies.clocks.wall - Outbox.hour
        dependencies.recorder.read { (store: Store) throws(StoreError) in
            let recent = try store.messages(limit: Self.recentMax).filter { $0.created > hour }
            return (
                last: try store.lastMessage(), waiting: try store.waitingMessages(),
                dead: try store.messages(limit: Self.recentMax, state: .dead),
                recent: recent.map { (notifier: $0.notifier, at: $0.created) }
            )
        } _: { result in
            self.later { sender in
                switch result {
                case .success(let found):
                    for message in found.dead {
                        sender.states[message.notifier, default: NotifierState()].dead += 1
                    }
                    sender.outbox = Outbox(
                        Array(sender.notifiers.values), last: found.last, waiting: found.waiting,
                        created: found.recent, at: sender.dependencies.clocks.now())
                    let early = sender.early
                    sender.early = []
                    for event in early { sender.receive(event) }
                    sender.forgetUnwanted()
                    sender.receive(.wake)
                    sender.readPending()
                case .failure: sender.later(after: Self.retryDelay) { $0.load() }
                }
            }
        }
    }

    func receive(_ event: Outbox.Event) {
        guard outbox != nil else { return early.append(event) }
        let now = dependencies.clocks.now()
        let actions = outbox?.handle(event, at: now) ?? []
        create(actions)
        for action in actions { perform(action) }
        setTimer(at: now.awake)
    }

    private func setTimer(at now: AwakeInstant) {
        guard let next = outbox?.nextWake(at: now) else { return }
        guard wakeAt.map({ next < $0 }) ?? true else { return }
        wakeAt = next
        let timer = self.timer ?? makeTimer { $0.timerFired() }
        self.timer = timer
        let wait = max(.milliseconds(1), next - now)
        timer.schedule(
            deadline: .now() + .nanoseconds(Int(clamping: wait.wholeNanoseconds)),
            leeway: .milliseconds(10))
    }

    private func timerFired() {
        wakeAt = nil
        receive(.wake)
    }

    private func planReading() {
        guard !isReadPlanned else { return }
        isReadPlanned = true
        later(after: Self.readDelay) { sender in
            sender.isReadPlanned = false
            sender.readPending()
        }
    }

    /// Reads the notifications that belong to no message.
    private func readPending() {
        guard outbox != nil, !isReading else { return }
        isReading = true
        let last = lastRead
        dependencies.recorder.read { (store: Store) throws(StoreError) in
            try store.notificationsWithoutMessage(after: last, limit: Self.readMax)
        } _: { result in
            self.later { sender in
                sender.isReading = false
                switch result {
                case .success(let found):
                    sender.lastRead = found.last?.id ?? last
                    if found.count == Self.readMax { sender.planReading() }
                    sender.receive(
                        .recorded(
                            found.map { Outbox.Pending($0.id, $0.notification) }))
                case .failure: sender.later(after: Self.retryDelay) { $0.readPending() }
                }
            }
        }
    }
}
