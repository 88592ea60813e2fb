// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Logging
package import TimerCore
package import TimerNotify
import TimerRecording
package import TimerRunnerProtocol
import TimerStore

/// What is known about the messages of a notifier since the daemon started.
package struct NotifierState: Sendable {
    /// When the last message was sent; nil if none was since the daemon started.
    var lastSent: WallInstant?
    /// Why the last attempt that failed did so, and when that was; nil once a message is sent.
    package var lastError: (text: String, at: WallInstant)?
    /// How many notifications and messages are not sent yet.
    package var waiting = 0
    /// How many notifications the limit `per-hour` holds back, and when the next message is sent; nil: none.
    package var held: (count: Int, until: WallInstant)?
    /// How many stored messages are given up, also since earlier starts.
    var dead = 0
    /// How many messages were sent, how many attempts have failed, and how many messages were given
    /// up.
    package var sentCount = 0
    package var failedCount = 0
    package var deadCount = 0
}

/// The result of a test message.
package struct NotifierTest: Sendable {
    /// What was sent; nil if the notifier runs a job.
    package var message: OutgoingMessage?
    package var result: MessageResult
    package var elapsed: Duration
}

/// Tests and repeated messages, which users request, and the states of notifiers, which users see.
extension NotificationSender {
    /// Reads the states of the notifiers, on the queue of the sender.
    package nonisolated func readStates(
        _ done: @escaping @Sendable ([Notifier.Name: NotifierState]) -> Void
    ) {
        later { sender in
            let waiting = sender.outbox?.waiting ?? [:]
            let held = sender.outbox?.held(at: sender.dependencies.clocks.now()) ?? [:]
            var states: [Notifier.Name: NotifierState] = [:]
            for name in sender.notifiers.keys {
                states[name] = sender.states[name] ?? NotifierState()
                states[name]?.waiting = waiting[name] ?? 0
                states[name]?.held = held[name]
            }
            done(states)
        }
    }

    /// Counts the result of an attempt, and logs what a user should know.
    func note(_ result: Store.MessageResult, of name: Notifier.Name) {
        var state = states[name] ?? NotifierState()
        let error = result.error ?? ""
        switch result.state {
        case .sent:
            if state.lastError != nil {
                dependencies.log.notice("The notifier \(name) sends messages again")
            }
            state.lastSent = result.at
            state.lastError = nil
            state.sentCount += 1
        case .waiting:
            if state.lastError == nil {
                dependencies.log.warning(
                    "The notifier \(name) cannot send message \(result.id): \(error); timerd retries it for a day"
                )
            }
            state.lastError = (error, result.at)
            state.failedCount += 1
        case .dead:
            dependencies.log.error(
                "The notifier \(name) cannot send message \(result.id) and does not try again: \(error); `timerctl notify retry \(result.id)` sends it again"
            )
            state.lastError = (error, result.at)
            state.dead += 1
            state.deadCount += 1
        }
        states[name] = state
    }

    /// Sends a message again that is not sent. `done` gets whether there is such a message.
    package nonisolated func retry(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void) {
        later { $0.retryStored(number, done) }
    }

    private func retryStored(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void) {
        dependencies.recorder.read { (store: Store) throws(StoreError) in
            try store.message(number)
        } _: { result in
            guard case .success(let message?) = result, message.state != .sent else {
                return done(false)
            }
            self.later { sender in
                sender.retry(message)
                done(true)
            }
        }
    }

    private func retry(_ message: Store.Message) {
        if message.state == .dead { states[message.notifier]?.dead -= 1 }
        let at = dependencies.clocks.wall
        dependencies.recorder.write(
            [.retryMessage(message.id, at: at)], durable: true)
        receive(.retry(message))
    }

    /// Sends a test message at once. It is not stored, and no limit counts it.
    ///
    /// - Parameters:
    ///   - user: who requested it.
    ///   - reply: gets nil if there is no such notifier.
    package nonisolated func test(
        _ name: Notifier.Name, by user: String,
        _ reply: @escaping @Sendable (NotifierTest?) -> Void
    ) {
        later { $0.testOne(name, by: user, reply) }
    }

    private func testOne(
        _ name: Notifier.Name, by user: String,
        _ reply: @escaping @Sendable (NotifierTest?) -> Void
    ) {
        guard let notifier = notifiers[name] else { return reply(nil) }
        let now = dependencies.clocks.wall
        lastTest = lastTest < now ? now : lastTest + .microseconds(1)
        let contents = MessageContents(testOf: name, at: lastTest)
        if case .job(let job) = notifier.transport {
            let command = JobCommand(
                .run, job, by: .user(user),
                variables: RunVariables(contents.reports[0].notification, message: nil))
            return dependencies.execute(command) { answer in
                reply(
                    NotifierTest(message: nil, result: MessageResult(ofJob: answer), elapsed: .zero)
                )
            }
        }
        let message = contents.message(of: notifier, [:])
        guard let content = MessageRequest.Content(message) else {
            return reply(NotifierTest(message: message, result: .init(.sent), elapsed: .zero))
        }
        guard sending.values.count(where: { $0.message == nil }) < Self.testsMax else {
            let busy = MessageResult(.failed("too many tests are in progress; try again later"))
            return reply(NotifierTest(message: message, result: busy, elapsed: .zero))
        }
        // The attempts of other messages have numbers from 1 on.
        let run = MessageRequest.run(created: contents.created, attempt: Self.testAttempt)
        var isRequest = false
        if case .request = content { isRequest = true }
        sending[run] = Sending(
            message: nil, attempt: Self.testAttempt, isRequest: isRequest,
            began: dependencies.clocks.awake
        ) { result, elapsed in
            reply(NotifierTest(message: message, result: result, elapsed: elapsed))
        }
        dependencies.launcher.send(MessageRequest(run: run, notifier: name, content: content))
    }

    private static let testAttempt = 1_000_000_000
    /// How many tests may be in progress: the runner has four places for them and the messages.
    private static let testsMax = 16

    // MARK: - Notifiers that run a job

    /// Runs the job of a notifier. The message is sent when the run is recorded: what becomes of it
    /// is in the history of that job.
    func run(
        _ job: Job.Name, of notifier: Notifier, for contents: MessageContents, attempt: Int
    ) {
        guard let notification = contents.reports.first?.notification else { return }
        var command = JobCommand(
            .run, job, by: .user("notify.\(notifier.name)"),
            variables: RunVariables(notification, message: contents.number))
        command.ignoresHold = true
        dependencies.execute(command) { answer in
            self.later {
                $0.receive(
                    .ended(contents.number, attempt: attempt, MessageResult(ofJob: answer)))
            }
        }
    }
}

extension MessageResult {
    /// The result of a command to run the job of a notifier.
    /// It has a label, because `.refused` is an answer, too.
    init(ofJob answer: Answer) {
        switch answer {
        case .requested: self.init(.sent)
        case .noSuchJob: self.init(.refused("there is no such job any more"))
        case .refused(let why), .unchanged(let why):
            self.init(.failed("the job does not run: \(why)"))
        case .done, .pauseChanged, .killed: self.init(.failed("the job does not run"))
        }
    }
}
