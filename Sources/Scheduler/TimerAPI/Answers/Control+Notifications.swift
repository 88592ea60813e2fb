// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP
import TimerNotify
import TimerRecording
import TimerRunnerProtocol
import TimerStore

/// Requests about those who are notified about jobs.
extension Control {
    func messages(_ query: NotificationQuery, _ reply: @escaping ControlAnswer.Reply) {
        recorder.read { (store) throws(StoreError) in
            // One more than is shown, to know whether there is more.
            var messages = try store.messages(
                limit: query.limit + 1, before: query.cursor,
                state: query.state.map { Store.MessageState($0) }, job: query.job)
            let isCut = messages.count > query.limit
            if isCut { messages.removeLast() }
            var shown: [MessageStatus] = []
            for message in messages {
                shown.append(try Self.status(of: message, only: query.job, store))
            }
            return NotificationsReply(
                messages: shown, nextCursor: isCut ? messages.last.map { "\($0.id)" } : nil,
                pendingCount: try store.notificationsWithoutMessageCount())
        } _: { result in
            DispatchQueue.answers.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success(let answer): self.send(.ok, answer, reply)
                }
            }
        }
    }

    private static func status(
        of message: Store.Message, only job: Job.Name? = nil, _ store: Store
    ) throws(StoreError) -> MessageStatus {
        let notifications = try store.notifications(of: message.id)
            .filter { job == nil || $0.owner == job }
            .prefix(MessageStatus.notificationsMax)
        return MessageStatus(
            number: message.id, notifier: message.notifier.description,
            state: message.state.rawValue, created: message.created.rfc3339Micros,
            attempts: message.attempts, next: message.next?.rfc3339Micros, error: message.error,
            sent: message.sent?.rfc3339Micros, notificationCount: message.count,
            notifications: notifications.map { NotificationStatus($0) })
    }

    // MARK: - Sending again

    func retryMessage(_ number: Int64, _ reply: @escaping ControlAnswer.Reply) {
        recorder.read { (store) throws(StoreError) in
            (message: try store.message(number), last: try store.lastMessage())
        } _: { result in
            switch result {
            case .failure(let error): DispatchQueue.answers.async { self.send(error, reply) }
            case .success((nil, let last)):
                let fault = ErrorReply.noSuchMessage(number, last: last)
                DispatchQueue.answers.async { self.send(.notFound, fault, reply) }
            case .success((let message?, _)) where message.state == .sent:
                self.answerRetry(number, changed: false, reason: "it was sent already", reply)
            case .success:
                self.sender.retry(number) { isRetried in
                    self.answerRetry(
                        number, changed: isRetried,
                        reason: isRetried ? nil : "it was sent in the meantime", reply)
                }
            }
        }
    }

    private func answerRetry(
        _ number: Int64, changed: Bool, reason: String?, _ reply: @escaping ControlAnswer.Reply
    ) {
        recorder.read { (store) throws(StoreError) -> MessageStatus? in
            guard let message = try store.message(number) else { return nil }
            return try Self.status(of: message, store)
        } _: { result in
            DispatchQueue.answers.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success(let message):
                    let answer = MessageRetryReply(
                        changed: changed, reason: reason, messages: message.map { [$0] } ?? [])
                    self.send(.ok, answer, reply)
                }
            }
        }
    }

    // MARK: - Notifiers

    func notifiers(_ reply: @escaping ControlAnswer.Reply) {
        sender.readNotifiers { notifiers in
            self.sender.readStates { states in
                self.recorder.read { (store) throws(StoreError) in
                    try store.notifierSums()
                } _: {
                    result in
                    DispatchQueue.answers.async {
                        switch result {
                        case .failure(let error): self.send(error, reply)
                        case .success(let sums):
                            let shown = notifiers.map {
                                NotifierStatus(
                                    $0, sums[$0.name] ?? Store.NotifierSums(), states[$0.name])
                            }
                            self.send(.ok, NotifiersReply(notifiers: shown), reply)
                        }
                    }
                }
            }
        }
    }

    func testNotifier(
        _ name: Notifier.Name, dryRun: Bool, by peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        sender.readNotifiers { notifiers in
            guard let notifier = notifiers.first(where: { $0.name == name }) else {
                return DispatchQueue.answers.async {
                    self.noSuchNotifier(name, among: notifiers, reply)
                }
            }
            guard !dryRun else {
                let test = MessageContents(testOf: name, at: self.loop.clocks.wall)
                let message = test.message(of: notifier, [:])
                return DispatchQueue.answers.async {
                    self.send(.ok, NotifierTestReply(notifier, message), reply)
                }
            }
            self.sender.test(name, by: peer.name) { test in
                DispatchQueue.answers.async {
                    guard let test else {
                        return self.noSuchNotifier(name, among: notifiers, reply)
                    }
                    self.send(.ok, NotifierTestReply(notifier, test), reply)
                }
            }
        }
    }

    private func noSuchNotifier(
        _ name: Notifier.Name, among notifiers: [Notifier], _ reply: ControlAnswer.Reply
    ) {
        send(
            .notFound,
            ErrorReply.noSuchNotifier(
                name, among: notifiers.map(\.name), config: about.configPath), reply)
    }
}

extension Store.MessageState {
    fileprivate init(_ state: NotificationQuery.State) {
        switch state {
        case .waiting: self = .waiting
        case .sent: self = .sent
        case .dead: self = .dead
        }
    }
}

extension NotificationStatus {
    fileprivate init(_ stored: Store.StoredNotification) {
        let notification = stored.notification
        self.init(
            at: notification.at.rfc3339Micros,
            failedInARow: notification.failedInARow == 0 ? nil : notification.failedInARow,
            job: stored.owner?.description, kind: notification.kind.rawValue,
            outcome: notification.outcome?.description, run: notification.run?.description)
    }
}

extension NotifierStatus {
    /// A notifier without anything that may be secret: of an address only the machine.
    init(_ notifier: Notifier, _ sums: Store.NotifierSums, _ state: NotifierState? = nil) {
        self.init(
            notifier: notifier.name.description, transport: notifier.transport.word,
            on: notifier.on.map(\.rawValue).sorted())
        switch notifier.transport {
        case .mail(let recipients, _, _): to = recipients
        case .webhook(let address, let format):
            self.format = format.rawValue
            show(address)
        case .ping(let address, let format):
            self.format = format.rawValue
            show(address)
        case .job(let job): self.job = job.description
        }
        deadCount = sums.dead
        error = sums.error
        heldCount = state?.held?.count
        heldUntil = state?.held?.until.rfc3339Micros
        isFailing = sums.isFailing
        sent = sums.sent?.rfc3339Micros
        waitingCount = sums.waiting
    }

    private mutating func show(_ address: Notifier.Address) {
        switch address {
        case .credential(let name): credential = name
        case .url(let url): host = Self.host(of: url)
        }
    }

    /// The machine of a URL, without a user and a password; nil if it has none.
    static func host(of url: String) -> String? {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { !"/?#\\".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return host.isEmpty ? nil : String(host)
    }
}

extension Notifier.Transport {
    fileprivate var word: String {
        switch self {
        case .mail: "mail"
        case .webhook: "webhook"
        case .ping: "ping"
        case .job: "job"
        }
    }
}

extension NotifierTestReply {
    /// A dry run: only what would be sent.
    fileprivate init(_ notifier: Notifier, _ message: OutgoingMessage) {
        self.init(notifier: notifier.name.description, dryRun: true)
        show(message, of: notifier)
    }

    /// What was sent, and what came back.
    fileprivate init(_ notifier: Notifier, _ test: NotifierTest) {
        self.init(notifier: notifier.name.description, dryRun: false)
        show(test.message ?? .nothing, of: notifier)
        answer = String(decoding: test.result.answer, as: UTF8.self)
        elapsedUsec = test.elapsed.wholeMicroseconds
        httpStatus = test.result.status
        switch test.result.verdict {
        case .sent: isSent = true
        case .failed(let why), .refused(let why): error = why
        }
    }

    private mutating func show(_ message: OutgoingMessage, of notifier: Notifier) {
        switch message {
        case .mail(let bytes): body = String(decoding: bytes, as: UTF8.self)
        case .request(let request):
            body = String(decoding: request.body, as: UTF8.self)
            headers = request.headers.map { "\($0.name): \($0.value)" }
            method = request.method
            pathSuffix = request.path
            query = request.query
        case .nothing:
            guard case .job(let job) = notifier.transport else { return }
            self.job = job.description
        }
    }
}

extension NotificationSender {
    /// The notifiers of the configuration in use, by their names.
    nonisolated func readNotifiers(_ done: @escaping @Sendable ([Notifier]) -> Void) {
        later { sender in done(sender.notifiers.values.sorted { $0.name < $1.name }) }
    }
}
