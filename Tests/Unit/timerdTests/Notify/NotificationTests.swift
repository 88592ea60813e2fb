// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore
import TimerNotify
import TimerStore

@testable import TimerAPI
@testable import timerctl

/// What people see of notifications: requests, errors and texts.
@Suite struct NotificationTests {
    private static func name(_ text: String) throws -> Notifier.Name {
        try #require(Notifier.Name(text))
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
                .testNotifier(Notifier.Name("ops") ?? noName)
            ),
            (
                "POST", "/v1/notifiers/ops/test?dry_run=1",
                .testNotifier(
                    Notifier.Name("ops") ?? noName, NotifierTestQuery(isDryRun: true))
            ),
        ] as [(String, String, ControlRequest)])
    func requestsAreRead(method: String, path: String, request: ControlRequest) throws {
        #expect(try ControlRequest(method: method, path: path, body: []) == request)
        #expect(request.method == method && request.endpoint.access.isForBrowsers)
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
                chat      slack to credential hook  -                2     0  failing: HTTP status 503\\x1b
                ops       mail to root              -                0     0  ok

                1 notification collected for the next message
                MESSAGE  NOTIFIER  CREATED  STATE    ATTEMPTS  ABOUT
                     17  chat      x        waiting         3  failure of backup, late of report, and 2 more
                    HTTP status 503
                    next attempt at y
                """)
        #expect(
            Text.notifiers(
                NotifiersReply(notifiers: []), NotificationsReply(messages: [], pendingCount: 0)
            ).hasPrefix("no notifiers; "))
    }

    @Test func theListShowsWhatTheLimitHoldsBack_andUntilWhen() {
        var ops = NotifierStatus(notifier: "ops", transport: "mail", on: ["failure"])
        (ops.to, ops.heldCount, ops.heldUntil) = (["root"], 3, "z")
        func text() -> String {
            Text.notifiers(
                NotifiersReply(notifiers: [ops]),
                NotificationsReply(messages: [], pendingCount: 3))
        }
        #expect(text().contains("holds 3 notifications until z (per-hour)"))
        (ops.isFailing, ops.error) = (true, "x")
        #expect(text().contains("failing: x; holds 3 notifications until z (per-hour)"))
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
        #expect(Text.test(reply).hasSuffix("\n\nsent in 12 ms (HTTP status 200)"))
        reply.dryRun = true
        #expect(Text.test(reply).hasSuffix("> world\n\nnothing was sent (dry run)"))
    }
}
