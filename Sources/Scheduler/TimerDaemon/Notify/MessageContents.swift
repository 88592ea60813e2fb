// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
package import TimerCore
package import TimerNotify
import TimerStore
import TimerZones

/// What is stored about a message and its notifications.
package struct MessageContents: Sendable {
    /// The number of the message in the outbox.
    var number: Int64
    var created: WallInstant
    /// The identity of the database: numbers of another one mean other messages.
    var identity: String
    /// The notifications, with the last output of their runs.
    var reports: [Report]
    /// The first message about the same incident; nil: there is none.
    var earlier: MessageEnvelope.Reference?
    /// Nil if nothing of the message is there any more.
    var notifier: Notifier.Name? { reports.first?.notification.notifier }

    /// Of at most this many runs of a message the output is read; a message with more of them is a
    /// list.
    private static let outputsMax = 20

    /// Reads a message with its notifications, and the output of their runs if they are few.
    init(_ number: Int64, created: WallInstant, in store: Store) throws(StoreError) {
        self.number = number
        self.created = created
        identity = store.identity.id
        reports = []
        let notifications = try store.notifications(of: number)
        for one in notifications {
            var report = Report(one.notification)
            if let run = one.notification.run, reports.count < Self.outputsMax {
                report.output = try store.pastRun(run)?.tail ?? []
            }
            reports.append(report)
        }
        guard notifications.count == 1, let only = notifications.first else { return }
        guard
            let first = try store.earlierMessage(
                about: only.notification, of: only.owner, before: number),
            let message = try store.message(first)
        else { return }
        earlier = MessageEnvelope.Reference(number: first, created: message.created)
    }

    /// A test message, which is not stored.
    package init(testOf notifier: Notifier.Name, at created: WallInstant) {
        // No message of the store has such a number.
        number = created.microsecondsSinceEpoch
        self.created = created
        identity = "test"
        reports = [
            Report(JobNotification(notifier: notifier, kind: .test, job: nil, at: created))
        ]
    }

    /// The jobs that it is about, each once and in no order; none for a test.
    var jobs: [Job.Name] { Array(Set(reports.compactMap(\.notification.job))) }

    /// The message as it is sent: the same for the same contents.
    package func message(of notifier: Notifier, _ definitions: [Job.Name: Job]) -> OutgoingMessage {
        let envelope = MessageEnvelope(
            number: number, identity: identity, host: Hostname.current ?? "localhost",
            created: created,
            zone: ZoneReading(of: []).local ?? .utc, inReplyTo: earlier)
        let known = reports.map { report in
            var report = report
            guard let job = report.notification.job.flatMap({ definitions[$0] }) else {
                return report
            }
            report.description = job.description
            report.user = job.execution.user
            report.command = Self.text(of: job.command)
            report.outputIsCut = report.output.count >= job.execution.outputTail
            return report
        }
        return OutgoingMessage(notifier, envelope, known)
    }

    private static func text(of command: Job.Command) -> String {
        switch command {
        case .shell(let line): line
        case .arguments(let arguments): arguments.joined(separator: " ")
        }
    }
}
