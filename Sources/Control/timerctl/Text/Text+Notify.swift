// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The texts of `timerctl notify`.
extension Text {
    static func notifiers(
        _ notifiers: NotifiersReply, _ messages: NotificationsReply, on screen: Screen = Screen()
    ) -> String {
        guard !notifiers.notifiers.isEmpty || !messages.messages.isEmpty else {
            return
                "no notifiers; a table such as [notify.ops] in the configuration makes one (timerd.toml(5))"
        }
        var lines: [String] = []
        if !notifiers.notifiers.isEmpty {
            let rows = notifiers.notifiers.map { one in
                [
                    .init(one.notifier), .init(receiver(of: one)), .init(when(one.sent)),
                    .init("\(one.waitingCount)"), .init("\(one.deadCount)"), state(of: one),
                ] as [TextTable.Cell]
            }
            let columns: [TextTable.Column] = [
                .init("NOTIFIER", .ownLine, least: 16), .init("SENDS", .wrap, least: 12),
                .init("LAST SENT", importance: 30),
                .init("WAITING", importance: 20, isNumber: true),
                .init("DEAD", importance: 10, isNumber: true), .init("STATE", .wrap, least: 16),
            ]
            lines += TextTable(columns, rows).fitted(to: screen.columns)
                .lines(color: screen.hasColor)
            lines.append("")
        }
        lines += self.messages(messages, on: screen)
        return lines.joined(separator: "\n")
    }

    private static func messages(_ reply: NotificationsReply, on screen: Screen) -> [String] {
        let pending =
            reply.pendingCount > 0
            ? ["\(plural(reply.pendingCount, "notification")) collected for the next message"] : []
        guard !reply.messages.isEmpty else { return pending + ["no messages"] }
        let rows = reply.messages.map { message in
            [
                .init("\(message.number)"), .init(message.notifier),
                .init(when(message.created)), state(of: message),
                .init("\(message.attempts)"), .init(subject(of: message)),
            ] as [TextTable.Cell]
        }
        let columns: [TextTable.Column] = [
            .init("MESSAGE", isNumber: true), .init("NOTIFIER", .ownLine, least: 12),
            .init("CREATED", importance: 20), .init("STATE"),
            .init("ATTEMPTS", importance: 10, isNumber: true), .init("ABOUT", .wrap, least: 16),
        ]
        var lines: [String] = []
        let blocks = TextTable(columns, rows).fitted(to: screen.columns)
            .rowLines(color: screen.hasColor)
        for (index, block) in blocks.enumerated() {
            lines += block
            guard index > 0 else { continue }
            let message = reply.messages[index - 1]
            if let error = message.error {
                lines += screen.lines(Printable.text(error), after: "    ")
            }
            if let next = message.next, message.attempts > 0 {
                lines.append("    next attempt at \(instant(next))")
            }
        }
        return pending + lines
    }

    /// How and to where a notifier sends; the address itself may be secret, and is not known here.
    private static func receiver(of one: NotifierStatus) -> String {
        if let recipients = one.to { return "mail to \(recipients.joined(separator: ", "))" }
        if let job = one.job { return "runs the job \(job)" }
        let place = one.host.map { "to \($0)" } ?? one.credential.map { "to credential \($0)" }
        return [one.format ?? one.transport, place ?? ""].filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    private static func state(of one: NotifierStatus) -> TextTable.Cell {
        let held = one.heldCount.map {
            "holds \(plural($0, "notification")) until \(instant(one.heldUntil)) (per-hour)"
        }
        guard one.isFailing else {
            guard let held else { return .init("ok", .good) }
            return .init(held, .waiting)
        }
        let failing = "failing" + (one.error.map { ": \($0)" } ?? "")
        return .init(failing + (held.map { "; \($0)" } ?? ""), .bad)
    }

    private static func state(of message: MessageStatus) -> TextTable.Cell {
        switch message.state {
        case "sent": .init("sent", .good)
        case "dead": .init("dead", .bad)
        default: .init(message.state, .waiting)
        }
    }

    /// What a message is about: `failure of backup, failure of report, and 3 more`.
    private static func subject(of message: MessageStatus) -> String {
        var parts = message.notifications.prefix(2).map { one in
            one.kind + (one.job.map { " of \($0)" } ?? "")
        }
        let rest = message.notificationCount - parts.count
        if rest > 0 { parts.append("and \(rest) more") }
        return parts.joined(separator: ", ")
    }

    /// What `timerctl notify test` shows: the bytes that were sent, and what came back.
    static func test(_ reply: NotifierTestReply) -> String {
        var lines: [String] = []
        if let method = reply.method {
            let query = (reply.query ?? "").isEmpty ? "" : "?\(reply.query ?? "")"
            lines.append("> \(method) ADDRESS\(reply.pathSuffix ?? "")\(query)")
            lines += (reply.headers ?? []).map { "> \($0)" }
            lines.append(">")
        }
        lines += (reply.body ?? "").isEmpty ? [] : quoted(reply.body ?? "", with: "> ")
        guard !reply.dryRun else {
            let end =
                reply.job.map { "the job \($0) would be started (dry run)" }
                ?? "nothing was sent (dry run)"
            return Printable.lines((lines + ["", end]).joined(separator: "\n"))
        }
        lines += quoted(reply.answer ?? "", with: "< ")
        let took = reply.elapsedUsec.map { " in \(span($0))" } ?? ""
        let status = reply.httpStatus.map { " (HTTP status \($0))" } ?? ""
        let done = reply.job.map { "the job \($0) was started" } ?? "sent\(took)\(status)"
        if !lines.isEmpty { lines.append("") }
        lines.append(reply.isSent ? done : "not sent: \(reply.error ?? "no reason is known")")
        return Printable.lines(lines.joined(separator: "\n"))
    }

    private static func quoted(_ text: String, with mark: String) -> [String] {
        self.lines(of: text).map { ($0.isEmpty ? String(mark.dropLast()) : mark + $0) }
    }
}
