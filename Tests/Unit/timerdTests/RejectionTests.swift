// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerControl

@testable import TimerDaemon

/// The errors that a daemon reports about jobs that it could not load.
@Suite struct RejectionTests {
    private func rejections(_ text: String) throws -> [Rejection] {
        try ConfigReader.read(Array(text.utf8), file: "t.toml").rejections
    }

    @Test func eachJobHasItsOwnErrors() throws {
        let found = try rejections("[job.a]\nx = 1\ny = 1\n[job.ab]\nz = 1\n")
        #expect(found.map(\.name) == ["a", "ab"] && found.map(\.errors.count) == [2, 1])
        #expect(found[1].errors[0].hasPrefix("t.toml:5:1: job \"ab\": unknown key \"z\""))
    }

    @Test func aJobWithAWrongDefaultSaysWhereThatIs() throws {
        let good = "every = \"1h\"\nshell = \"true\"\n"
        let found = try rejections("[defaults]\nx = 1\n[job.a]\n\(good)")
        #expect(found.map(\.name) == ["a"] && found[0].errors.count == 1)
        #expect(found[0].errors[0].hasPrefix("t.toml:2:1: [defaults]: unknown key \"x\""))
    }

    /// Its errors are only counted.
    @Test func aJobWithoutAnErrorOfItsOwnSaysWhereToLook() throws {
        let found = try rejections((0...200).map { "[job.a\($0)]\nq = 1\n" }.joined())
        #expect(found.count == 201 && found[200].errors.count == 1)
        #expect(found[200].errors[0].hasSuffix("see `timerd check`"))
    }

    @Test(
        arguments: [
            ("[jobs.a]\n", "1 error; 0 jobs are loaded"),
            ("[daemon]\nx = 1\n[job.a]\nGOOD", "1 error; 1 job is loaded"),
            ("[daemon]\nx = 1\n[job.a]\nGOOD[job.b]\nGOOD", "1 error; 2 jobs are loaded"),
            ("[job.a]\nx = 1\ny = 1\n", "2 errors; 1 job is not loaded, 0 are"),
            (
                "[job.a]\nx = 1\n[job.b]\nx = 1\n[job.c]\nGOOD",
                "2 errors; 2 jobs are not loaded, 1 is"
            ),
        ])
    func theLogSaysWhatTheErrorsMean(text: String, sentence: String) throws {
        let text = text.replacing("GOOD", with: "every = \"1h\"\nshell = \"true\"\n")
        let reading = try ConfigReader.read(Array(text.utf8), file: "t.toml")
        #expect(reading.errorSummary == sentence)
    }

    /// The sentence is a line of the log and a state of the service, and a name may look like another line of them.
    @Test func theNamesOfRefusedFilesCannotBeginAnotherLine() {
        let files = ["/etc/timerd/jobs.d/a\nMAINPID=1\u{1b}[31m.toml", "b.toml"]
        #expect(
            Reloader.refusal(of: files)
                == #"2 files of jobs.d were refused: a\x0aMAINPID=1\x1b[31m.toml, b.toml; their jobs stay as they are"#
        )
        #expect(Reloader.refusal(of: []) == nil)
    }

    @Test(.timeLimit(.minutes(1)))
    func takesTimeInProportion() throws {
        let jobs = (0..<100_000).map { "[job.j\($0)]\nq = 1\n" }.joined()
        #expect(try rejections(jobs).count == 100_000)
    }
}
