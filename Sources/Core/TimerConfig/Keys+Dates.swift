// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// The values of a table `[dates.NAME]` as they are read.
struct DatesDraft: KeyTarget {
    /// The path of the file, as it is written.
    var file: Marked<String>?
    var dates: Marked<[DaySet.Entry]>?

    static let keys: [Key<DatesDraft>] = [
        Key(
            \.file, "file", .datesFile,
            "A file with a date, a range of dates or a day of each year in each line, beside this file."
        ),
        Key(
            \.dates, "dates", .dates,
            "The dates, such as \"2026-12-25\", \"2026-12-24..2026-12-26\" and \"*-05-01\"."),
    ]
}

/// The lists of dates that a job names.
struct DateUse: Sendable {
    var except: Marked<[DateList.Name]>?
    var onlyOn: Marked<[DateList.Name]>?

    /// Where they are written, the first of both; nil if the job names none.
    var mark: SourceMark? {
        [except, onlyOn].compactMap { $0 }.filter { !$0.value.isEmpty }.map(\.mark).min()
    }

    /// The lists with their keys.
    var names: [(key: String, name: DateList.Name)] {
        (except?.value ?? []).map { ("except", $0) } + (onlyOn?.value ?? []).map { ("only-on", $0) }
    }
}

extension Draft {
    /// The keys of a job that are about dates.
    static let dates: [JobKey] = [
        JobKey(
            "except", .array(.pattern(ValueShape.name), min: 0),
            "The job does not run on the dates of these lists, by the names of their tables.",
            value: { .names($0.dateUse.except?.value) }
        ) { node, draft throws(Fault) in
            draft.dateUse.except = Marked(try node.dateLists(), node.mark)
        },
        JobKey(
            "only-on", .array(.pattern(ValueShape.name), min: 0),
            "The job runs on the dates of these lists alone, by the names of their tables.",
            value: { .names($0.dateUse.onlyOn?.value) }
        ) { node, draft throws(Fault) in
            draft.dateUse.onlyOn = Marked(try node.dateLists(), node.mark)
        },
        JobKey(
            \.everyNth, "every-nth", .integer(2...Int64(EveryNth.maximum)),
            "The job runs on every second, third … date of its schedule.", default: false),
        JobKey(
            \.countedFrom, "counted-from", .date,
            "With every-nth: the date from which the dates of the schedule are counted.",
            default: false),
    ]

    /// What is wrong with `every-nth` and `counted-from`: the dates of a schedule are counted, and
    /// each of them must stand for one firing.
    func countFaults(among entries: [TomlEntry]) -> [Fault] {
        func entry(_ key: String) -> TomlEntry? { entries.first { $0.key == key } }
        guard let nth = entry("every-nth") else {
            return entry("counted-from").map {
                [Fault($0.mark, "counted-from can only be used with every-nth")]
            } ?? []
        }
        var faults: [Fault] = []
        func refuse(_ reason: String) {
            faults.append(Fault(nth.mark, "every-nth \(reason)"))
        }
        if entry("counted-from") == nil {
            refuse(
                "needs counted-from, the date of one of the runs that count, such as \"2026-11-07\""
            )
        }
        guard refused.isDisjoint(with: JobKey.schedules) else { return faults }
        let sources =
            calendar.map { WallSchedule.Source.calendar($0.spec, .utc) }
            + cron.map { .cron($0.spec.spec, .utc) }
        if sources.isEmpty || cron.contains(where: \.spec.spec.isReboot) {
            refuse("can only be used with calendar and cron, and not with @reboot")
        } else if sources.count > 1 {
            refuse(
                "goes with one calendar event or crontab line, and this job has \(sources.count)")
        } else if !sources[0].isOncePerDay {
            refuse(
                "goes with a schedule that fires at most once on a day, such as \"Sat 10:00\": its dates are counted"
            )
        }
        return faults
    }

    /// Which of its dates the schedule of the job counts; nil: each of them.
    var dateCount: EveryNth? {
        guard let everyNth, let countedFrom else { return nil }
        return EveryNth(everyNth, from: countedFrom)
    }

    /// What is wrong with a job's lists of dates: a schedule must have dates by the local clock.
    func dateFaults(among entries: [TomlEntry]) -> [Fault] {
        let isWall = entries.contains { ["calendar", "cron"].contains($0.key) }
        return ["except", "only-on"].compactMap { key -> Fault? in
            guard let entry = entries.first(where: { $0.key == key }), !refused.contains(key),
                case .array(let names) = entry.node.value, !names.isEmpty
            else { return nil }
            if isWall {
                guard cron.contains(where: \.spec.spec.isReboot) else { return nil }
                return Fault(
                    entry.mark,
                    "\(key) does not go with @reboot: the first start of the daemon has no date that is planned"
                )
            }
            guard refused.isDisjoint(with: JobKey.schedules) else { return nil }
            return Fault(
                entry.mark,
                "\(key) can only be used with calendar and cron: other schedules have no dates; "
                    + "for an interval by the wall clock use calendar, such as \"*:0/15\"")
        }
    }
}

extension TomlNode {
    /// The most lists of one key of a job.
    private static let dateListsMax = 16
    /// The most dates that are written in the configuration itself.
    private static let datesMax = 1000

    /// Names of lists of dates.
    fileprivate func dateLists() throws(Fault) -> [DateList.Name] {
        guard case .array(let nodes) = value else {
            throw Fault(mark, "must be an array of names such as [\"holidays\"], not \(value.kind)")
        }
        guard nodes.count <= Self.dateListsMax else {
            throw Fault(mark, "has \(nodes.count) lists of dates; at most \(Self.dateListsMax)")
        }
        var names: Set<DateList.Name> = []
        return try nodes.readEach { (node) throws(Fault) in
            let name = try DateList.Name.read(try node.string(), at: node.mark)
            guard names.insert(name).inserted else {
                throw Fault(node.mark, "names \"\(name)\" twice; remove one")
            }
            return name
        }
    }

    fileprivate func dates() throws(Fault) -> [DaySet.Entry] {
        guard case .array(let nodes) = value else {
            throw Fault(
                mark, "must be an array of dates such as [\"2026-12-25\"], not \(value.kind)")
        }
        guard nodes.count <= Self.datesMax else {
            throw Fault(
                mark,
                "has \(nodes.count) dates; at most \(Self.datesMax): write more into a file, and name that with file"
            )
        }
        return try nodes.readEach { (node) throws(Fault) in
            if case .dateOrTime = node.value {
                throw Fault(node.mark, "must be a date in quotes, such as \"2026-12-25\"")
            }
            let text = try node.string()
            do throws(ScheduleError) { return try DaySet.Entry(text) } catch {
                throw Fault(
                    node.mark,
                    behind: String(decoding: text.utf8.prefix(error.offset), as: UTF8.self),
                    error.message)
            }
        }
    }
}

extension KeyShape where Value == [DaySet.Entry] {
    fileprivate static var dates: Self {
        list(
            of: .pattern("^([0-9]{4}|\\*)-[0-9]{2}-[0-9]{2}(\\.\\.[0-9]{4}-[0-9]{2}-[0-9]{2})?$")
        ) { (node) throws(Fault) in try node.dates() }
    }
}

extension KeyShape where Value == CivilDate {
    fileprivate static var date: Self {
        Self(.pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), type: "DATE") { (node) throws(Fault) in
            if case .dateOrTime = node.value {
                throw Fault(node.mark, "must be a date in quotes, such as \"2026-11-07\"")
            }
            return try node.date(
                try node.string(), else: "must be one date, such as \"2026-11-07\"")
        }
    }
}

extension KeyShape where Value == String {
    fileprivate static var datesFile: Self {
        Self(.pattern("."), type: "PATH") { (node) throws(Fault) in
            let path = try node.string()
            guard !path.isEmpty, !path.hasSuffix("/") else {
                throw Fault(node.mark, "names no file, such as \"holidays.txt\"")
            }
            return path
        }
    }
}
