// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Lists of dates, and schedules that fire on some dates alone.
@Suite struct DateListTests {
    static func list(_ name: String, _ entries: String...) throws -> DateList {
        DateList(
            name: try #require(DateList.Name(name)),
            days: DaySet(try entries.map { try DaySet.Entry($0) }))
    }

    @Test(arguments: [
        (["2026-12-25"], ["2026-12-25"]),
        (["2026-12-26", "2026-12-24..2026-12-25"], ["2026-12-24..2026-12-26"]),
        (["2026-01-01..2026-01-31", "2026-01-05"], ["2026-01-01..2026-01-31"]),
        (["*-05-01", "2026-05-01", "*-02-29", "*-05-01"], ["2026-05-01", "*-02-29", "*-05-01"]),
        (["1970-01-01..2199-12-31"], ["1970-01-01..2199-12-31"]), ([], []),
    ])
    func theNormalFormIsSorted(entries: [String], texts: [String]) throws {
        let set = DaySet(try entries.map { try DaySet.Entry($0) })
        #expect(set.texts == texts)
        #expect(DaySet(try texts.map { try DaySet.Entry($0) }) == set)
        #expect(set.isEmpty == texts.isEmpty)
    }

    @Test(arguments: [
        ("", 0, "is not a date"), ("2026-2-1", 0, "is not a date"),
        ("2026-13-01", 0, "there is no month 13"), ("2026-00-01", 0, "there is no month 0"),
        ("2026-02-29", 0, "there is no day 29 in that month, which has 28"),
        ("*-02-30", 0, "there is no day 30 in that month, which has 29"),
        ("*-13-01", 0, "there is no month 13"), ("*-1-1", 0, "is not a date"),
        ("2026-12-24..2026-12-40", 12, "there is no day 40 in that month, which has 31"),
        ("2026-12-26..2026-12-24", 0, "the range runs backwards; write the earlier date first"),
        ("*-12-24..*-12-26", 0, "a range is of dates with a year"),
        ("1969-12-31", 0, "the years are 1970 to 2199"), ("2200-01-01", 0, "the years are"),
        ("2026-12-24...2026-12-26", 0, "is not a date"), ("2026-12-25 ", 0, "is not a date"),
        ("２０２６-12-25", 0, "is not a date"), ("+026-12-25", 0, "is not a date"), ("*", 0, "is not"),
        ("..", 0, "is not a date"), ("2026-12-24..", 0, "is not a date"),
    ])
    func saysWhatIsWrong_andWhere(text: String, offset: Int, message: String) {
        let error = #expect(throws: ScheduleError.self) { try DaySet.Entry(text) }
        #expect(error?.offset == offset && error?.message.hasPrefix(message) == true, "\(text)")
    }

    /// Each search finds what a walk from day to day finds.
    @Test func searchesFindTheNearestDay() {
        var random = SeededRandom()
        let start = CivilDate(year: 2026, month: 1, day: 1).daysSinceEpoch
        for _ in 0..<60 {
            let entries = (0..<random.int(below: 6)).map { _ -> DaySet.Entry in
                let first = start + random.int(below: 900)
                guard random.int(below: 3) > 0 else {
                    let date = CivilDate(daysSinceEpoch: first)
                    return .yearly(month: date.month, day: date.day)
                }
                return .range(
                    CivilDate(daysSinceEpoch: first),
                    CivilDate(daysSinceEpoch: first + random.int(below: 9)))
            }
            let set = DaySet(entries)
            for day in stride(from: start - 400, to: start + 1300, by: 1 + random.int(below: 29)) {
                for inside in [true, false] {
                    let next = (day..<day + 3000).first { set.contains($0) == inside }
                    let last = (day - 3000...day).last { set.contains($0) == inside }
                    if let next { #expect(set.first(from: day, inside: inside) == next) }
                    if let last { #expect(set.last(until: day, inside: inside) == last) }
                }
            }
        }
    }

    /// Searches end at the first and the last year.
    @Test func searchesOfEverythingAndNothingEnd() throws {
        let all = DaySet([
            .range(CivilDate(year: 1970, month: 1, day: 1), .init(year: 2199, month: 12, day: 31))
        ])
        let everyYear = DaySet(
            (1...12).flatMap { month in
                (1...CivilDate.days(in: month, of: 2000)).map { .yearly(month: month, day: $0) }
            })
        let leapDays = DaySet([.yearly(month: 2, day: 29)])
        let today = CivilDate(year: 2096, month: 3, day: 1).daysSinceEpoch
        #expect(everyYear.first(from: today, inside: false) == nil)
        #expect(everyYear.last(until: today, inside: false) == nil)
        #expect(DaySet([]).first(from: today, inside: true) == nil)
        #expect(DaySet([]).last(until: today, inside: true) == nil)
        #expect(all.first(from: today, inside: true) == today)
        // 2100 is no leap year.
        #expect(
            leapDays.first(from: today, inside: true)
                == CivilDate(year: 2104, month: 2, day: 29).daysSinceEpoch)
        for set in [all, everyYear, leapDays, DaySet([])] {
            for day in [-1, 0, 84_005, 84_006, -100_000, 200_000] {
                for inside in [true, false] {
                    _ = set.first(from: day, inside: inside)
                    _ = set.last(until: day, inside: inside)
                }
            }
        }
    }

    private static func schedule(
        _ calendar: String, _ zone: ZoneRules = .utc, except: [DateList] = [],
        onlyOn: [DateList] = []
    ) throws -> WallSchedule {
        var schedule = WallSchedule([.calendar(try CalendarSpec(calendar), zone)])
        schedule.rules = Boxed(wrappedValue: FiringRules(except: except, onlyOn: onlyOn))
        return schedule
    }

    @Test func firingsOnExceptedDatesDoNotExist() throws {
        let holidays = try Self.list("holidays", "2026-12-24..2026-12-26", "*-01-01")
        let schedule = try Self.schedule("08:00", except: [holidays])
        let at = WallInstant(rfc3339: "2026-12-23T08:00:00Z")!
        let next = try #require(schedule.next(after: at))
        #expect(next.rfc3339 == "2026-12-27T08:00:00Z")
        #expect(schedule.previous(before: next) == at)
        #expect(schedule.excluded(after: at)?.reason == "2026-12-24 is in holidays")
        #expect(schedule.excluded(after: at)?.at.rfc3339 == "2026-12-24T08:00:00Z")
        #expect(schedule.excluded(after: next) == nil)
        let newYear = WallInstant(rfc3339: "2199-12-31T08:00:00Z")!
        #expect(schedule.next(after: newYear) == nil)
    }

    @Test func onlyOnAllowsTheDatesOfEachList_andExceptComesFirst() throws {
        let first = try Self.list("first", "2026-12-01", "2026-12-10..2026-12-12")
        let second = try Self.list("second", "2026-12-20")
        let closed = try Self.list("closed", "2026-12-11")
        let schedule = try Self.schedule(
            "*-*-* 00/12:00", except: [closed], onlyOn: [first, second])
        var at = WallInstant(rfc3339: "2026-11-30T00:00:00Z")!
        var found: [String] = []
        while let next = schedule.next(after: at) {
            found.append(String(next.rfc3339.prefix(13)))
            #expect(schedule.previous(before: next + .microseconds(1)) == next)
            at = next
        }
        #expect(
            found
                == ["01T00", "01T12", "10T00", "10T12", "12T00", "12T12", "20T00", "20T12"]
                .map { "2026-12-\($0)" })
        #expect(
            schedule.excluded(after: WallInstant(rfc3339: "2026-12-02T00:00:00Z")!)?.reason
                == "2026-12-02 is not in first or second")
        #expect(
            schedule.excluded(after: WallInstant(rfc3339: "2026-12-11T00:00:00Z")!)?.reason
                == "2026-12-11 is in closed")
    }

    /// The date is that of the job's zone, not that of UTC.
    @Test func theDatesAreThoseOfTheZone() throws {
        let holidays = try Self.list("holidays", "2026-12-25")
        let tokyo = try CalendarTests.zone("Asia/Tokyo")
        let schedule = try Self.schedule("08:00", tokyo, except: [holidays])
        let at = WallInstant(rfc3339: "2026-12-23T23:00:00Z")!
        #expect(schedule.next(after: at)?.rfc3339 == "2026-12-25T23:00:00Z")
    }

    /// The clock of St. John's was set back from 00:01 to 23:01 of the day before: a search that
    /// passes a holiday does not miss the hour that comes twice.
    @Test func aDayThatComesBackIsNotPassed() throws {
        let zone = try CalendarTests.zone("America/St_Johns")
        let holidays = try Self.list("holidays", "2006-10-29..2006-10-30")
        let schedule = try Self.schedule("*:00/30", zone, except: [holidays])
        // 00:00 of the 29th is a holiday, and 23:30 of the 28th comes again after it.
        let at = WallInstant(rfc3339: "2006-10-29T02:00:00Z")!
        #expect(schedule.next(after: at)?.rfc3339 == "2006-10-29T03:00:00Z")
        #expect(
            schedule.previous(before: WallInstant(rfc3339: "2006-10-29T12:00:00Z")!)?.rfc3339
                == "2006-10-29T03:00:00Z")
    }

    /// Whatever the lists are, a search ends, and quickly: one that tried each minute would take longer
    /// than the limit.
    @Test(.timeLimit(.minutes(1))) func aListOfEverythingEndsWithNever() throws {
        let zone = try CalendarTests.zone("Europe/Berlin")
        let all = try Self.list("all", "1970-01-01..2199-12-31")
        let odd = DateList(
            name: "odd",
            days: DaySet(
                stride(from: 0, to: 84_006, by: 2).map {
                    .range(CivilDate(daysSinceEpoch: $0), CivilDate(daysSinceEpoch: $0))
                }))
        let even = DateList(
            name: "even",
            days: DaySet(
                stride(from: 1, to: 84_006, by: 2).map {
                    .range(CivilDate(daysSinceEpoch: $0), CivilDate(daysSinceEpoch: $0))
                }))
        let none = try Self.list("none")
        let now = WallInstant(rfc3339: "2026-12-01T00:00:00Z")!
        for schedule in [
            try Self.schedule("minutely", zone, except: [all]),
            try Self.schedule("minutely", zone, except: [odd, even]),
            try Self.schedule("minutely", zone, except: [odd], onlyOn: [odd]),
            try Self.schedule("minutely", zone, onlyOn: [none]),
        ] {
            #expect(schedule.next(after: now) == nil)
            #expect(schedule.previous(before: now) == nil)
        }
    }

    @Test func exceptedFiringsAreNeitherMissedNorCaughtUp() throws {
        var world = World()
        world.wall = WallInstant(rfc3339: "2026-12-23T12:00:00Z")!.microsecondsSinceEpoch
        let holidays = try Self.list("holidays", "2026-12-24..2026-12-26")
        let schedule = try Self.schedule("08:00", except: [holidays])
        let job = Job(name: "report", command: .arguments(["true"]), schedule: .wall(schedule))
        world.load([job])
        world.sleep(.seconds(3 * 86_400))
        world.handle(.clockChanged)
        #expect(world.started.isEmpty)
        world.pass(.seconds(86_400))
        #expect(world.started.map(\.id.firing.scheduled.rfc3339) == ["2026-12-27T08:00:00Z"])
        #expect(world.started.map(\.firing.missed) == [0])
        world.endRuns()
    }

    /// A changed list moves the timer at a reload, and makes up for nothing.
    @Test func aReloadTakesAChangedList() throws {
        var world = World()
        world.wall = WallInstant(rfc3339: "2026-12-24T06:00:00Z")!.microsecondsSinceEpoch
        func job(_ list: DateList) throws -> Job {
            let schedule = try Self.schedule("08:00", except: [list])
            return Job(name: "report", command: .arguments(["true"]), schedule: .wall(schedule))
        }
        world.load([try job(try Self.list("holidays"))])
        #expect(world.show("report").next?.rfc3339 == "2026-12-24T08:00:00Z")
        world.handle(.reload(JobSet([try job(try Self.list("holidays", "2026-12-24"))])))
        #expect(world.show("report").next?.rfc3339 == "2026-12-25T08:00:00Z")
        world.pass(.seconds(6 * 3600))
        #expect(world.started.isEmpty)
        world.handle(.reload(JobSet([try job(try Self.list("holidays"))])))
        world.pass(.zero)
        #expect(world.started.isEmpty)
        #expect(world.show("report").next?.rfc3339 == "2026-12-25T08:00:00Z")
    }

    // MARK: - Every second date

    /// 2026-11-07 is a Saturday.
    @Test(arguments: [
        (2, "2026-11-07", "2026-11-01", ["2026-11-07", "2026-11-21", "2026-12-05"]),
        // The first Saturday from then on counts.
        (2, "2026-11-08", "2026-11-01", ["2026-11-14", "2026-11-28", "2026-12-12"]),
        (3, "2026-11-07", "2026-11-07", ["2026-11-28", "2026-12-19", "2027-01-09"]),
        // Dates before it are counted as well.
        (2, "2027-11-06", "2026-11-01", ["2026-11-07", "2026-11-21"]),
        (5, "2026-11-07", "2026-09-01", ["2026-10-03", "2026-11-07"]),
    ])
    func everyNthDateIsCounted(
        number: Int, start: String, after: String, dates: [String]
    ) throws {
        guard case .range(let date, _) = try DaySet.Entry(start) else { return }
        var schedule = WallSchedule([.calendar(try CalendarSpec("Sat 10:00"), .utc)])
        schedule.rules = Boxed(
            wrappedValue: FiringRules(everyNth: EveryNth(number, from: date)))
        var at = WallInstant(rfc3339: "\(after)T12:00:00Z")!
        for date in dates {
            let next = try #require(schedule.next(after: at))
            #expect(next.rfc3339 == "\(date)T10:00:00Z")
            #expect(schedule.previous(before: next + .microseconds(1)) == next)
            at = next
        }
        #expect(schedule.excluded(after: at) == nil)
    }

    /// A holiday on a date that counts moves nothing.
    @Test func listsApplyAfterTheCounting() throws {
        let holidays = try Self.list("holidays", "2026-11-21")
        var schedule = WallSchedule([.calendar(try CalendarSpec("Sat 10:00"), .utc)])
        schedule.rules = Boxed(
            wrappedValue: FiringRules(
                except: [holidays],
                everyNth: EveryNth(2, from: CivilDate(year: 2026, month: 11, day: 7))))
        let at = WallInstant(rfc3339: "2026-11-07T10:00:00Z")!
        #expect(schedule.next(after: at)?.rfc3339 == "2026-12-05T10:00:00Z")
        #expect(schedule.excluded(after: at)?.reason == "2026-11-21 is in holidays")
    }

    @Test(arguments: [
        ("Sat 10:00", true), ("*-*-* 10:00:00.5", true), ("daily", true), ("hourly", false),
        ("10:00,11", false), ("*-*-* 10:00:00/30", false), ("*-*-* 10:00:*", false),
        ("*-*-* 10:00:00.5/10", false), ("10,11:00", false),
    ])
    func aScheduleThatFiresOnceOnADayIsKnown(text: String, isOnce: Bool) throws {
        #expect(
            WallSchedule.Source.calendar(try CalendarSpec(text), .utc).isOncePerDay == isOnce)
    }
}
