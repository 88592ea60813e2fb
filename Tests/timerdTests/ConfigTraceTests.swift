// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
    private let folder = "/tmp/timerd-trace-\(UUID().uuidString)"
    private var main: String { "\(folder)/timerd.toml" }

    private func write(_ jobs: String..., to file: String) throws {
        let text = jobs.map { "[job.\($0)]\nshell = \"true\"\nevery = \"1s\"\n" }.joined()
        try text.write(toFile: "\(folder)/\(file)", atomically: true, encoding: .utf8)
        chmod("\(folder)/\(file)", 0o644)
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

    @Test func theJobsOfFilesThatAreOthersAreAffected() throws {
        mkdir(folder, 0o755)
        mkdir("\(folder)/jobs.d", 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try write("main", to: "timerd.toml")
        try write("a", "b", to: "jobs.d/1.toml")
        try write("c", to: "jobs.d/2.toml")
        let trace = ConfigTrace(main)
        #expect(affected(trace) == "main a b c d")
        try read(trace)
        let rules = trace.take()
        #expect(rules.activeMax == 64 && rules.allowedUsers == nil)
        // A job that is in no file may be in one soon.
        #expect(!trace.hasChanged() && affected(trace) == "d")

        try write("a", to: "jobs.d/1.toml")
        // The result of a check is used for a moment.
        while !trace.hasChanged() { usleep(1000) }
        #expect(affected(trace) == "a b d")
        // A reading that began since does not count before its result is used.
        try read(trace)
        #expect(!trace.hasChanged() && affected(trace) == "a b d")
        _ = trace.take()
        #expect(affected(trace) == "b d")

        unlink("\(folder)/jobs.d/2.toml")
        while !trace.hasChanged() { usleep(1000) }
        #expect(affected(trace) == "b c d")
        try write("main", "d", to: "timerd.toml")
        try read(trace)
        #expect(affected(trace) == "main b c d")
        // A change during the reading is found by the next check.
        try write("a", "b", to: "jobs.d/1.toml")
        _ = trace.take()
        while !trace.hasChanged() { usleep(1000) }
        #expect(affected(trace) == "a b c")
    }

    @Test func howLongTheFilesHaveNotChangedIsKnown() throws {
        mkdir(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try write("main", to: "timerd.toml")
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
        try write("main", "a", to: "timerd.toml")
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
        mkdir(folder, 0o755)
        mkdir("\(folder)/jobs.d", 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try write("main", to: "timerd.toml")
        try write("a", "b", to: "jobs.d/1.toml")
        try write("c", to: "jobs.d/2.toml")
        let trace = ConfigTrace(main)
        #expect(try kept(trace) == "")
        try "[!".write(toFile: "\(folder)/jobs.d/1.toml", atomically: true, encoding: .utf8)
        for _ in 0..<3 {
            #expect(try kept(trace) == "a b")
            #expect(!trace.hasChanged() && affected(trace) == "d")
        }
        // With an error in the main file, no job changes.
        try "[x]\n".write(toFile: main, atomically: true, encoding: .utf8)
        chmod(main, 0o644)
        #expect(try kept(trace) == "a b c main")
        try write("main", to: "timerd.toml")
        try write("b", to: "jobs.d/1.toml")
        #expect(try kept(trace) == "")
        #expect(affected(trace) == "a d")
    }

    /// The allowed users must not depend on an error in their file.
    @Test func theRulesStayWhileTheFileThatHasThemHasAnError() throws {
        mkdir(folder, 0o755)
        mkdir("\(folder)/jobs.d", 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let rules = "[daemon]\nallowed-users = [\"root\"]\nmax-concurrent = 7\n"
        let settings = "\(folder)/jobs.d/settings.toml"
        try write(to: "timerd.toml")
        try rules.write(toFile: settings, atomically: true, encoding: .utf8)
        chmod(settings, 0o644)
        let trace = ConfigTrace(main)
        for text in [rules, "[!", rules + "[x]\n", "[!"] {
            try text.write(toFile: settings, atomically: true, encoding: .utf8)
            chmod(settings, 0o644)
            trace.note()
            trace.note(try ConfigReader.load(path: main, ownerUID: geteuid()))
            let found = trace.take()
            #expect(found.activeMax == 7 && found.allowedUsers?.users == ["root"], "\(text)")
        }
        unlink(settings)
        trace.note()
        trace.note(try ConfigReader.load(path: main, ownerUID: geteuid()))
        #expect(trace.take().allowedUsers == nil)
    }

    /// Of files that have not changed, the definitions of the last reading are kept.
    @Test func readingTheChangesHasTheResultOfReadingEverything() throws {
        mkdir(folder, 0o755)
        mkdir("\(folder)/jobs.d", 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var random = SeededRandom()
        let trace = ConfigTrace(main)
        var definitions = JobDefinitions()
        var partial = 0
        for _ in 0..<300 {
            for _ in 0...random.int(below: 2) {
                let file = ["timerd", "jobs.d/1", "jobs.d/2", "jobs.d/3"][random.int(below: 4)]
                if random.int(below: 6) == 0, file != "timerd" {
                    unlink("\(folder)/\(file).toml")
                    continue
                }
                let text =
                    ["a", "b", "c", "d"].filter { _ in random.int(below: 3) == 0 }.map {
                        "[job.\($0)]\nshell = \"exit \(random.int(below: 3))\"\nevery = \"1s\"\n"
                    }.joined() + (random.int(below: 10) == 0 ? "[x]\n" : "")
                try text.write(toFile: "\(folder)/\(file).toml", atomically: true, encoding: .utf8)
                chmod("\(folder)/\(file).toml", 0o644)
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
                try? "# x".write(
                    toFile: "\(folder)/jobs.d/2.toml", atomically: true, encoding: .utf8)
                while !trace.hasChanged() { usleep(1000) }
            }
            if trace.kept.isEmpty { #expect(affected(trace) == affected(other)) }
        }
        #expect(partial > 20)
    }
}
