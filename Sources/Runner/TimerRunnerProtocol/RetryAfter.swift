// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The header field `Retry-After` (RFC 9110, 10.2.3): seconds, or an instant.
enum RetryAfter {
    /// The longest time that is respected. A receiver cannot silence a notifier for longer.
    static let longest: Duration = .seconds(86_400)

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// How long to wait from `now` on; nil if the value has no meaning, or the time has passed.
    static func wait(_ value: String, at now: WallInstant) -> Duration? {
        let text = value.split(separator: " ").joined(separator: " ")
        let wait: Duration
        if !text.isEmpty, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) {
            // A number that is too large for the type is a long time too.
            wait = Int64(text).map { min(longest, .seconds($0)) } ?? longest
        } else if let instant = instant(text, at: now) {
            wait = min(longest, instant - now)
        } else {
            return nil
        }
        return wait > .zero ? wait : nil
    }

    /// An instant in one of the three forms of RFC 9110, 5.6.7:
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov 6 08:49:37 1994`.
    private static func instant(_ text: String, at now: WallInstant) -> WallInstant? {
        let words = text.split { " -".contains($0) }.map { String($0) }
        switch words.count {
        case 6 where words[5] == "GMT":
            guard let number = Int(words[3]) else { return nil }
            let year = words[3].utf8.count == 2 ? fullYear(number, at: now) : number
            return instant(year: year, month: words[2], day: words[1], time: words[4])
        case 5:
            guard let year = Int(words[4]) else { return nil }
            return instant(year: year, month: words[1], day: words[2], time: words[3])
        default: return nil
        }
    }

    /// A year of two digits is in the past if it would be more than 50 years in the future.
    private static func fullYear(_ short: Int, at now: WallInstant) -> Int {
        let current = Int(now.rfc3339Micros.prefix(4)) ?? 2000
        let year = current / 100 * 100 + short
        return year > current + 50 ? year - 100 : year
    }

    private static func instant(
        year: Int, month: String, day: String, time: String
    ) -> WallInstant? {
        guard let number = months.firstIndex(of: month), (1970...9999).contains(year) else {
            return nil
        }
        func twoDigits(_ text: String) -> String { text.utf8.count == 1 ? "0\(text)" : text }
        return WallInstant(
            rfc3339: "\(year)-\(twoDigits("\(number + 1)"))-\(twoDigits(day))T\(time)Z")
    }
}
