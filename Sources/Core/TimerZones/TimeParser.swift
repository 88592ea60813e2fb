// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Parses instants as people write them, in the time zone of the caller, and writes them so that
/// they can be parsed again. All options that take a time use it (timerctl(1), TIMES).
///
/// - A local time that does not exist because the clocks skip it means the end of the gap. One that
///   occurs twice means the first, unless it is followed by a zone that makes it unique (`02:30
///   CET`). Schedules do the same.
/// - A day in a span (`2d`) has 24 hours.
public struct TimeParser {
    /// Which instants are accepted, and which one is meant if a text is ambiguous.
    public enum Sense: Sendable {
        /// After now: the next 18:00; `2h` is in two hours.
        case future
        /// The same, and now itself.
        case nowOrFuture
        /// Not after now: the last 18:00; `2h` is two hours ago.
        case past
        /// Any instant: 18:00 of today, the next Friday; `2h` is in two hours.
        case any
    }

    /// The maximum length of a text in bytes.
    public static let bytesMax = 200
    /// Examples of times, for help and errors.
    public static let examples =
        "18:00, \"tomorrow 03:00\", \"fri 18:00\", \"2026-12-24 18:00\", 2h or 2026-12-24T18:00:00+01:00"

    /// The instant to which `now` and `2h` refer.
    public let now: WallInstant
    /// Whether `now` is the present, and not another instant that the caller selected.
    private var isNow = true
    /// The zone in which times without one are read.
    let zone: ZoneRules
    private let abbreviation: (WallInstant) -> String?
    private let zoneNamed: (String) throws(ZoneFiles.Failure) -> ZoneRules

    /// Creates a parser for a caller.
    ///
    /// - Parameters:
    ///   - now: the instant to which relative times refer; in the years 1 to 9999.
    ///   - zone: the zone of the caller.
    ///   - abbreviation: the abbreviation of that zone at an instant, such as `CET`; nil if it is
    ///     not known.
    ///   - zoneNamed: the rules of a zone that a text names.
    public init(
        now: WallInstant, zone: ZoneRules,
        abbreviation: @escaping (WallInstant) -> String? = { _ in nil },
        zoneNamed: @escaping (String) throws(ZoneFiles.Failure) -> ZoneRules
    ) {
        self.now = now
        self.zone = zone
        self.abbreviation = abbreviation
        self.zoneNamed = zoneNamed
    }

    /// Creates a parser for this process. It uses the zone of TZ or otherwise that of the machine
    /// (`ZoneFiles.local`), and UTC if its file cannot be read.
    public init(now: WallInstant) {
        let files = ZoneFiles()
        let local = try? files.local()
        let named = { (name: String) throws(ZoneFiles.Failure) -> ZoneRules in
            try files.rules(named: name)
        }
        if let local {
            self.init(
                now: now, zone: local, abbreviation: { ZoneEnvironment.abbreviation(at: $0) },
                zoneNamed: named)
        } else {
            self.init(now: now, zone: .utc, abbreviation: { _ in "UTC" }, zoneNamed: named)
        }
    }

    /// The same parser with another instant to which relative times refer, of the years 1 to 9999.
    public func relative(to instant: WallInstant) -> Self {
        var other = Self(
            now: instant, zone: zone, abbreviation: abbreviation, zoneNamed: zoneNamed)
        other.isNow = false
        return other
    }

    /// The same parser for a caller in another zone.
    public func inZone(_ zone: ZoneRules) -> Self {
        Self(now: now, zone: zone, zoneNamed: zoneNamed)
    }

    /// Parses an instant.
    ///
    /// - Returns: an instant of the years 1 to 9999 that the sense allows.
    /// - Throws: what is wrong with the text, and where; or which instant was understood, if the
    ///   sense does not allow it.
    /// - Complexity: O(*n*) in the length of the text, which is limited to `bytesMax`.
    public func parse(_ text: String, as sense: Sense) throws(TimeParserError) -> WallInstant {
        let words = try TimeWords(text)
        let instant = try instant(words, sense)
        guard Accepted.wallMicroseconds.contains(instant.microsecondsSinceEpoch) else {
            throw TimeParserError(offset: 0, "it is outside the years 1 to 9999")
        }
        guard admits(instant, sense) else {
            throw TimeParserError(offset: nil, refusal(of: instant, sense))
        }
        return instant
    }

    private func refusal(of instant: WallInstant, _ sense: Sense) -> String {
        let place = sense == .past ? "must not be" : "must be"
        guard isNow else {
            let side = sense == .nowOrFuture ? "at or after" : "after"
            return "that is \(shortText(of: instant)); it \(place) \(side) \(shortText(of: now))"
        }
        return
            "that is \(shortText(of: instant)), \(distance(to: instant)); it \(place) in the future"
    }

    private func admits(_ instant: WallInstant, _ sense: Sense) -> Bool {
        switch sense {
        case .future: instant > now
        case .nowOrFuture: instant >= now
        case .past: instant <= now
        case .any: true
        }
    }

    private func instant(
        _ words: TimeWords, _ sense: Sense
    ) throws(TimeParserError) -> WallInstant {
        if words.isNow { return now }
        if let (span, sign) = try words.span() {
            let isBack = sign.map { $0 == .minus } ?? (sense == .past)
            return isBack ? now - span : now + span
        }
        let clock = try words.clock()
        switch clock.zone {
        case nil: return try instant(clock, in: zone, sense)
        case .fixed(let rules): return try instant(clock, in: rules, sense)
        case .word(let word):
            if let instant = find(clock, in: zone, called: word.text, sense) { return instant }
            let rules: ZoneRules
            do throws(ZoneFiles.Failure) { rules = try zoneNamed(word.text) } catch {
                throw TimeParserError(offset: word.offset, error.description)
            }
            return try instant(clock, in: rules, sense)
        }
    }

    private func instant(
        _ clock: TimeWords.Clock, in rules: ZoneRules, _ sense: Sense
    ) throws(TimeParserError) -> WallInstant {
        if let instant = find(clock, in: rules, called: nil, sense) { return instant }
        // This can only happen for days near the ends of the range.
        throw TimeParserError(offset: 0, "it is outside the years 1 to 9999")
    }

    /// - Parameter name: only instants at which the caller's zone has this abbreviation are meant;
    ///   nil: any.
    private func find(
        _ clock: TimeWords.Clock, in rules: ZoneRules, called name: String?, _ sense: Sense
    ) -> WallInstant? {
        let isFixed: Bool
        switch clock.day {
        case .date, .relative: isFixed = true
        case .weekday, .open: isFixed = false
        }
        for days in daysSinceEpoch(clock.day, in: rules, sense) {
            let local = Int64(days) * 86_400_000_000 + clock.microseconds
            let found = rules.instants(atLocalMicroseconds: local).first {
                name == nil || abbreviation($0) == name
            }
            if let found, isFixed || admits(found, sense) { return found }
        }
        return nil
    }

    /// The days that may be meant, in order.
    private func daysSinceEpoch(
        _ day: TimeWords.Day, in rules: ZoneRules, _ sense: Sense
    ) -> [Int] {
        let second = now.secondsSinceEpoch + Int64(rules.offset(at: now))
        let today = Int(second.quotient(flooringBy: 86_400))
        switch day {
        case .date(let date): return [date.daysSinceEpoch]
        case .relative(let count): return [today + count]
        case .open: return sense == .any ? [today] : (0...2).map { today + step(sense) * $0 }
        case .weekday(let weekday):
            return (0...14).map { today + step(sense) * $0 }.filter {
                CivilDate.weekday(ofDaysSinceEpoch: $0) == weekday
            }
        }
    }

    private func step(_ sense: Sense) -> Int { sense == .past ? -1 : 1 }

    // MARK: - Writing

    /// The instant in the zone of the caller: `Mon 2026-11-23 09:00:00 CET`, with a fraction only
    /// if it is not zero. `parse` reads it as the same instant.
    public func text(of instant: WallInstant) -> String {
        let offset = zone.offset(at: instant)
        let local = instant + .seconds(offset)
        let days = Int(local.secondsSinceEpoch.quotient(flooringBy: 86_400))
        let day = CivilDate.weekdays[CivilDate.weekday(ofDaysSinceEpoch: days)]
        let clock = local.rfc3339.dropLast().split(separator: "T").joined(separator: " ")
        if let name = abbreviation(instant), isClear(name, at: instant, local: local) {
            return "\(day) \(clock) \(name)"
        }
        return "\(day) \(clock) \(Self.offsetText(offset))"
    }

    /// The same without the fraction of the second, for answers to users.
    public func shortText(of instant: WallInstant) -> String {
        text(of: WallInstant(secondsSinceEpoch: instant.secondsSinceEpoch))
    }

    /// Whether the name of a zone after a local time makes clear which instant it is.
    private func isClear(_ name: String, at instant: WallInstant, local: WallInstant) -> Bool {
        // TZ can give any zone the name UTC or +05.
        let isWord = name.utf8.allSatisfy { $0 > 32 && $0 < 127 } && name.first?.isLetter == true
        guard isWord, name.lowercased() != "utc" || zone.offset(at: instant) == 0,
            name.lowercased() != "z"
        else { return false }
        let same = zone.instants(atLocalMicroseconds: local.microsecondsSinceEpoch)
        return same.first { abbreviation($0) == name } == instant
    }

    /// `+01:00`, with seconds only if they are not zero.
    static func offsetText(_ offset: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let size = abs(offset)
        let seconds = size % 60 == 0 ? "" : ":" + two(size % 60)
        return (offset < 0 ? "-" : "+") + two(size / 3600) + ":" + two(size / 60 % 60) + seconds
    }

    /// The time from now to the instant: `in 18 h 12 min`, `3 h ago`, `now`.
    public func distance(to instant: WallInstant) -> String {
        let microseconds = instant.microsecondsSinceEpoch - now.microsecondsSinceEpoch
        guard microseconds != 0 else { return "now" }
        let span = Duration.microseconds(abs(microseconds))
        let accuracy: Duration =
            span >= .seconds(30 * 86_400)
            ? .seconds(86_400)
            : span >= .seconds(3600)
                ? .seconds(60) : span >= .seconds(60) ? .seconds(1) : .milliseconds(1)
        let text = TimeSpan.text(span, accuracy: accuracy)
        return microseconds < 0 ? "\(text) ago" : "in \(text)"
    }

    // MARK: - Spans

    /// Parses a time span, such as `2h 30min`.
    ///
    /// - Throws: what is wrong with the text, and where; also if the span is out of range.
    public static func span(
        _ text: String, in range: ClosedRange<Duration>
    ) throws(TimeParserError) -> Duration {
        guard text.utf8.count <= bytesMax else { throw .tooLong }
        let span: Duration?
        do throws(TimeSpanError) { span = try TimeSpan.parse(text) } catch {
            let hint =
                text.contains(":")
                ? "; a time span is such as \"2h 30min\", and 18:00 is an instant" : ""
            throw TimeParserError(offset: error.offset, error.message + hint)
        }
        if let span, span < range.lowerBound {
            throw TimeParserError(
                offset: nil, "must be at least \(TimeSpan.text(range.lowerBound))")
        }
        guard let span, span <= range.upperBound else {
            throw TimeParserError(
                offset: nil, "must be at most \(TimeSpan.text(range.upperBound))")
        }
        return span
    }
}
