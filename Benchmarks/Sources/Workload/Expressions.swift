// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import TimerCore
import TimerZones

/// One line of `expressions.tsv`: a schedule as a calendar event and as a crontab line.
public struct Expression {
    /// What is asked of it.
    public enum Class: String, Sendable {
        /// As people write them.
        case ordinary
        /// Dates that are rare or never come, fractions of seconds, far years.
        case worst
    }

    /// What is asked of it.
    public var kind: Class
    /// As a calendar event; nil if it has no word for it.
    public var calendar: String?
    /// As a crontab line; nil if it has no word for it.
    public var cron: String?

    /// Reads the lines of the file.
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

/// A schedule with its zone, ready to be asked.
public struct Timetable {
    /// Which grammar it was written in.
    public enum Grammar: String, Sendable {
        /// systemd.time(7).
        case calendar
        /// crontab(5).
        case cron
    }

    /// Which grammar it was written in.
    public var grammar: Grammar
    /// As written.
    public var text: String
    private let spec: Spec
    private let zone: ZoneRules

    private enum Spec {
        case calendar(CalendarSpec)
        case cron(CronSpec)
    }

    /// Reads a calendar event.
    public init(calendar text: String, in zone: ZoneRules) throws {
        grammar = .calendar
        self.text = text
        self.zone = zone
        spec = .calendar(try CalendarSpec(text))
    }

    /// Reads a crontab line.
    public init(cron text: String, in zone: ZoneRules) throws {
        grammar = .cron
        self.text = text
        self.zone = zone
        spec = .cron(try CronSpec(text))
    }

    /// The first slot after `instant`.
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

    /// The names of all zones of this machine, as its own table lists them.
    public static func zoneNames() throws(Failure) -> [String] {
        try Expression.text(of: ZoneFiles.standardFolder + "/tzdata.zi").split(separator: "\n")
            .compactMap { line in
                // "Z NAME ..." begins a zone, "L TARGET NAME" is another name of one (zic(8)).
                let words = line.split(separator: " ")
                return words.first == "Z" && words.count > 1 ? String(words[1]) : nil
            }
    }
}

/// Why there is nothing to measure.
public struct Failure: Error, CustomStringConvertible {
    /// What is wrong.
    public let description: String

    /// A failure as described.
    public init(_ description: String) { self.description = description }
}

/// Says on standard error what kept a program from its work, and ends it.
public func fail(_ program: String, _ error: any Error) -> Never {
    let line = "\(program): \(error)\n"
    _ = write(2, line, line.utf8.count)
    exit(1)
}
