// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import TimerCore
import TimerNotify
import TimerRecording
import TimerRunnerProtocol
import TimerStore

/// The actions of the outbox: new messages are stored, and attempts to send them are made.
extension NotificationSender {
    /// How many messages are stored in one transaction at most.
    private static let createMax = 64

    /// An attempt to send a message: its number, from 1 on, and how long it may take.
    private struct Attempt {
        var number: Int
        var timeout: Duration
    }

    /// Stores the new messages. They are sent once they are on the disk: after a power cut, no other
    /// message may have the number of one that was sent. A ping does not contain its number.
    func create(_ actions: [Outbox.Action]) {
        var changes: [(id: Int64, change: Store.Change)] = []
        var isDurable = false
        for case .create(let id, let name, let notifications, let at) in actions {
            let change = Store.Change.createMessage(
                id, notifier: name, notifications: notifications, at: at)
            changes.append((id, change))
            isDurable = isDurable || notifiers[name]?.transport.isPing != true
        }
        while !changes.isEmpty {
            let part = changes.prefix(Self.createMax)
            changes.removeFirst(part.count)
            let ids = Set(part.map(\.id))
            dependencies.recorder.write(part.map(\.change), durable: isDurable) { _ in
                self.later { $0.receive(.created(ids)) }
            }
        }
    }

    func perform(_ action: Outbox.Action) {
        switch action {
        case .create: break
        case .send(let message, let attempt, let created, let timeout):
            guard !isStopped else { return }
            prepare(message, Attempt(number: attempt, timeout: timeout), created: created)
        case .record(let result, let created, let notifier):
            note(result, of: notifier)
            let run = MessageRequest.run(created: created, attempt: result.attempts)
            dependencies.recorder.write([.messageResult(result)]) {
                [launcher = dependencies.launcher] _ in launcher.forget(run)
            }
        }
    }

    /// What the receiver of a message gets is read from the store, so that it is the same at each
    /// attempt.
    private func prepare(_ message: Int64, _ attempt: Attempt, created: WallInstant) {
        dependencies.recorder.read { (store: Store) throws(StoreError) in
            try MessageContents(message, created: created, in: store)
        } _: { result in
            self.later { sender in
                switch result {
                case .success(let contents): sender.send(contents, attempt)
                case .failure(let error):
                    // It is tried again like a message that a receiver did not take.
                    sender.receive(
                        .ended(message, attempt: attempt.number, .init(.failed("\(error)"))))
                }
            }
        }
    }

    private func send(_ contents: MessageContents, _ attempt: Attempt) {
        guard let notifier = contents.notifier.flatMap({ notifiers[$0] }) else {
            return receive(
                .ended(
                    contents.number, attempt: attempt.number,
                    .init(.refused("its notifications are not there any more"))))
        }
        if case .job(let job) = notifier.transport {
            return run(job, of: notifier, for: contents, attempt: attempt.number)
        }
        dependencies.definitions(contents.jobs) { definitions in
            self.later { sender in
                let message = contents.message(of: notifier, definitions)
                sender.start(message, contents, of: notifier, attempt)
            }
        }
    }

    private func start(
        _ message: OutgoingMessage, _ contents: MessageContents, of notifier: Notifier,
        _ attempt: Attempt
    ) {
        let number = attempt.number
        let run = MessageRequest.run(created: contents.created, attempt: number)
        guard let content = MessageRequest.Content(message) else {
            // There is nothing to send to this receiver.
            return receive(.ended(contents.number, attempt: number, .init(.sent)))
        }
        let request = MessageRequest(
            run: run, notifier: notifier.name, content: content, timeout: attempt.timeout)
        guard request.fits else {
            return receive(
                .ended(contents.number, attempt: number, .init(.refused("it is too large"))))
        }
        if let end = unclaimed.removeValue(forKey: run) {
            let result = MessageResult(end, isRequest: request.isRequest)
            return receive(.ended(contents.number, attempt: number, result))
        }
        sending[run] = Sending(
            message: contents.number, attempt: number, isRequest: request.isRequest,
            began: dependencies.clocks.awake)
        dependencies.launcher.send(request)
    }

    func receive(_ end: RunEnd, of run: Run.ID) {
        guard let one = sending.removeValue(forKey: run) else {
            // An earlier instance started it. It counts when the same attempt is due here.
            unclaimed[run] = end
            return forgetUnwanted()
        }
        let result = MessageResult(end, isRequest: one.isRequest)
        if let reply = one.reply {
            dependencies.launcher.forget(run)
            return reply(result, end.usage.elapsed)
        }
        guard let message = one.message else { return dependencies.launcher.forget(run) }
        receive(.ended(message, attempt: one.attempt, result))
    }

    /// Forgets the ends of attempts that will not be made.
    func forgetUnwanted() {
        guard let outbox else { return }
        for run in unclaimed.keys where !outbox.wants(run) {
            unclaimed[run] = nil
            dependencies.launcher.forget(run)
        }
    }
}

extension MessageRequest {
    fileprivate var isRequest: Bool { if case .request = content { true } else { false } }
}

extension MessageRequest.Content {
    /// Nil if the notifier sends nothing in this case, as some services have no ping for it.
    init?(_ message: OutgoingMessage) {
        switch message {
        case .mail(let bytes): self = .mail(bytes)
        case .request(let request):
            self = .request(
                MessageRequest.Request(
                    method: request.method, path: request.path, query: request.query,
                    headers: request.headers.map { .init($0.name, $0.value) }, body: request.body))
        case .nothing: return nil
        }
    }
}
