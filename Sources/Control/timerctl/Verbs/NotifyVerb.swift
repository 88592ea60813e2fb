// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct NotifyVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "See who is notified about jobs, send a test, send a message again.",
        subcommands: [NotifyListVerb.self, NotifyTestVerb.self, NotifyRetryVerb.self],
        defaultSubcommand: NotifyListVerb.self)
    static let reading = Reading.part("without a command")
}

struct NotifyListVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "The notifiers, and the latest messages and their states.")

    @OptionGroup var connection: Connection

    @Option(
        help: ArgumentHelp(
            "Only messages about this job.", valueName: "job"), completion: .jobNames,
        transform: JobArgument.name)
    var job: Job.Name?

    @Option(
        help: ArgumentHelp(
            "Only messages in this state: waiting, sent or dead.", valueName: "state"),
        completion: .list(NotificationQuery.State.allCases.map(\.rawValue)),
        transform: NotifyListVerb.state)
    var state: NotificationQuery.State?

    @Option(
        help: ArgumentHelp(
            "How many messages at most, from 1 to \(NotificationQuery.limits.upperBound).",
            valueName: "count"))
    var limit = NotificationQuery.limitDefault

    @Flag(help: "Print the names of the notifiers alone, one a line; not with --json.")
    var names = false

    func validate() throws {
        guard !names || !connection.json else {
            throw ValidationError("--names and --json exclude each other")
        }
        guard NotificationQuery.limits.contains(limit) else {
            throw ValidationError(
                "--limit: from \(NotificationQuery.limits.lowerBound) to \(NotificationQuery.limits.upperBound)"
            )
        }
    }

    func run() throws {
        guard !names else {
            let notifiers = try connection.ask(.notifiers, for: NotifiersReply.self).notifiers
            for notifier in notifiers { print(notifier.notifier) }
            return
        }
        let query = NotificationQuery(job: job, state: state, limit: limit)
        let messages = try connection.ask(.messages(query), for: NotificationsReply.self)
        guard !connection.json else { return try connection.show(messages) { "" } }
        let notifiers = try connection.ask(.notifiers, for: NotifiersReply.self)
        Pager.print(
            Text.notifiers(notifiers, messages, on: connection.screen),
            isAllowed: !connection.noPager)
    }

    private static func state(_ text: String) throws -> NotificationQuery.State {
        guard let state = NotificationQuery.State(rawValue: text) else {
            throw ValidationError("--state: waiting, sent or dead")
        }
        return state
    }
}

struct NotifyTestVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a test message, and show what was sent and what the receiver answered.",
        discussion: """
            The message is sent at once, whatever per-hour and batch say. With --dry-run it is only shown.

            Exit status: 0 the receiver accepted the message, 1 it did not, 4 there is no such notifier.
            """)

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The notifier's name.", valueName: "notifier"),
        completion: .shellCommand("timerctl notify list --names 2>/dev/null"),
        transform: NotifyTestVerb.name)
    var notifier: Notifier.Name?

    @Flag(help: "Show what would be sent, and send nothing.")
    var dryRun = false

    func run() throws {
        guard let notifier else { throw try missingName() }
        let reply = try connection.ask(
            .testNotifier(notifier, NotifierTestQuery(isDryRun: dryRun)),
            for: NotifierTestReply.self)
        try connection.show(reply) { Text.test(reply) }
        guard reply.isSent || (dryRun && reply.error == nil) else { throw ExitCode(1) }
    }

    private func missingName() throws -> any Error {
        let known = try connection.ask(.notifiers, for: NotifiersReply.self).notifiers
        let config = try connection.ask(.list, for: JobTable.self).config
        return ValidationError(Self.whichNotifier(known.map(\.notifier), config: config))
    }

    /// What to do if the command line names no notifier.
    ///
    /// - Parameters:
    ///   - known: the names of the notifiers.
    ///   - config: the path of the configuration.
    static func whichNotifier(_ known: [String], config: String) -> String {
        guard let first = known.first else {
            return
                "no notifier is configured: add a table such as [notify.ops] to \(config), then `timerctl reload`"
        }
        return "give the name of a notifier, such as `timerctl notify test \(first)`; "
            + "there are: \(known.joined(separator: ", "))"
    }

    private static func name(_ text: String) throws -> Notifier.Name {
        guard let name = Notifier.Name(text) else {
            throw ValidationError(
                "\"\(text)\": \(Notifier.Name.fault(in: text) ?? "not the name of a notifier")")
        }
        return name
    }
}

struct NotifyRetryVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Send a message again that could not be sent.")

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The message's number, as notify list shows it.", valueName: "message"))
    var message: Int64

    func validate() throws {
        guard message >= 0 else { throw ValidationError("a message's number is not negative") }
    }

    func run() throws {
        let reply = try connection.ask(.retryMessage(message), for: MessageRetryReply.self)
        try connection.show(reply) {
            reply.changed
                ? "message \(message): will be sent again"
                : "message \(message): \(reply.reason ?? "nothing changes")"
        }
    }
}
