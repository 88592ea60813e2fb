// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// The places of errors, and what happens with very many errors.
@Suite struct ManyErrorsTests {
    private func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "t.toml")
    }

    /// The message for a text that is not TOML, up to the excerpt.
    private func fault(of text: String) -> String {
        let error = #expect(throws: ConfigError.self) { try read(text) }
        return String(error?.description.split(separator: "\n").first ?? "")
    }

    /// The parser of toml++ 3.3 assumes that a key starts in a header, and reports no place.
    @Test(arguments: [
        ("[!]", "1:2"), ("a = 1\n[.job]\n", "2:2"), ("b = 1\n[\n[job.a]\n", "2:2"),
        ("a = 1\n  [ =x]\n", "2:5"), ("# x\n\n[é]", "3:2"), ("[job.a]\n[[!]]", "2:3"),
        ("s = '''\n[\n'''\n[\u{1}]", "4:2"), ("é = 1\n", "1:1"),
    ])
    func aHeaderWithoutAName_isSaidWhereItIs(text: String, place: String) {
        let said = fault(of: text)
        #expect(said.hasPrefix("t.toml:\(place): "), "\(said)")
    }

    @Test func aLoneBracketAtTheEnd_isSaidThere() {
        #expect(fault(of: "[job.a]\nshell = \"x\"\n[").hasPrefix("t.toml:3:2: "))
        #expect(
            fault(of: "[!]").hasSuffix(
                "1:2: the name of a table or key is missing here: letters, digits, '_' and '-', or any text "
                    + "in quotes"))
    }

    @Test func aByteOrderMarkIsNoPartOfTheText() throws {
        let reading = try read("\u{feff}[job.a]\nshell = \"true\"\nevery = \"1h\"\n")
        #expect(reading.errors.isEmpty && reading.jobSet.jobs.count == 1)
        #expect(fault(of: "\u{feff}a = !").hasPrefix("t.toml:1:5: "))
        #expect(try read("\u{feff}x = 1").errors.map(\.mark) == [SourceMark(line: 1, column: 1)])
        #expect(try read("\u{feff}").errors.isEmpty)
    }

    /// What this thread has taken of the processor.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test(.timeLimit(.minutes(1)))
    func aChainOfRenamesTakesTimeInProportion() throws {
        let job = "every = \"1h\"\nshell = \"true\"\n"
        let text = (0..<20_000).map { "[job.j\($0)]\n\(job)renamed-from = \"j\($0 + 1)\"\n" }
            .joined()
        let begun = Self.processorTime
        let reading = try read(text)
        // The time of the processor: other tests may take most of it.
        #expect(Self.processorTime - begun < .seconds(10), "it took 33 s in a build of this kind")
        #expect(reading.errorCount == 19_999 && reading.rejected.count == 19_999)
        #expect(reading.errors.count == ConfigReading.errorsMax + 1)
        #expect(reading.errors.last?.message == "and 19899 more errors of renamed-from")
        #expect(reading.jobSet.jobs.map(\.name.description) == ["j19999"])
    }

    @Test func aFalseRenameIsReportedWithItsPlace() throws {
        let job = "every = \"1h\"\nshell = \"true\"\n"
        let reading = try read("[job.a]\n\(job)[job.b]\n\(job)renamed-from = \"a\"\n")
        #expect(reading.errors.map(\.mark) == [SourceMark(line: 7, column: 16)])
        #expect(reading.errors.first?.job == "b")
    }

    @Test func aHundredUnknownKeysAreReported_andTheOthersCounted() throws {
        let keys = (0..<80_000).map { "evry\($0) = 1\n" }.joined()
        let reading = try read("[job.a]\n\(keys)")
        #expect(reading.errors.count == 101 && reading.errorCount == 80_000)
        #expect(reading.errors[99].mark?.line == 101 && reading.rejected == ["a"])
        #expect(
            reading.errors[100].description
                == "t.toml: and 79900 more errors; correct the first ones to see the others")
        let few = try read("[job.a]\n" + (0..<100).map { "evry\($0) = 1\n" }.joined())
        #expect(few.errors.count == 100 && few.errorCount == 100)
    }

    /// The limit has its own error, and up to it all is as usual.
    @Test(arguments: [
        ("100y", true), ("36525d", true), ("3155760000s", true), ("100y 1us", false),
        ("3155760001s", false), ("101y", false),
    ])
    func aHundredYearsIsTheLongestSpan(text: String, isGood: Bool) throws {
        let reading = try read("[job.a]\nevery = \"\(text)\"\nshell = \"true\"\n")
        #expect(reading.errors.isEmpty == isGood, "\(reading.errors)")
        if isGood {
            #expect(reading.jobSet.jobs.first?.schedule == .every(.seconds(3_155_760_000)))
        }
    }

    @Test(arguments: ["+22", "-0", "+0", "0o7", "٢٢"])
    func aModeHasDigitsAlone(text: String) throws {
        let reading = try read("[job.a]\nevery = \"1h\"\nshell = \"x\"\numask = \"\(text)\"\n")
        #expect(reading.errors.count == 1)
        let size = try read("[job.a]\nevery = \"1h\"\nshell = \"x\"\noutput-tail = \"\(text)\"\n")
        #expect(size.errors.count == 1)
    }

    @Test func aHundredWarningsAreReported_andTheNotesSeparately() throws {
        let jobs = (0..<5000).map {
            "[job.j\($0)]\ntimezone = \"UTC\"\nshell = \"x\"\ncron = \"H/7 * * * *\"\n"
        }.joined()
        let checks = ConfigChecks(at: WallInstant(secondsSinceEpoch: 1_800_000_000))
        let reading = try ConfigReader.read(Array(jobs.utf8), file: "t.toml", checks: checks)
        #expect(reading.errors.isEmpty && reading.warnings.count == 200)
        #expect(reading.warningCount == 5000 && reading.noteCount == 5000)
        #expect(reading.warnings.count { $0.isNote } == 100)
    }

    /// A line of the log or of a list must not contain megabytes.
    @Test func veryLongTextsAreShortenedInErrors() throws {
        let long = String(repeating: "é", count: 1_000_000)
        for text in [
            "[job.\"\(long)\"]\nx = 1\n", "[job.a]\n\"\(long)\" = 1\n", "[\"\(long)\"]\n",
            "[job.a]\nevery = \"\(long)\"\nshell = \"x\"\n",
        ] {
            let reading = try read(text)
            #expect(!reading.errors.isEmpty)
            for error in reading.errors { #expect(error.description.utf8.count < 10_000) }
            for name in reading.rejected { #expect(name.utf8.count < 1000) }
        }
        #expect("abc".shortened(to: 3) == "abc" && "abcd".shortened(to: 3) == "abc…")
        #expect("ééé".shortened(to: 3) == "ééé" && "".shortened(to: 0).isEmpty)
    }
}
