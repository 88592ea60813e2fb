// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import SeededRandom
import Testing
import TimerConfig
import TimerCore

@testable import TimerRunner
@testable import timerd_runner

/// Whether the runner notices changes of the files without reading them.
@Suite struct ConfigTraceTests {
    private let folder = ConfigFolder()
    private var main: String { folder.main }

    private func write(_ jobs: String..., to file: String) throws {
        let text = jobs.map { "[job.\($0)]\nshell = \"true\"\nevery = \"1s\"\n" }.joined()
        try folder.write(text, to: file)
    }

    /// Reads the files as the runner does.
    private func read(_ trace: ConfigTrace) throws {
        trace.note()
        let reading = try ConfigReader.load(path: main, ownerUID: geteuid())
        #expect(reading.errors.map(\.description) == [])
        trace.note(reading)
    }

    private func affected(_ trace: ConfigTrace) -> String {
        ["main", "a", "b", "c", "d"].filter { trace.isAffected(Job.Name($0)!) }
            .joined(separator: " ")
    }

    /// The result of a check is used for a moment.
    private func waitForChange(_ trace: ConfigTrace, _ location: SourceLocation = #_sourceLocation)
    {
        let end = SuspendingClock.now + .seconds(60)
        while !trace.hasChanged() {
            guard SuspendingClock.now < end else {
                Issue.record("no change is found", sourceLocation: location)
                return
            }
            usleep(1000)
        }
    }

    @Test(arguments: [
        (Duration.zero, Duration.zero), (.microseconds(20), .milliseconds(2)),
        (.milliseconds(5), .milliseconds(500)), (.milliseconds(50), .seconds(5)),
        // The disk stood still meanwhile.
        (.seconds(10), .seconds(5)),
    ])
    func theResultOfACheckIsUsedForALimitedTime(check: Duration, use: Duration) {
        #expect(ConfigTrace.freshness(afterCheckOf: check) == use)
    }

    @Test func theJobsOfFilesThatAreOthersAreAffected() throws {
        try write("main", to: "main")
        try write("a", "b", to: "1")
        try write("c", to: "2")
        let trace = ConfigTrace(main)
        #expect(affected(trace) == "main a b c d")
        try read(trace)
        let rules = trace.take()
        #expect(rules.activeMax == 64 && rules.allowedUsers == nil)
        // A job that is in no file may be in one soon.
        #expect(!trace.hasChanged() && affected(trace) == "d")

        try write("a", to: "1")
        waitForChange(trace)
        #expect(affected(trace) == "a b d")
        // A reading that began since does not count before its result is used.
        try read(trace)
        #expect(!trace.hasChanged() && affected(trace) == "a b d")
        _ = trace.take()
        #expect(affected(trace) == "b d")

        try folder.write(nil, to: "2")
        waitForChange(trace)
        #expect(affected(trace) == "b c d")
        // Each job may have another default of the main file now.
        try write("main", "d", to: "main")
        try read(trace)
        #expect(affected(trace) == "main a b c d")
        // A change during the reading is found by the next check.
        try write("a", "b", to: "1")
        _ = trace.take()
        waitForChange(trace)
        #expect(affected(trace) == "a b c")
    }

    @Test func howLongTheFilesHaveNotChangedIsKnown() throws {
        try write("main", to: "main")
        let trace = ConfigTrace(main)
        try read(trace)
        var before = trace.unchangedFor
        // Only a reading counts, and only one that finds another file.
        for _ in 0..<3 {
            usleep(1000)
            try read(trace)
            #expect(trace.unchangedFor > before)
            before = trace.unchangedFor
        }
        let start = SuspendingClock.now
        try write("main", "a", to: "main")
        try read(trace)
        #expect(trace.unchangedFor <= SuspendingClock.now - start)
        unlink(main)
        trace.note()
        #expect(trace.unchangedFor < SuspendingClock.now - start)
    }

    @Test func theFirstReadingIsKnown_alsoIfItFails() throws {
        let trace = ConfigTrace(main)
        #expect(!trace.isRead)
        trace.note()
        #expect(trace.isRead)
    }

    // MARK: - Files with errors

    /// Reads the files, uses them, and returns the jobs that do not change.
    private func kept(_ trace: ConfigTrace) throws -> String {
        trace.note()
        trace.note(try ConfigReader.load(path: main, ownerUID: geteuid()))
        _ = trace.take()
        return trace.kept.map(\.description).sorted().joined(separator: " ")
    }

    @Test func theJobsOfAFileWithAnErrorAreKept_andAreNotAffectedOnceItWasRead() throws {
        try write("main", to: "main")
        try write("a", "b", to: "1")
        try write("c", to: "2")
        let trace = ConfigTrace(main)
        #expect(try kept(trace) == "")
        try folder.write("[!", to: "1")
        for _ in 0..<3 {
            #expect(try kept(trace) == "a b")
            #expect(!trace.hasChanged() && affected(trace) == "d")
        }
        // With an error in the main file, no job changes.
        try folder.write("[x]\n", to: "main")
        #expect(try kept(trace) == "a b c main")
        try write("main", to: "main")
        try write("b", to: "1")
        #expect(try kept(trace) == "")
        #expect(affected(trace) == "a d")
    }

    /// The allowed users must not depend on an error in their file.
    @Test func theRulesStayWhileTheFileThatHasThemHasAnError() throws {
        let rules = "[daemon]\nallowed-users = [\"root\"]\nmax-concurrent = 7\n"
        try write(to: "main")
        try folder.write(rules, to: "settings")
        let trace = ConfigTrace(main)
        for text in [rules, "[!", rules + "[x]\n", "[!"] {
            try folder.write(text, to: "settings")
            trace.note()
            trace.note(try ConfigReader.load(path: main, ownerUID: geteuid()))
            let found = trace.take()
            #expect(found.activeMax == 7 && found.allowedUsers?.users == ["root"], "\(text)")
        }
        try folder.write(nil, to: "settings")
        trace.note()
        trace.note(try ConfigReader.load(path: main, ownerUID: geteuid()))
        #expect(trace.take().allowedUsers == nil)
    }

    /// Of files that have not changed, the definitions of the last reading are kept.
    @Test func readingTheChangesHasTheResultOfReadingEverything() throws {
        var random = SeededRandom()
        let trace = ConfigTrace(main)
        var definitions = JobDefinitions()
        var partial = 0
        for _ in 0..<300 {
            for _ in 0...random.int(below: 2) {
                let file = ["main", "1", "2", "3"][random.int(below: 4)]
                if random.int(below: 6) == 0, file != "main" {
                    try folder.write(nil, to: file)
                    continue
                }
                let text =
                    ["a", "b", "c", "d"].filter { _ in random.int(below: 3) == 0 }.map {
                        "[job.\($0)]\nshell = \"exit \(random.int(below: 3))\"\nevery = \"1s\"\n"
                    }.joined() + (random.int(below: 10) == 0 ? "[x]\n" : "")
                    + (random.int(below: 3) == 0
                        ? "[defaults]\nnice = \(random.int(below: 3))\n" : "")
                try folder.write(text, to: file)
            }
            let other = ConfigTrace(main)
            let expected = try? TimerdRunner.read(main, other, changing: nil).get()
            let last = definitions.last
            guard let read = try? TimerdRunner.read(main, trace, changing: last).get() else {
                #expect(expected == nil)
                continue
            }
            #expect(read == expected)
            if last != nil, trace.kept.isEmpty { partial += 1 }
            let isUsed = definitions.apply(
                definitions.reading(read, keeping: trace.kept, isCheck: random.int(below: 4) == 0))
            #expect(isUsed)
            _ = (trace.take(), other.take())
            // A file has changed, and each trace knows which jobs are in it.
            for trace in [trace, other] {
                try folder.write("# x", to: "2")
                waitForChange(trace)
            }
            if trace.kept.isEmpty { #expect(affected(trace) == affected(other)) }
        }
        #expect(partial > 20)
    }
}
