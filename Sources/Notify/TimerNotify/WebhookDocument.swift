// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The body of a webhook of the format `json`, which stays the same for one `version`: members may be
/// added, and none is changed or removed. docs/NOTIFICATIONS.md describes it.
struct WebhookDocument: Encodable, Hashable {
    /// One notification. A member without a value is absent.
    struct Entry: Encodable, Hashable {
        var at: String
        var command: String?
        var cpuUsec: Int64?
        var description: String?
        var elapsedUsec: Int64?
        var exitStatus: Int?
        var failedInARow: Int
        var isRepeat: Bool
        var job: String?
        var kind: String
        var outcome: String?
        var output: String?
        var outputIsCut: Bool?
        var peakBytes: Int64?
        var recoveredFrom: [String]?
        var run: String?
        var runUuid: String?
        var since: String?
        var skipReason: String?
        var text: String
        var willRetry: Bool
    }

    var created: String
    var host: String
    /// The identity of the message: the same for each attempt to send it.
    var message: String
    var notifications: [Entry]
    var notifier: String
    /// How many further notifications there are that have no room; absent if there are none.
    var omittedCount: Int?
    var text: String
    var version = 1

    /// How many bytes of output a document may have, of all notifications together and of one of them.
    /// The next smaller numbers are taken if the whole is too large; with 0 descriptions and
    /// commands are left out as well.
    static let outputLimits = [(all: 64 * 1024, one: 16 * 1024), (16 * 1024, 4096), (0, 0)]

    /// - Parameters:
    ///   - limit: one of `outputLimits`.
    ///   - most: how many notifications it may have.
    init(_ sheet: MessageSheet, limit: (all: Int, one: Int), most: Int = .max) {
        created = sheet.envelope.created.rfc3339Micros
        host = sheet.host
        message = sheet.envelope.name
        notifier = "\(sheet.notifier)"
        text = sheet.headline
        let each = min(limit.one, limit.all / max(1, sheet.reports.count))
        notifications = sheet.reports.prefix(most).map { report in
            var report = report.limited(to: each)
            if each == 0 { (report.description, report.command) = (nil, nil) }
            return Entry(sheet, report)
        }
        let omitted = sheet.reports.count - notifications.count
        omittedCount = omitted > 0 ? omitted : nil
    }
}

extension WebhookDocument.Entry {
    /// The most characters of what the configuration says about a job.
    private static let textMax = 200

    init(_ sheet: MessageSheet, _ report: Report) {
        let notification = report.notification
        at = notification.at.rfc3339Micros
        command = report.command.map { OutputExcerpt.shortened($0, to: Self.textMax) }
        cpuUsec = notification.usage.map { ($0.user + $0.system).wholeMicroseconds }
        description = report.description.map { OutputExcerpt.shortened($0, to: Self.textMax) }
        elapsedUsec = notification.usage.map { $0.elapsed.wholeMicroseconds }
        exitStatus = notification.exitStatus
        failedInARow = notification.failedInARow
        isRepeat = notification.isRepeat
        job = notification.job.map { "\($0)" }
        kind = notification.kind.rawValue
        outcome = notification.outcome.map { "\($0)" }
        output = report.output.isEmpty ? nil : String(decoding: report.output, as: UTF8.self)
        outputIsCut = report.output.isEmpty ? nil : report.outputIsCut
        peakBytes = notification.usage.map(\.peakResidentBytes).flatMap { $0 > 0 ? $0 : nil }
        recoveredFrom =
            notification.kind == .recovery ? notification.recoveredFrom.map(\.rawValue) : nil
        run = notification.run.map { "\($0)" }
        runUuid = notification.run.map { "\(RunUUID($0))" }
        since = notification.since?.rfc3339Micros
        skipReason = notification.skipReason
        text = sheet.headline(of: report)
        willRetry = notification.willRetry
    }
}

extension JobNotification {
    /// The exit status of its run; nil if it has none.
    var exitStatus: Int? {
        if case .exited(let status)? = outcome { Int(status) } else { nil }
    }
}
