// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// Requests to services that watch whether jobs run, of which each job has an address of its own.
extension OutgoingRequest {
    /// A ping; nil if the service has no request for what happened.
    ///
    /// A ping is about one notification. Of several only the last counts.
    init?(_ sheet: MessageSheet, as format: Notifier.PingFormat) {
        guard let report = sheet.reports.last else { return nil }
        let request =
            switch format {
            case .healthchecks: Self.healthchecks(sheet, report)
            case .cronitor: Self.cronitor(sheet, report)
            case .kuma: Self.kuma(sheet, report)
            }
        guard let request else { return nil }
        self = request
    }

    /// What happened, for a service that only distinguishes success and failure.
    private enum Verdict { case good, bad, neither }

    private static func verdict(_ notification: JobNotification) -> Verdict {
        switch notification.kind {
        case .success, .recovery: .good
        case .failure: notification.willRetry ? .neither : .bad
        case .late, .stale, .lost: .bad
        case .start, .long, .skipped, .pausedLong, .output, .test: .neither
        }
    }

    // MARK: - Healthchecks

    private static func healthchecks(_ sheet: MessageSheet, _ report: Report) -> OutgoingRequest {
        let notification = report.notification
        let path =
            switch verdict(notification) {
            // The exit status of a success may be another one than 0, which would be a failure there.
            case .good: "/0"
            case .bad:
                notification.exitStatus.map { $0 > 0 && $0 < 256 ? "/\($0)" : "/fail" } ?? "/fail"
            case .neither: notification.kind == .start ? "/start" : "/log"
            }
        let isEnd = [.success, .failure, .recovery].contains(notification.kind)
        // As much as healthchecks.io keeps of a body, which is also the most that a report has.
        let output = report.output
        let body =
            notification.kind == .start
            ? [] : isEnd && !output.isEmpty ? output : Array(sheet.headline(of: report).utf8)
        return OutgoingRequest(
            path: path, query: query([("rid", notification.run.map { "\(RunUUID($0))" })]),
            headers: [Header("Content-Type", "text/plain; charset=utf-8")], body: body)
    }

    // MARK: - Cronitor

    /// Cronitor keeps 2000 characters of a message, which may take three times as many in an address.
    private static let cronitorMessageMax = 1000

    private static func cronitor(_ sheet: MessageSheet, _ report: Report) -> OutgoingRequest? {
        let notification = report.notification
        let state: String? =
            switch (notification.kind, verdict(notification)) {
            case (.start, _): "run"
            case (_, .good): "complete"
            case (_, .bad): "fail"
            case (.test, _): nil
            case (_, .neither): ""
            }
        // A message without a state is a separate event, which only a test is.
        guard state != "" else { return nil }
        let seconds = notification.usage.map { Double($0.elapsed.wholeMicroseconds / 1000) / 1000 }
        let output = OutputExcerpt.lastLines(
            of: OutputExcerpt.text(report.output), lines: 20,
            characters: cronitorMessageMax - 300)
        let message =
            ([OutputExcerpt.shortened(sheet.headline(of: report), to: 290)] + output.lines)
            .joined(separator: "\n")
        return OutgoingRequest(
            method: "GET",
            query: query([
                ("state", state),
                ("series", notification.run.map { "\(RunUUID($0))" }),
                ("host", sheet.host),
                ("status_code", notification.exitStatus.map { "\($0)" }),
                ("metric", state == "run" ? nil : seconds.map { "duration:\($0)" }),
                ("message", state == "run" ? nil : message),
            ]))
    }

    // MARK: - Uptime Kuma

    private static let kumaMessageMax = 250

    private static func kuma(_ sheet: MessageSheet, _ report: Report) -> OutgoingRequest? {
        let notification = report.notification
        let isUp: Bool
        switch (notification.kind, verdict(notification)) {
        case (.test, _), (_, .good): isUp = true
        case (_, .bad): isUp = false
        case (_, .neither): return nil
        }
        let message = OutputExcerpt.shortened(sheet.headline(of: report), to: kumaMessageMax)
        return OutgoingRequest(
            method: "GET",
            query: query([
                ("status", isUp ? "up" : "down"), ("msg", message),
                (
                    "ping",
                    notification.usage.map { "\($0.elapsed.wholeMicroseconds / 1000)" } ?? ""
                ),
            ]))
    }
}
