// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The sentences of a message, before they get the format of its receiver. They must be clear to a
/// reader whom the message woke up.
struct MessageSheet {
    let notifier: Notifier.Name
    let envelope: MessageEnvelope
    let reports: [Report]

    /// The most bytes of output of one run that any message has.
    private static let outputMax = 100_000

    init(notifier: Notifier.Name, envelope: MessageEnvelope, reports: [Report]) {
        self.notifier = notifier
        self.envelope = envelope
        self.reports = reports.map { $0.limited(to: Self.outputMax) }
    }

    /// The machine, without control characters.
    var host: String { Printable.text(envelope.host) }

    /// The one notification of the message; nil if there are several.
    var single: Report? { reports.count == 1 ? reports.first : nil }

    /// Everything in one line: the subject of a mail, the title of a message.
    var headline: String {
        if let single { return headline(of: single) }
        let jobs = Set(reports.map(\.notification.jobText)).sorted()
        return jobs.count == 1
            ? "\(counts) of \(jobs[0]) on \(host)" : "\(counts) on \(host): \(Self.list(jobs))"
    }

    /// How many notifications of which kind there are: `12 failures, 1 recovery`.
    private var counts: String {
        NotificationKind.allCases.compactMap { kind in
            let count = reports.count { $0.notification.kind == kind }
            return count == 0 ? nil : plural(count, kind.nouns.one, kind.nouns.many)
        }.joined(separator: ", ")
    }

    private static func list(_ names: [String]) -> String {
        names.prefix(3).joined(separator: ", ")
            + (names.count > 3 ? " and \(names.count - 3) more" : "")
    }

    /// What happened to one job, in one line.
    func headline(of report: Report) -> String {
        let notification = report.notification
        let job = notification.jobText
        switch notification.kind {
        case .start: return "\(job) started on \(host)"
        case .success: return "\(job) succeeded on \(host)"
        case .failure, .lost: return failure(notification)
        case .recovery: return "\(job) recovered on \(host)" + recovery(notification)
        case .late: return "\(job) is late on \(host): " + late(notification)
        case .long:
            return "\(job) is still running on \(host)"
                + (notification.since.map { " after \(span(from: $0, to: notification.at))" } ?? "")
        case .stale:
            return "\(job) has not succeeded on \(host)"
                + (notification.since.map { " for \(span(from: $0, to: notification.at))" } ?? "")
        case .skipped:
            return "a run of \(job) was skipped on \(host): \(skipReason(notification))"
        case .pausedLong:
            return "\(job) has been paused on \(host)"
                + (notification.since.map { " for \(span(from: $0, to: notification.at))" } ?? "")
        case .output: return "output of \(job) on \(host)"
        case .test: return "test of the notifier \(notifier) on \(host)"
        }
    }

    private func failure(_ notification: JobNotification) -> String {
        let verb = notification.isRepeat ? "still fails" : "failed"
        let count = notification.failedInARow
        let often = count > 1 ? " (\(count) times in a row)" : ""
        let retry = notification.willRetry ? "; it will be tried again" : ""
        return
            "\(notification.jobText) \(verb) on \(host): \(outcome(notification))\(often)\(retry)"
    }

    private func recovery(_ notification: JobNotification) -> String {
        let count = notification.failedInARow
        if count > 0 { return " after \(plural(count, "failure"))" }
        let states = notification.recoveredFrom.compactMap(\.state)
        return states.isEmpty ? "" : ": it was \(states.joined(separator: " and "))"
    }

    private func late(_ notification: JobNotification) -> String {
        notification.since.map { "due at \(time($0)), not started" } ?? "not started"
    }

    /// How the run ended, in the words that all commands have for it.
    func outcome(_ notification: JobNotification) -> String {
        guard let outcome = notification.outcome else { return "it did not end well" }
        return Printable.text(
            outcome.words(
                failed: outcome.isFailure() || notification.kind == .failure,
                after: outcome.hasProcess ? notification.usage?.elapsed : nil))
    }

    private func skipReason(_ notification: JobNotification) -> String {
        notification.skipReason.map { Printable.text(RunWords.skip($0)) } ?? "see the command below"
    }

    /// The commands with which a reader can find out more, or act.
    func commands(for report: Report) -> [String] {
        let notification = report.notification
        let job = notification.jobText
        switch notification.kind {
        case .test: return ["timerctl notify list"]
        case .pausedLong: return ["timerctl show \(job)", "timerctl resume \(job)"]
        case .late, .stale, .skipped: return ["timerctl why \(job)", "timerctl history \(job)"]
        default:
            let log = notification.run.map { ["timerctl log \($0)"] } ?? []
            return log + ["timerctl why \(job)"]
        }
    }

    /// What is known about one notification, with the names of the values.
    func facts(of report: Report) -> [(name: String, value: String)] {
        let notification = report.notification
        guard notification.kind != .test else { return [] }
        var facts: [(String, String)] = []
        let description = report.description.map { " (\(Printable.text($0)))" } ?? ""
        facts.append(("Job", "\(notification.jobText)\(description)"))
        if let run = notification.run { facts.append(("Run", "\(run)")) }
        facts.append((when(notification.kind), moment(notification.at)))
        if let usage = notification.usage, notification.outcome != nil {
            facts.append(("Took", resources(usage)))
        }
        if let since = notification.since {
            facts.append((self.since(notification), "\(moment(since)), \(distance(since))"))
        }
        if notification.kind == .failure, notification.willRetry {
            facts.append(("Next", "the same run is tried again"))
        }
        if let command = report.command {
            facts.append(("Command", OutputExcerpt.shortened(Printable.text(command), to: 200)))
        }
        return facts
    }

    private func when(_ kind: NotificationKind) -> String {
        switch kind {
        case .start: "Started"
        case .late, .long, .stale, .pausedLong, .test: "Noticed"
        case .skipped: "Skipped"
        case .success, .failure, .recovery, .lost, .output: "Ended"
        }
    }

    private func since(_ notification: JobNotification) -> String {
        switch notification.kind {
        case .late: "Due"
        case .long: "Started"
        case .pausedLong: "Paused"
        case .stale: "Last success"
        case .failure, .lost: "Failing since"
        case .recovery: notification.failedInARow > 0 ? "Failing since" : "Since"
        case .start, .success, .skipped, .output, .test: "Since"
        }
    }

    private func resources(_ usage: RunUsage) -> String {
        let cpu = TimeSpan.text(usage.user + usage.system, accuracy: .milliseconds(1))
        let memory =
            usage.peakResidentBytes > 0
            ? ", peak memory \(usage.peakResidentBytes / 1024) KiB" : ""
        return "\(TimeSpan.text(usage.elapsed, accuracy: .milliseconds(1))), CPU \(cpu)\(memory)"
    }
}

/// Times in the zone of the readers.
extension MessageSheet {
    /// The instant with its weekday and its distance from UTC: `Sun 2026-11-22 03:00:12 +01:00`.
    func moment(_ instant: WallInstant) -> String {
        let (day, time, offset) = parts(of: instant)
        let sign = offset < 0 ? "-" : "+"
        let size = abs(offset) / 60
        return "\(Self.weekdays[day.weekday]) \(day.date) \(time) "
            + "\(sign)\(Self.two(size / 60)):\(Self.two(size % 60))"
    }

    /// The time without the date, if it is of the last day.
    func time(_ instant: WallInstant) -> String {
        let (day, time, _) = parts(of: instant)
        let isRecent = envelope.created - instant < .seconds(20 * 3600)
        return isRecent ? time : "\(day.date) \(time)"
    }

    /// The instant for the header of a mail (RFC 5322, 3.3): `Sun, 22 Nov 2026 03:00:12 +0100`.
    func mailDate(_ instant: WallInstant) -> String {
        let (day, time, offset) = parts(of: instant)
        let size = abs(offset) / 60
        return
            "\(Self.weekdays[day.weekday]), \(day.civil.day) \(Self.months[day.civil.month - 1]) "
            + "\(day.civil.year) \(time) \(offset < 0 ? "-" : "+")"
            + Self.two(size / 60) + Self.two(size % 60)
    }

    /// How long ago it was when the message was put together.
    private func distance(_ instant: WallInstant) -> String {
        instant > envelope.created
            ? "from then on" : "\(span(from: instant, to: envelope.created)) ago"
    }

    /// A span in two units at most: `3 h 12 min`.
    func span(from start: WallInstant, to end: WallInstant) -> String {
        let span = max(.zero, end - start)
        let accuracy: Duration =
            span >= .seconds(30 * 86_400)
            ? .seconds(86_400)
            : span >= .seconds(86_400)
                ? .seconds(3600) : span >= .seconds(3600) ? .seconds(60) : .seconds(1)
        return TimeSpan.text(span, accuracy: accuracy)
    }

    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private struct Day {
        var civil: CivilDate
        /// Days since a Thursday, as 1970-01-01 was.
        var weekday: Int
        var date: String {
            "\(String(repeating: "0", count: max(0, 4 - "\(civil.year)".utf8.count)))\(civil.year)"
                + "-\(MessageSheet.two(civil.month))-\(MessageSheet.two(civil.day))"
        }
    }

    private func parts(of instant: WallInstant) -> (Day, String, offset: Int) {
        // A mail has no seconds of an offset, which zones had before 1972.
        let offset = envelope.zone.offset(at: instant) / 60 * 60
        let second = Int(instant.secondsSinceEpoch) + offset
        let days = (second - (second < 0 ? 86_399 : 0)) / 86_400
        let rest = second - days * 86_400
        let day = Day(civil: CivilDate(daysSinceEpoch: days), weekday: (days % 7 + 7) % 7)
        let time = "\(Self.two(rest / 3600)):\(Self.two(rest / 60 % 60)):\(Self.two(rest % 60))"
        return (day, time, offset)
    }

    static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
