// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A job of an import with the times of its source, for `--check`.
public struct ImportedTimes: Hashable, Sendable {
    public var job: Job.Name
    public var place: SourcePlace
    /// When the source runs the job, as its own rules are.
    public var times: CronTimes
    /// The time zone in which the source counts; nil: the machine's.
    public var zone: String?
}

/// One line of a crontab with a schedule and a command.
struct CrontabEntry {
    /// `@daily` or the five fields, as they are written.
    var schedule: String
    var times: CronTimes
    /// The value of the key `cron`; nil for `@reboot`.
    var cron: String?
    /// Whether it begins with `-`, which keeps cronie from logging it.
    var isSilent = false
    var user: String?
    /// Everything behind the schedule and the user.
    var command: String
    var notes: [String] = []

    /// The words for times that all flavours read in the same way.
    private static let words = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    ]
    /// The words that systemd-cron adds or reads in another way: its times are those of
    /// systemd.time(7).
    private static let systemdWords = [
        "@weekly": "0 0 * * 1", "@minutely": "* * * * *", "@quarterly": "0 0 1 1,4,7,10 *",
        "@semi-annually": "0 0 1 1,7 *", "@semiannually": "0 0 1 1,7 *",
        "@biannually": "0 0 1 1,7 *", "@bi-annually": "0 0 1 1,7 *", "@anually": "0 0 1 1 *",
    ]

    /// Reads a line.
    ///
    /// - Parameters:
    ///   - hasUser: whether a user is before the command.
    ///   - draw: the numbers of a schedule with `~`; nil: they are drawn for the name of the job later.
    /// - Throws: `CronFault`.
    init(
        _ line: String, _ flavour: CronFlavour, hasUser: Bool,
        draw: ((String) throws(CronFault) -> String)? = nil
    ) throws(CronFault) {
        var rest = Array(line.utf8.drop { $0 == 32 || $0 == 9 })[...]
        if rest.first == UInt8(ascii: "-") {
            guard flavour == .cronie else {
                throw CronFault(
                    message:
                        "minute: \"-\" is not a value; for the crontab of another cron, use --flavour cronie"
                )
            }
            isSilent = true
            rest = rest.dropFirst()
        }
        let start = rest
        var behind = rest
        if rest.first == UInt8(ascii: "@") {
            let word = String(decoding: rest.prefix { $0 != 32 && $0 != 9 }, as: UTF8.self)
            behind = rest.dropFirst(word.utf8.count).drop { $0 == 32 || $0 == 9 }
            schedule = word
            (times, cron) = try Self.times(ofWord: word, flavour)
        } else if let (fields, after) = Self.drawn(start, flavour) {
            let text = try draw.map { (draw) throws(CronFault) in try draw(fields) } ?? "0 0 1 1 *"
            (times, behind) = (try CronTimes(fields: text), after)
            (schedule, cron) = (fields, text)
            notes.append(
                "\(flavour.name) draws the number of ~ each time it reads the line; this job always has \(text)"
            )
        } else {
            (times, behind) = try CronTimes.read(start, flavour)
            let raw = start[..<behind.startIndex].split { $0 == 32 || $0 == 9 }.prefix(5)
                .map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
            (schedule, cron) = (raw, Self.key(raw, times))
            notes = times.ignored
        }
        if hasUser {
            let word = behind.prefix { $0 != 32 && $0 != 9 }
            user = String(decoding: word, as: UTF8.self)
            behind = behind.dropFirst(word.count).drop { $0 == 32 || $0 == 9 }
        }
        command = String(decoding: behind, as: UTF8.self)
        if let fault = Self.fault(command, user, hasUser) {
            // Cron takes a line whose schedule ends with a blank, or is a word, and runs nothing.
            let isTaken =
                !hasUser && command.isEmpty
                && (schedule.hasPrefix("@") || start.last == 32 || start.last == 9)
            throw CronFault(message: fault, breaksFile: !isTaken)
        }
    }

    private static func fault(_ command: String, _ user: String?, _ hasUser: Bool) -> String? {
        if hasUser, user?.isEmpty != false { return "the user and the command are missing" }
        if command.isEmpty {
            return hasUser
                ? "the command is missing; a line of this file has a user before the command"
                : "the command is missing"
        }
        // Cron looks for this typing error as well.
        if (user ?? command).utf8.first == UInt8(ascii: "*") {
            return "there are more than five fields of time"
        }
        return nil
    }

    private static func times(
        ofWord word: String, _ flavour: CronFlavour
    ) throws(CronFault) -> (CronTimes, cron: String?) {
        let name = flavour == .systemdCron ? word.lowercased() : word
        if name == "@reboot" { return (.reboot, nil) }
        let own = flavour == .systemdCron ? systemdWords[name] : nil
        guard let fields = own ?? words[name] else {
            throw CronFault(message: "\(flavour.name) does not know \"\(word)\"")
        }
        return (try CronTimes(fields: fields), own == nil ? name : fields)
    }

    /// The five fields if one of them has `~`, which only some crons know, and what is behind them.
    private static func drawn(
        _ line: ArraySlice<UInt8>, _ flavour: CronFlavour
    ) -> (fields: String, rest: ArraySlice<UInt8>)? {
        guard flavour != .debian else { return nil }
        var (rest, fields): (ArraySlice<UInt8>, [String]) = (line, [])
        for _ in 0..<5 {
            let field = rest.prefix { $0 != 32 && $0 != 9 }
            fields.append(String(decoding: field, as: UTF8.self))
            rest = rest.dropFirst(field.count).drop { $0 == 32 || $0 == 9 }
        }
        guard fields.contains(where: { $0.utf8.contains(UInt8(ascii: "~")) }) else { return nil }
        return (fields.joined(separator: " "), rest)
    }

    /// The schedule as it is written, if timerd reads it in the same way; else in normal form.
    private static func key(_ raw: String, _ times: CronTimes) -> String {
        guard times.ignored.isEmpty, let line = try? CronSpec.read(raw, drawing: nil),
            line.differences.isEmpty
        else { return times.text }
        return raw
    }
}
