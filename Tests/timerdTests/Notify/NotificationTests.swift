// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore
import TimerNotify
import TimerStore

@testable import timerctl
@testable import timerd

/// What people see of notifications: requests, texts, metrics.
@Suite struct NotificationTests {
    private let folder = "/tmp/timerd-notifications-\(UUID().uuidString)"

    private func store() throws -> Store {
        mkdir(folder, 0o700)
        return try Store(path: "\(folder)/\(Store.fileName)")
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private static func name(_ text: String) throws -> Notifier.Name {
        try #require(Notifier.Name(text))
    }

    private func notification(
        _ kind: NotificationKind, _ second: Int64, job: String = "backup", notifier: String = "ops"
    ) throws -> JobNotification {
        JobNotification(
            notifier: try Self.name(notifier), kind: kind, job: Job.Name(job), at: at(second),
            since: at(0), recoveredFrom: kind == .recovery ? [.failure] : [])
    }

    // MARK: - Requests

    @Test(
        arguments: [
            ("GET", "/v1/notifications", .messages(NotificationQuery())),
            (
                "GET", "/v1/notifications?state=dead&limit=7&cursor=12",
                .messages(NotificationQuery(state: .dead, limit: 7, cursor: 12))
            ),
            (
                "GET", "/v1/notifications?job=backup",
                .messages(NotificationQuery(job: Job.Name("backup")))
            ),
            ("POST", "/v1/notifications/12/retry", .retryMessage(12)),
            ("GET", "/v1/notifiers", .notifiers),
            (
                "POST", "/v1/notifiers/ops/test",
                .testNotifier(Notifier.Name("ops") ?? noName, dryRun: false)
            ),
            (
                "POST", "/v1/notifiers/ops/test?dry_run=1",
                .testNotifier(Notifier.Name("ops") ?? noName, dryRun: true)
            ),
        ] as [(String, String, ControlRequest)])
    func requestsAreRead(method: String, path: String, request: ControlRequest) throws {
        #expect(try ControlRequest(method: method, path: path, body: []) == request)
        #expect(request.method == method && request.isForBrowsers)
        // Whoever may only look sends nothing.
        #expect(request.isChange == (method == "POST"))
        #expect(
            try ControlRequest(method: method, path: request.path, body: request.body) == request)
    }

    private static var noName: Notifier.Name { preconditionFailure("ops is a valid name") }

    @Test(arguments: [
        ("GET", "/v1/notifications?state=lost"), ("GET", "/v1/notifications?limit=0"),
        ("GET", "/v1/notifications?limit=201"), ("GET", "/v1/notifications?cursor=-1"),
        ("GET", "/v1/notifications?cursor=99999999999999999999"), ("POST", "/v1/notifications"),
        ("POST", "/v1/notifications/-1/retry"), ("POST", "/v1/notifications/x/retry"),
        ("GET", "/v1/notifications/1/retry"), ("POST", "/v1/notifiers/a%20b/test"),
        ("POST", "/v1/notifiers/ops/test?dry_run=2"), ("POST", "/v1/notifiers/ops/test?x=1"),
    ])
    func othersAreRefused(method: String, path: String) {
        #expect(throws: ControlRequest.Fault.self) {
            try ControlRequest(method: method, path: path, body: [])
        }
    }

    // MARK: - The outbox

    @Test func theSumsOfANotifierAreThoseOfItsMessages() throws {
        defer { clean() }
        let store = try store()
        #expect(try store.notifierSums().isEmpty)
        for (index, kind) in [NotificationKind.failure, .failure, .recovery].enumerated() {
            try store.commit([.notify(notification(kind, Int64(index)))], durable: false)
        }
        #expect(try store.notificationsWithoutMessageCount() == 3)
        let ops = try Self.name("ops")
        for (index, one) in try store.notificationsWithoutMessage(limit: 9).enumerated() {
            try store.commit(
                [
                    .createMessage(
                        Int64(index) + 1, notifier: ops, notifications: [one.id], at: at(9))
                ], durable: false)
        }
        try store.commit(
            [
                .messageResult(.init(id: 1, state: .sent, attempts: 1, at: at(10))),
                .messageResult(
                    .init(
                        id: 2, state: .dead, attempts: 1, error: "HTTP status 404", at: at(11))),
            ], durable: false)
        var sums = try #require(try store.notifierSums()[ops])
        #expect(sums.waiting == 1 && sums.dead == 1 && sums.sent == at(10))
        #expect(sums.error == "HTTP status 404" && sums.isFailing)
        // The recovery answers the message that told of the failure.
        func earlier(_ kind: NotificationKind, of job: String = "backup") throws -> Int64? {
            try store.earlierMessage(
                about: notification(kind, 2), of: Job.Name(job), before: 3)
        }
        #expect(try earlier(.recovery) == 1)
        #expect(try earlier(.failure) == nil)
        #expect(try earlier(.recovery, of: "x") == nil)
        // Also when the job was renamed since, and nothing else is found under its old name.
        try store.commit(
            [.rename(Renaming(from: #require(Job.Name("backup")), to: #require(Job.Name("copy"))))],
            durable: false)
        #expect(try earlier(.recovery, of: "copy") == 1)
        #expect(try earlier(.recovery) == nil)
        try store.commit(
            [.messageResult(.init(id: 3, state: .sent, attempts: 2, at: at(12)))], durable: false)
        sums = try #require(try store.notifierSums()[ops])
        #expect(sums.waiting == 0 && !sums.isFailing && sums.error == "HTTP status 404")
    }

    @Test func aMessageHasTheOutputOfItsRun_andAnswersTheOneBefore() throws {
        defer { clean() }
        let store = try store()
        let job = Job(
            name: try #require(Job.Name("backup")), command: .arguments(["rsync", "-a"]),
            schedule: .every(.seconds(60)), description: "Nightly")
        let run = Run(
            firing: Firing(
                id: .init(job: job.name, scheduled: at(0)), missed: 0, active: .zero),
            attempt: 1, job: job)
        var failure = try notification(.failure, 1)
        failure.run = run.id
        failure.outcome = .exited(3)
        try store.commit(
            [
                .begin(run, at: at(0)),
                .close(
                    run.id, .exited(3), RunUsage(), failed: true, began: at(0), at: at(1),
                    tail: Array("refused\n".utf8)),
                .notify(failure),
            ], durable: false)
        let notifier = Notifier(
            name: failure.notifier, transport: .mail(to: ["root"], from: nil, contentType: nil))
        func mail(_ number: Int64, created: WallInstant? = nil) throws -> String {
            let contents = try MessageContents(number, created: created ?? at(2), in: store)
            guard case .mail(let bytes) = contents.message(of: notifier, [job.name: job])
            else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }
        try group(1, notifier.name, in: store)
        try store.commit([.notify(notification(.recovery, 3))], durable: false)
        try group(2, notifier.name, in: store)
        let first = try mail(1)
        #expect(first.contains("    | refused\n") && first.contains("backup (Nightly)"))
        let created = String(at(2).microsecondsSinceEpoch, radix: 16)
        let name = "timerd.1.\(created).\(store.identity.id)"
        #expect(first.contains("\nMessage-ID: <\(name)@"))
        let again = try mail(1)
        #expect(!first.contains("In-Reply-To") && first == again)
        #expect(try mail(2).contains("\nIn-Reply-To: <\(name)@"))
        // A copy of the database that was restored has the same identity and the same numbers.
        #expect(try !mail(1, created: at(9)).contains("Message-ID: <\(name)@"))
    }

    /// Makes a message of everything that belongs to none.
    private func group(_ number: Int64, _ notifier: Notifier.Name, in store: Store) throws {
        let rows = try store.notificationsWithoutMessage(limit: 9).map(\.id)
        try store.commit(
            [.createMessage(number, notifier: notifier, notifications: rows, at: at(2))],
            durable: false)
    }

    // MARK: - Errors

    @Test func anUnknownNotifierIsAnswered_withTheNearestNameOrTheFileToEdit() throws {
        let nope = try Self.name("NOPE")
        func text(_ name: Notifier.Name, _ known: String...) throws -> String {
            ErrorReply.noSuchNotifier(
                name, among: try known.map(Self.name), config: "/etc/timerd/timerd.toml"
            ).error
        }
        #expect(
            try text(nope)
                == "no notifier is named \"NOPE\", because none is configured: add a table such as [notify.ops] to /etc/timerd/timerd.toml, then `timerctl reload`"
        )
        #expect(
            try text(nope, "chat", "ops")
                == "no notifier is named \"NOPE\"; `timerctl notify list` lists them")
        #expect(
            try text(Self.name("opps"), "chat", "ops")
                == "no notifier is named \"opps\" (did you mean \"ops\"?); `timerctl notify list` lists them"
        )
        #expect(
            NotifyTestVerb.whichNotifier([], config: "/etc/timerd/timerd.toml")
                == "no notifier is configured: add a table such as [notify.ops] to /etc/timerd/timerd.toml, then `timerctl reload`"
        )
        #expect(
            NotifyTestVerb.whichNotifier(["chat", "ops"], config: "/x")
                == "give the name of a notifier, such as `timerctl notify test chat`; there are: chat, ops"
        )
    }

    @Test(
        arguments: [
            (
                999, 0,
                "there is no message 999, because none was created yet; `timerctl notify test NOTIFIER` sends a test"
            ),
            (
                999, 17,
                "there is no message 999; the latest is 17; `timerctl notify list` lists them"
            ),
            (
                0, 17, "there is no message 0; the latest is 17; `timerctl notify list` lists them"
            ),
            (
                17, 17,
                "message 17 was deleted, because it is too old; `timerctl notify list` lists them"
            ),
        ] as [(Int64, Int64, String)])
    func anUnknownMessageIsAnswered(number: Int64, last: Int64, text: String) {
        #expect(ErrorReply.noSuchMessage(number, last: last).error == text)
    }

    // MARK: - Texts

    @Test(
        arguments: [
            ("https://hooks.slack.com/services/T0/B0/secret", "hooks.slack.com"),
            ("https://user:secret@[::1]:8080/x", "[::1]:8080"), ("http://127.0.0.1", "127.0.0.1"),
            ("https://a@b@c/x", "c"), ("https://host?token=secret", "host"),
            ("https://host#secret", "host"), ("https://host\\@x/", "host"), ("nonsense", nil),
            ("https:///x", nil),
        ] as [(String, String?)])
    func ofAnAddressOnlyTheMachineIsShown(url: String, host: String?) throws {
        let notifier = Notifier(
            name: try Self.name("ops"), transport: .webhook(.url(url), .slack))
        let status = NotifierStatus(notifier, Store.NotifierSums())
        #expect(status.host == host)
        let json = String(decoding: try ControlJSON.encode(status), as: UTF8.self)
        #expect(!json.contains("secret") && json.contains("\"format\":\"slack\""))
    }

    @Test func theListHasNotifiersAndMessages() {
        var ops = NotifierStatus(notifier: "ops", transport: "mail", on: ["failure"])
        ops.to = ["root"]
        var chat = NotifierStatus(notifier: "chat", transport: "webhook", on: ["failure"])
        (chat.format, chat.credential) = ("slack", "hook")
        (chat.isFailing, chat.error, chat.waitingCount) = (true, "HTTP status 503\u{1b}", 2)
        let message = MessageStatus(
            number: 17, notifier: "chat", state: "waiting", created: "x", attempts: 3, next: "y",
            error: "HTTP status 503", notificationCount: 4,
            notifications: [
                NotificationStatus(at: "x", job: "backup", kind: "failure"),
                NotificationStatus(at: "x", job: "report", kind: "late"),
            ])
        let text = Text.notifiers(
            NotifiersReply(notifiers: [chat, ops]),
            NotificationsReply(messages: [message], pendingCount: 1))
        #expect(
            text == """
                NOTIFIER  SENDS                     LAST SENT  WAITING  DEAD  STATE
                chat      slack to credential hook  -          2        0     failing: HTTP status 503\\x1b
                ops       mail to root              -          0        0     ok

                1 notification collected for the next message
                MESSAGE  NOTIFIER  CREATED  STATE    ATTEMPTS  ABOUT
                17       chat      x        waiting  3         failure of backup, late of report, and 2 more
                    HTTP status 503
                    next attempt at y
                """)
        #expect(
            Text.notifiers(
                NotifiersReply(notifiers: []), NotificationsReply(messages: [], pendingCount: 0)
            ).hasPrefix("no notifiers; "))
    }

    @Test func aTestShowsWhatWasSentAndWhatCameBack() {
        var reply = NotifierTestReply(notifier: "chat", dryRun: false)
        (reply.method, reply.pathSuffix, reply.query) = ("POST", "/log", "rid=1")
        (reply.headers, reply.body) = (["Content-Type: text/plain"], "hello\n\nworld")
        (reply.answer, reply.httpStatus, reply.error) = (
            "no\u{1b}[2J\n", 404, "HTTP status 404: no"
        )
        reply.elapsedUsec = 12_000
        #expect(
            Text.test(reply) == """
                > POST ADDRESS/log?rid=1
                > Content-Type: text/plain
                >
                > hello
                >
                > world
                < no\\x1b[2J

                not sent: HTTP status 404: no
                """)
        (reply.httpStatus, reply.error, reply.isSent) = (200, nil, true)
        #expect(Text.test(reply).hasSuffix("\n\nsent in 12ms (HTTP status 200)"))
        reply.dryRun = true
        #expect(Text.test(reply).hasSuffix("> world\n\nnothing was sent (dry run)"))
    }
}
