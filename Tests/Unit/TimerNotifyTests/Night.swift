// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerNotify

/// The notifications of these tests: a backup of one night.
enum Night {
    static func instant(_ text: String) -> WallInstant {
        guard let instant = WallInstant(rfc3339: text) else {
            preconditionFailure("\(text) is no instant")
        }
        return instant
    }

    static func name(_ text: String) throws -> Notifier.Name { try #require(Notifier.Name(text)) }

    static func run(_ job: String) throws -> Run.ID {
        try #require(Run.ID("\(job):20261122T020000.000000Z:1"))
    }

    static func envelope(inReplyTo: MessageEnvelope.Reference? = nil, host: String = "web1") throws
        -> MessageEnvelope
    {
        MessageEnvelope(
            number: 17, identity: "3f2a9c", host: host, created: instant("2026-11-22T02:00:42Z"),
            zone: try ZoneRules(posix: "CET-1CEST,M3.5.0,M10.5.0/3"), inReplyTo: inReplyTo)
    }

    static func notification(
        _ kind: NotificationKind, of job: String = "backup", outcome: RunOutcome? = .exited(3),
        failedInARow: Int = 0
    ) throws -> JobNotification {
        var notification = JobNotification(
            notifier: try name("ops"), kind: kind, job: Job.Name(job),
            at: instant("2026-11-22T02:00:12Z"))
        notification.failedInARow = failedInARow
        if let outcome {
            notification.run = try run(job)
            notification.outcome = outcome
            notification.usage = RunUsage(
                elapsed: .milliseconds(12_345), user: .seconds(1), system: .milliseconds(200),
                peakResidentBytes: 34 << 20)
        }
        return notification
    }

    static let recipients = Notifier.Transport.mail(
        to: ["root", "ops@example.org"], from: nil, contentType: nil)

    static func message(
        _ transport: Notifier.Transport = recipients, _ envelope: MessageEnvelope,
        _ reports: [Report]
    ) throws -> OutgoingMessage {
        OutgoingMessage(Notifier(name: try name("ops"), transport: transport), envelope, reports)
    }

    /// The mail about these.
    static func mail(
        _ reports: [Report], _ transport: Notifier.Transport = recipients,
        _ envelope: MessageEnvelope? = nil
    ) throws -> String {
        guard case .mail(let bytes) = try message(transport, envelope ?? self.envelope(), reports)
        else { throw Unexpected() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The request about these.
    static func request(
        _ format: Notifier.WebhookFormat, _ reports: [Report], _ envelope: MessageEnvelope? = nil
    ) throws -> OutgoingRequest {
        guard
            case .request(let request) = try message(
                .webhook(.credential("hook"), format), envelope ?? self.envelope(), reports)
        else { throw Unexpected() }
        return request
    }

    /// The ping about this; nil if there is none.
    static func ping(_ format: Notifier.PingFormat, _ report: Report) throws -> OutgoingRequest? {
        switch try message(.ping(.credential("hook"), format), envelope(), [report]) {
        case .request(let request): request
        case .nothing: nil
        case .mail: throw Unexpected()
        }
    }

    struct Unexpected: Error {}
}

extension OutgoingRequest {
    var text: String { String(decoding: body, as: UTF8.self) }

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
