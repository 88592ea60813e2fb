// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import TimerCore
import TimerZones

/// One line of `expressions.tsv`: a schedule as a calendar event and as a crontab line.
public struct Expression {
    /// The purpose of the expression.
    public enum Class: String, Sendable {
        /// Schedules that people write.
        case ordinary
        /// Dates that are rare or never occur, fractions of seconds, and years in the far future.
        case worst
    }

    /// The purpose of the expression.
    public var kind: Class
    /// The schedule as a calendar event; nil if that syntax cannot express it.
    public var calendar: String?
    /// The schedule as a crontab line; nil if that syntax cannot express it.
    public var cron: String?

    /// Parses the lines of the file.
    public static func read(_ path: String) throws(Failure) -> [Expression] {
        var found: [Expression] = []
        for line in try text(of: path).split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "\t").map(String.init)
            guard parts.count == 3, let kind = Class(rawValue: parts[0]) else {
                throw Failure("\(path): not class, calendar event and crontab line: \(line)")
            }
            found.append(
                Expression(
                    kind: kind, calendar: parts[1] == "-" ? nil : parts[1],
                    cron: parts[2] == "-" ? nil : parts[2]))
        }
        return found
    }

    fileprivate static func text(of path: String) throws(Failure) -> String {
        guard let file = fopen(path, "r") else {
            throw Failure("\(path): \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A schedule with its zone.
public struct Timetable {
    /// The grammar in which it was written.
    public enum Grammar: String, Sendable {
        /// systemd.time(7).
        case calendar
        /// crontab(5).
        case cron
    }

    /// The grammar in which it was written.
    public var grammar: Grammar
    /// The text as it was written.
    public var text: String
    private let spec: Spec
    private let zone: ZoneRules

    private enum Spec {
        case calendar(CalendarSpec)
        case cron(CronSpec)
    }

    /// Parses a calendar event.
    public init(calendar text: String, in zone: ZoneRules) throws {
        grammar = .calendar
        self.text = text
        self.zone = zone
        spec = .calendar(try CalendarSpec(text))
    }

    /// Parses a crontab line.
    public init(cron text: String, in zone: ZoneRules) throws {
        grammar = .cron
        self.text = text
        self.zone = zone
        spec = .cron(try CronSpec(text))
    }

    /// The first occurrence after `instant`.
    @inline(__always)
    public func next(after instant: WallInstant) -> WallInstant? {
        switch spec {
        case .calendar(let spec): spec.next(after: instant, in: zone)
        case .cron(let spec): spec.next(after: instant, in: zone)
        }
    }

    /// The rules of a zone of this machine.
    public static func zone(_ name: String) throws -> ZoneRules {
        try ZoneFiles().rules(named: name)
    }

    /// The names of all zones of this machine, as its zone table lists them.
    public static func zoneNames() throws(Failure) -> [String] {
        try Expression.text(of: ZoneFiles.standardFolder + "/tzdata.zi").split(separator: "\n")
            .compactMap { line in
                // "Z NAME ..." starts a zone, and "L TARGET NAME" is another name of one (zic(8)).
                let words = line.split(separator: " ")
                return words.first == "Z" && words.count > 1 ? String(words[1]) : nil
            }
    }
}

/// The reason why nothing can be measured.
public struct Failure: Error, CustomStringConvertible {
    /// The reason.
    public let description: String

    /// Creates a failure.
    public init(_ description: String) { self.description = description }
}

/// Prints the error on standard error and ends the program.
public func fail(_ program: String, _ error: any Error) -> Never {
    let line = "\(program): \(error)\n"
    _ = write(2, line, line.utf8.count)
    exit(1)
}
