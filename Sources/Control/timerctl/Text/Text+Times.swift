// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl
import TimerCore
import TimerZones

/// Times for people. With --full they are exact, and in JSON always.
extension Text {
    private static let hour = Duration.seconds(3600)
    private static let week = Duration.seconds(6 * 86_400)

    /// An instant of the API for a column of a table: `in 3 min`, `5 min ago`, `today 09:02`, `Mon 01:30`
    /// within a week, and a date with its time beyond that; `-` for none.
    static func when(_ text: String?, now: WallInstant = Terminal.now) -> String {
        guard let text else { return "-" }
        guard !Terminal.isFull, let instant = WallInstant(rfc3339: text) else {
            return self.instant(text, now: now)
        }
        let away = instant - now
        if away.magnitude < hour { return distance(away) }
        let isToday = local(instant, as: "%F") == local(now, as: "%F")
        return (isToday ? "today " : "") + self.instant(instant, now: now)
    }

    /// Such as `in 3 min`, `12 s ago` and `just now`.
    static func distance(_ away: Duration) -> String {
        if away < .zero - .seconds(1) { return "\(whole(.zero - away)) ago" }
        return away < .zero ? "just now" : away < .seconds(1) ? "now" : "in \(whole(away))"
    }

    /// An instant of the API in a sentence, behind "at", "since" or "until": `09:02`, `Mon 01:30` within a
    /// week, `2026-12-24 18:00` beyond that. With seconds if it is less than an hour away.
    static func instant(_ text: String, now: WallInstant) -> String {
        WallInstant(rfc3339: text).map { instant($0, now: now) } ?? text
    }

    static func instant(_ text: String) -> String { instant(text, now: Terminal.now) }

    /// The same; `-` for none.
    static func instant(_ text: String?) -> String { text.map { instant($0) } ?? "-" }

    static func instant(_ instant: WallInstant, now: WallInstant) -> String {
        guard !Terminal.isFull else { return local(instant, as: "%F %T") }
        let away = instant - now
        let time = away.magnitude < hour ? "%T" : "%R"
        if local(instant, as: "%F") == local(now, as: "%F") { return local(instant, as: time) }
        // A week later the name of the day would be that of today.
        let isInWeek = away.magnitude < week
        return local(instant, as: (isInWeek ? "%a " : "%F ") + time)
    }

    /// An instant of the API with its date and second: that of a run.
    static func date(_ text: String) -> String {
        WallInstant(rfc3339: text).map { local($0, as: "%F %T") } ?? text
    }

    /// An instant with its weekday, its zone and its distance, for the answer to a command: `Mon 2026-11-23
    /// 09:00:00 CET (in 18 h 12 min)`.
    static func moment(_ instant: WallInstant, now: WallInstant = Terminal.now) -> String {
        let times = TimeParser(now: now)
        return "\(times.shortText(of: instant)) (\(times.distance(to: instant)))"
    }

    /// The same for an instant of the API.
    static func moment(_ text: String) -> String {
        WallInstant(rfc3339: text).map { moment($0) } ?? text
    }

    /// An instant in the local time zone, as strftime(3) writes it.
    static func local(_ instant: WallInstant, as format: String) -> String {
        var seconds = time_t(instant.secondsSinceEpoch)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &parts)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Such as `Sat 2026-11-21 05:38:52 +01:00`, with a fraction only if it is not zero.
    static func local(_ instant: WallInstant, in zone: ZoneRules) -> String {
        let offset = zone.offset(at: instant)
        let shifted = instant + .seconds(offset)
        let days = Int((Double(shifted.secondsSinceEpoch) / 86_400).rounded(.down))
        let weekday = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][((days + 3) % 7 + 7) % 7]
        let text = shifted.rfc3339.dropLast().split(separator: "T").joined(separator: " ")
        let minutes = abs(offset) / 60
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            "\(weekday) \(text) \(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    }

    /// Such as `Mon 03:00:04` in the last days, and `2026-11-23 03:00:04` before: each line of output has
    /// its second.
    static func day(_ text: String, _ now: WallInstant) -> String {
        guard let instant = WallInstant(rfc3339: text) else { return text }
        let isRecent = instant <= now && now - instant < .seconds(6 * 86_400)
        return local(instant, as: isRecent && !Terminal.isFull ? "%a %T" : "%F %T")
    }

    // MARK: - Spans

    /// A measured span; `-` for none.
    static func span(_ microseconds: Int64?) -> String {
        guard let microseconds else { return "-" }
        let span = Duration.microseconds(microseconds)
        return Terminal.isFull
            ? TimeSpan.text(span, accuracy: .milliseconds(1)) : TimeSpan.roundedText(span)
    }

    /// A span of a definition, as it is written there.
    static func exact(_ microseconds: Int64) -> String {
        TimeSpan.text(.microseconds(microseconds))
    }

    /// In whole seconds, if it is at least one second.
    static func whole(_ left: Duration) -> String {
        let microseconds = max(0, left.wholeMicroseconds)
        return span(microseconds < 1_000_000 ? microseconds : microseconds / 1_000_000 * 1_000_000)
    }

    /// Such as `640 KiB` or `12.4 MiB`.
    static func size(_ bytes: Int64?) -> String {
        guard let bytes else { return "-" }
        let units = ["KiB", "MiB", "GiB", "TiB"]
        var size = Double(bytes) / 1024
        var place = 0
        while size >= 1024, place < units.count - 1 {
            size /= 1024
            place += 1
        }
        let tenths = Int((size * 10).rounded())
        return place == 0 || tenths >= 1000
            ? "\(tenths / 10) \(units[place])" : "\(tenths / 10).\(tenths % 10) \(units[place])"
    }
}

extension Duration {
    /// The span without its sign.
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
