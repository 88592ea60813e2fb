// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Syntax that real crontabs contain and Debian's cron does not accept.
@Suite struct CrontabGrammarTests {
    private let drawing = CronSpec.Drawing(seed: 42, job: "backup")

    /// A line, its normal form, and the reported differences.
    @Test(
        arguments: [
            (
                "5/15 * * * *", "5/15 * * * *",
                "minute: \"5/15\": Debian's cron refuses it; here it is each 15 from 5 on, as in cronie"
            ),
            (
                "0 0 * * Fri-Mon", "0 0 * * 5-6,0-1",
                "day of the week: \"Fri-Mon\": Debian's cron takes it and never runs it; here it is 5-6,0-1"
            ),
            (
                "0 0 * * sat-mon", "0 0 * * 6,0-1",
                "day of the week: \"sat-mon\": Debian's cron takes it and never runs it; here it is 6,0-1"
            ),
            (
                "0 0 * * mon-SUN", "0 0 * * 1-7",
                "day of the week: \"mon-SUN\": Debian's cron takes it and never runs it; here it is 1-7"
            ),
            (
                "0 0 1 Nov-Mar *", "0 0 1 11-12,1-3 *",
                "month: \"Nov-Mar\": Debian's cron takes it and never runs it; here it is 11-12,1-3"
            ),
            (
                "0 0 1 Dec-Jan *", "0 0 1 12,1 *",
                "month: \"Dec-Jan\": Debian's cron takes it and never runs it; here it is 12,1"
            ),
            (
                "0 0 1 Oct-Mar/3 *", "0 0 1 10,1 *",
                "month: \"Oct-Mar/3\": Debian's cron takes it and never runs it; here it is 10,1"
            ),
            (
                "0 0 * * Sunday", "0 0 * * 0",
                "day of the week: \"Sunday\": Debian's cron refuses it; it knows sun, mon, tue, wed, thu, fri, sat"
            ),
            (
                "0 0 * january-March *", "0 0 * 1-3 *",
                "month: \"january-March\": Debian's cron refuses it; it knows jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec"
            ),
            ("@DAILY", "0 0 * * *", "Debian's cron refuses \"@DAILY\"; it knows \"@daily\""),
            ("@Reboot", "@reboot", "Debian's cron refuses \"@Reboot\"; it knows \"@reboot\""),
            ("0 0 L * *", "0 0 L * *", "day of the month: \"L\": Debian's cron refuses it"),
            ("0 0 L-3 * *", "0 0 L-3 * *", "day of the month: \"L-3\": Debian's cron refuses it"),
            ("0 0 lw * *", "0 0 LW * *", "day of the month: \"lw\": Debian's cron refuses it"),
            ("0 0 15w * *", "0 0 15W * *", "day of the month: \"15w\": Debian's cron refuses it"),
            ("0 0 L-0 * *", "0 0 L * *", "day of the month: \"L-0\": Debian's cron refuses it"),
            (
                "0 0 L-3W * *", "0 0 L-3W * *",
                "day of the month: \"L-3W\": Debian's cron refuses it"
            ),
            ("0 0 * * 5#2", "0 0 * * 5#2", "day of the week: \"5#2\": Debian's cron refuses it"),
            ("0 0 * may *", "0 0 * 5 *", nil), ("0 0 * * MON-fri", "0 0 * * 1-5", nil),
            ("*/15 8-18 1,15 * *", "*/15 8-18 1,15 * *", nil), ("@daily", "0 0 * * *", nil),
        ] as [(String, String, String?)])
    func isReadAndSaid(text: String, normal: String, difference: String?) throws {
        let line = try CronSpec.read(text, drawing: nil)
        #expect(line.spec.description == normal)
        #expect(try CronSpec(normal) == line.spec)
        #expect(line.differences == [difference].compactMap { $0 })
    }

    /// A schedule whose minute or hour continues to the end of its range follows the clock.
    @Test func anOpenStepFollowsTheClock() throws {
        for (text, follows) in [
            ("0/15 * * * *", true), ("0/15 3 * * *", true), ("0 2/3 * * *", true),
            ("0-59/15 3 * * *", false), ("0 2 1/3 * *", false), ("H/15 3 * * *", true),
            ("H(0-29)/10 3 * * *", false), ("H H * * *", false),
        ] {
            let rule = try CronSpec.read(text, drawing: drawing).spec.standardRule
            #expect((rule == .followsClock) == follows, "\(text)")
        }
    }

    @Test(arguments: [
        ("H", 0...59), ("~", 0...59), ("H(0-29)", 0...29), ("10~20", 10...20), ("~20", 0...20),
        ("40~", 40...59), ("H(5-5)", 5...5), ("7~7", 7...7),
    ])
    func aRandomMinuteIsInItsRange_andAlwaysTheSame(field: String, range: ClosedRange<Int>) throws {
        var seen: Set<Int> = []
        for job in 0..<500 {
            let drawing = CronSpec.Drawing(seed: 7, job: Job.Name(stringLiteral: "job-\(job)"))
            let line = try CronSpec.read("\(field) * * * *", drawing: drawing)
            let again = try CronSpec.read("\(field) * * * *", drawing: drawing)
            #expect(line == again && line.differences.count == 1)
            let minute = try #require(Int(line.spec.description.split(separator: " ")[0]))
            #expect(range.contains(minute))
            #expect(try CronSpec(line.spec.description) == line.spec)
            seen.insert(minute)
        }
        #expect(seen.count == range.count, "every value comes up in 500 jobs")
    }

    @Test func aRandomDayExistsInEveryMonth_andARandomWeekdayIsOneOfSeven() throws {
        var days: Set<Substring> = []
        var weekdays: Set<Substring> = []
        for job in 0..<1000 {
            let drawing = CronSpec.Drawing(seed: 7, job: Job.Name(stringLiteral: "job-\(job)"))
            let fields = try CronSpec.read("0 0 H * H", drawing: drawing).spec.description
                .split(separator: " ")
            days.insert(fields[2])
            weekdays.insert(fields[4])
        }
        #expect(days == Set((1...28).map { "\($0)"[...] }))
        #expect(weekdays == Set((0...6).map { "\($0)"[...] }))
        #expect(try CronSpec.read("0 0 31~ * *", drawing: drawing).spec.description == "0 0 31 * *")
        #expect(try CronSpec.read("0 0 * * 7~", drawing: drawing).spec.description == "0 0 * * 7")
    }

    @Test func aRandomStepStartsWithinTheFirstStep() throws {
        for job in 0..<200 {
            let drawing = CronSpec.Drawing(seed: 9, job: Job.Name(stringLiteral: "job-\(job)"))
            let fields = try CronSpec.read("H/15 H(8-17)/3 ~/10 * H/2", drawing: drawing).spec
                .description.split(separator: " ").map(String.init)
            let patterns: [(Int, ClosedRange<Int>, String)] = [
                (0, 0...14, "/15"), (1, 8...10, "-17/3"), (2, 1...10, "/10"), (4, 0...1, "-6/2"),
            ]
            for (index, range, end) in patterns {
                #expect(fields[index].hasSuffix(end))
                let first = fields[index].prefix { $0.isNumber }
                #expect(Int(first).map(range.contains) == true, "\(fields)")
            }
        }
    }

    @Test func eachRandomValueIsIndependent() throws {
        var differ = 0
        for job in 0..<100 {
            let drawing = CronSpec.Drawing(seed: 3, job: Job.Name(stringLiteral: "job-\(job)"))
            let fields = try CronSpec.read("H,H H * * *", drawing: drawing).spec.description
                .split { $0 == " " || $0 == "," }
            if fields[0] != fields[1] { differ += 1 }
        }
        #expect(differ > 80)
        let other = CronSpec.Drawing(seed: 43, job: "backup")
        let lines = try (0..<5).map { _ in "H H H H H" }.map {
            (try CronSpec.read($0, drawing: drawing), try CronSpec.read($0, drawing: other))
        }
        #expect(
            lines.allSatisfy { $0.0 != $0.1 && $0.0 == lines[0].0 }, "another machine, another draw"
        )
    }

    @Test(arguments: [
        "H(", "H()", "H(5)", "H(5-)", "H(5-1)", "H(0-60)", "HH", "H5", "5H", "H-5", "5~1", "~60",
        "60~", "1~2~3",
        "~~", "H~", "~H", "1-5~", "1~5-6", "H/0", "H/", "~/", "h", "H(+1-5)", "H(1-5", "*~", "*H",
        "H(a-b)",
    ])
    func anInvalidRandomPartIsRefused(field: String) {
        #expect(throws: ScheduleError.self, "\(field)") {
            try CronSpec.read("\(field) * * * *", drawing: drawing)
        }
    }

    /// Every line that is accepted has a normal form with the same meaning, and every error has a
    /// place in the line.
    @Test func anyTextIsAcceptedOrRefusedWithAPlace() {
        var random = SeededRandom()
        let pieces = [
            "*", "/", "-", ",", "~", "H", "(", ")", "L", "W", "L-", "#", "1", "5", "59", "12",
            "Fri", "monday",
            "nov",
            "January", "*", "*", "3", " ", "@daily", "?", "é", "\u{0}", "+", "7", "0",
        ]
        let good = [
            "*", "1", "5/2", "*/3", "1-5", "1,2-4/2", "H", "~", "1~4", "H(2-5)/2", "~/2", "6~", "L",
            "Fri-Mon",
            "sunday", "nov-feb/2", "December", "5L", "1#2", "7", "15W", "LW", "L-3", "L-30W",
            "1W,2",
        ]
        var read = 0
        for _ in 0..<200_000 {
            let fields = (0..<(random.int(below: 20) == 0 ? random.int(below: 8) : 5)).map { _ in
                // Most parts are valid, and some are random.
                guard random.int(below: 5) == 0 else {
                    return good[random.int(below: good.count)]
                }
                return (0...random.int(below: 4)).map { _ in
                    pieces[random.int(below: pieces.count)]
                }.joined()
            }
            let text = fields.joined(separator: " ")
            do throws(ScheduleError) {
                let line = try CronSpec.read(text, drawing: drawing)
                read += 1
                let again = try CronSpec(line.spec.description)
                if again != line.spec { Issue.record("\(text): \(line.spec.description)") }
            } catch {
                if error.offset > text.utf8.count { Issue.record("\(text): \(error.offset)") }
            }
        }
        print("crontab lines: \(read) read")
    }
}
