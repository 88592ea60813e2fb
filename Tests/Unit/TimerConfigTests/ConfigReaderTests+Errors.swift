// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore
import TimerZones

@testable import TimerConfig

/// Errors: what is refused, with which place and words.
extension ConfigReaderTests {
    @Test func saysAllErrorsAtOnce_inTheirOrder_withTheLineAndACaret() throws {
        let reading = try read(
            """
            [job.backup]
            shell = "true"
            \tintervall = "6h"
            every = "6 hoursx"
            [jobs.x]
            [job."bad name"]
            [daemon]
            max-concurrent = 0
            """)
        let text = reading.errors.map(\.quotingLine).joined(separator: "\n")
        #expect(
            text == """
                timerd.toml:3:2: job "backup": unknown key "intervall"
                  \tintervall = "6h"
                  \t^
                timerd.toml:4:12: job "backup": every: time span "6 hoursx": "hoursx" is not a unit (did you mean "hours"?); the units are us, ms, s, min, h, d, w, month and y
                  every = "6 hoursx"
                             ^
                timerd.toml:5:2: unknown table "jobs" (did you mean "job"?)
                  [jobs.x]
                   ^
                timerd.toml:6:6: job "bad name": a job name has only letters, digits, '.', '_', '-' and '@'
                  [job."bad name"]
                       ^
                timerd.toml:8:18: [daemon]: max-concurrent: 0 is out of range; from 1 to 10000
                  max-concurrent = 0
                                   ^
                """)
        #expect(reading.rejected == ["backup", "bad name"])
    }

    @Test func aTextThatIsNotTomlStopsTheReading() {
        #expect(message(of: "[job.a\n").hasPrefix("timerd.toml:1:7: "))
        #expect(
            message(of: "[job.a]\nevery = \"1h\"\nevery = \"2h\"\n").hasPrefix("timerd.toml:3:9: "))
        #expect(message(of: "a = \"\u{0}\"").contains("1:6: holds a NUL byte"))
        let error = #expect(throws: ConfigError.self) {
            try ConfigReader.read([0x61, 0x20, 0x3d, 0x20, 0x22, 0xc3, 0x28, 0x22], file: "x.toml")
        }
        #expect(error?.description.hasPrefix("x.toml:1:6: is not UTF-8 here") == true)
    }

    func message(of text: String) -> String {
        do throws(ConfigError) {
            _ = try ConfigReader.read(Array(text.utf8), file: "timerd.toml")
            return "accepted"
        } catch {
            return error.description
        }
    }

    @Test func aLongLineIsShownAroundTheCaret() throws {
        let line = "xyz = 1 #" + String(repeating: "-", count: 500)
        var text = SourceText(Array(line.utf8))
        let found = text.excerpt(at: SourceMark(line: 1, column: 300))
        let excerpt = try #require(found)
        let lines = excerpt.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= SourceText.shownMax + 4 })
        let past = text.excerpt(at: SourceMark(line: 9, column: 1))
        #expect(past == nil)
    }

    @Test func tooManyJobsAreLeftOut_withAnError() throws {
        let jobs = (0..<5).map { "[job.j\($0)]\nshell = \"true\"\nevery = \"1h\"\n" }.joined()
        let reading = try read("[daemon]\njobs-max = 3\n" + jobs)
        #expect(reading.jobSet.jobs.count == 3 && reading.rejected == ["j3", "j4"])
        #expect(reading.errors.count == 1)
    }

    @Test(
        arguments: [
            ("intervall", ["interval", "every"], "interval"),
            ("evrey", ["every", "after"], "every"),
            ("xyz", ["every", "after"], nil), ("afer", ["every", "after"], "after"),
            ("q", ["a", "at", "b"], nil), ("b", ["a"], nil), ("on", ["at"], nil),
            ("ta", ["at"], nil), ("foo", ["boo"], "boo"), ("usr", ["user"], "user"),
            ("mail", ["nail", "main"], "nail"), ("backup-a", ["backup-b"], "backup-b"),
            ("script", ["schedule"], nil), ("conurrency-policy", ["concurrency"], nil),
            (String(repeating: "x", count: 100_000), [String(repeating: "x", count: 99_999)], nil),
            ("jöb", ["job"], "job"),
        ] as [(String, [String], String?)])
    func nearest(name: String, among names: [String], is expected: String?) {
        #expect(nearestName(name, among: names) == expected)
    }
}
