// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// Texts that an attacker or an accident could produce.
@Suite struct HostileTextTests {
    private func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "timerd.toml")
    }

    /// The first message, up to the excerpt.
    private func saying(of text: String) -> String {
        do throws(ConfigError) {
            let reading = try ConfigReader.read(Array(text.utf8), file: "timerd.toml")
            return reading.errors.first.map(firstLine) ?? "accepted"
        } catch {
            return firstLine(of: error)
        }
    }

    private func firstLine(of error: ConfigError) -> String {
        String(error.description.split(separator: "\n")[0])
    }

    private static func dotted(_ parts: Int) -> String {
        Array(repeating: "a", count: parts).joined(separator: ".")
    }

    /// Recursion over each of these overflowed the stack of toml++ 3.3 or of its reader.
    @Test(arguments: [
        ("\(dotted(100_000)) = 1", 32), ("[\(dotted(100_000))]", 33), ("[[\(dotted(17))]]", 34),
        ("a = {\(dotted(10_000)) = 1}", 37), ("a = [{b = 1, \(dotted(17)) = 1}]", 45),
        (#"a."b.c".'d.e'.\#(dotted(14)) = 1"#, 40),
    ])
    func refusesAKeyOfTooManyParts(text: String, column: Int) {
        #expect(
            saying(of: text) == "timerd.toml:1:\(column): the key has too many parts; at most 16")
    }

    @Test(arguments: [
        "a = " + String(repeating: "[", count: 17) + String(repeating: "]", count: 17),
        "a = " + String(repeating: "{a = ", count: 100_000),
        "a = " + String(repeating: "[", count: 1_000_000),
    ])
    func refusesValuesThatNestTooDeep(text: String) {
        #expect(saying(of: text).contains("exceeded maximum nested value depth of 16"))
    }

    /// Dots that do not separate keys, where a simple count would find some.
    @Test(arguments: [
        "\(dotted(16)) = 1", "# \(dotted(99))\na = 1", "a = '\(dotted(99))'",
        "a = \"\\\"\(dotted(99))\"", "a = '''\n\(dotted(99))''\n\(dotted(99))'''''",
        "a = \"\"\"\n\(dotted(99))\\\"\"\"\(dotted(99))\"\"\"",
        (0..<99).map { "a\($0).b = 1.5" }.joined(separator: "\n"),
        "a = [\((0..<99).map { "\($0).5" }.joined(separator: ", "))]",
    ])
    func countsOnlyTheDotsOfKeys(text: String) throws {
        #expect(try read(text).errors.allSatisfy { $0.message.hasPrefix("unknown table") })
    }

    /// toml++ 3.3 tests whether these are blanks, and assumes that they are.
    @Test(arguments: ["é", "あ", "\u{fe7f}", "\u{2003}x", "\u{1681}"])
    func refusesLettersOutsideOfStrings(letter: String) {
        #expect(saying(of: "a = \(letter)").hasPrefix("timerd.toml:1:"))
        #expect(saying(of: "\(letter) = 1").hasPrefix("timerd.toml:1:"))
        #expect(saying(of: "[a]\(letter)").hasPrefix("timerd.toml:1:"))
    }

    @Test(.timeLimit(.minutes(1)))
    func takesTimeInProportion_toTheErrorsItFinds() throws {
        let lines = (0..<60_000).map { "[job.j\($0)]\nq = 1\n" }.joined()
        let reading = try read(lines)
        #expect(reading.errorCount == 60_000 && reading.rejected.count == 60_000)
    }

    @Test(.timeLimit(.minutes(1)))
    func takesTimeInProportion_toTheErrorsInOneLine() throws {
        let jobs = (0..<20_000).map { "j\($0) = {q = 1}" }.joined(separator: ", ")
        #expect(try read("job = {\(jobs)}").errorCount == 20_000)
    }

    @Test func neverRepeatsWhatWouldSteerTheTerminal() throws {
        let reading = try read(
            """
            [job."\\u001b[2J"]
            [job.a]
            "\\u202E\\u0007\\n\\U000E0001" = "\u{202e}"
            """)
        let text = reading.errors.map(\.description).joined(separator: "\n")
        #expect(text.contains(#"unknown key "\u202E\u0007\n\U000E0001""#))
        #expect(reading.errors.count == 2)
        let isSafe = text.unicodeScalars.allSatisfy {
            $0 == "\n"
                || ($0.properties.generalCategory != .control
                    && $0.properties.generalCategory != .format)
        }
        #expect(isSafe, "\(text)")
        let error = ConfigError(file: "/etc/\u{1b}c\n", message: "is not a regular file")
        #expect(error.description == #"/etc/\u001Bc\n: is not a regular file"#)
    }

    /// The place inside a string is reported only if it is certain; the place of the key always is.
    @Test(arguments: [
        (#""1h xx""#, "2:13"), (#"'1h xx'"#, "2:13"), (#""\u0031h xx""#, "2:9"),
        ("\"\"\"\n1h xx\"\"\"", "2:9"), ("'''1h xx'''", "2:9"), (#""1h\txx""#, "2:9"),
        (#""1h é""#, "2:13"),
    ])
    func marksAPlaceInsideAString(value: String, place: String) {
        let text = "[job.a]\nevery = \(value)\nshell = \"x\"\n"
        #expect(saying(of: text).hasPrefix("timerd.toml:\(place): job \"a\": every: time span \""))
    }

    @Test func aJobWithoutItsDefaultsIsLeftOut() throws {
        let job = "[job.a]\nshell = \"true\"\nevery = \"1h\"\n"
        for (fault, said) in [
            ("paused = \"yes\"", "2:10: [defaults]: paused: must be true or false, not a string"),
            ("pausd = true", "2:1: [defaults]: unknown key \"pausd\" (did you mean \"paused\"?)"),
        ] {
            let reading = try read("[defaults]\n\(fault)\n\(job)[job.b]\nq = 1\n")
            #expect(reading.jobSet.jobs.isEmpty && reading.rejected == ["a", "b"])
            #expect(
                reading.errors.map(firstLine) == [
                    "timerd.toml:\(said); jobs that would get it are not loaded until it is right",
                    "timerd.toml:7:1: job \"b\": unknown key \"q\"",
                ])
        }
    }
}
