// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore
import WebReceiver

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// A runner behind a socket with notifiers, and a scheduler that sends messages.
final class MessageFixture: Sendable {
    let server: ServerFixture
    let events: ReceivedEvents
    let client: RunnerClient
    private let next = Mutex(0)

    init(
        _ transports: [String: Notifier.Transport], sendmail: String? = nil,
        proxy: String? = nil, folder: String? = nil,
        _ change: @escaping (inout RunnerServer.Settings) -> Void = { _ in }
    ) throws {
        var notifiers: [Notifier.Name: Notifier] = [:]
        for (text, transport) in transports {
            let name = Notifier.Name(text)!
            notifiers[name] = Notifier(
                name: name, transport: transport, sendmail: sendmail, proxy: proxy)
        }
        var rules = RunnerServer.RunRules()
        rules.notifiers = notifiers
        let fixed = rules
        server = try ServerFixture(in: folder) { settings in
            settings.didApply = { fixed }
            change(&settings)
        }
        let events = ReceivedEvents()
        self.events = events
        client = try server.client { events.take($0, $1) }
    }

    deinit {
        client.close()
        server.stop()
    }

    /// A new request for this notifier.
    func request(_ notifier: String, _ content: MessageRequest.Content) -> MessageRequest {
        let number = next.withLock { number in
            number += 1
            return number
        }
        return MessageRequest(
            run: MessageRequest.run(
                created: WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number)),
                attempt: 1), notifier: Notifier.Name(notifier)!, content: content)
    }

    /// Sends a message and waits for the end of its run.
    func send(_ notifier: String, _ content: MessageRequest.Request = .init()) -> RunEnd? {
        send(request(notifier, .request(content)))
    }

    func send(_ request: MessageRequest) -> RunEnd? {
        client.send(request)
        return end(of: request.run)
    }

    func end(of run: Run.ID) -> RunEnd? {
        events.wait { $0.contains { if case .ended(run, _) = $0 { true } else { false } } }
        for case .ended(run, let end) in events.events { return end }
        return nil
    }
}
