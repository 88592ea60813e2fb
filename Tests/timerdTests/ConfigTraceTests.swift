// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerConfig
import TimerCore
import TimerRunner

@testable import timerd_runner

/// What the runner finds out of the files without reading them.
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
        // What is in no file may be in one soon.
        #expect(!trace.hasChanged() && affected(trace) == "d")

        try write("a", to: "jobs.d/1.toml")
        // What was seen counts for a moment.
        while !trace.hasChanged() { usleep(1000) }
        #expect(affected(trace) == "a b d")
        // The reading that began since does not count before it is taken.
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
        // One that is changed while it is read is seen by the next look.
        try write("a", "b", to: "jobs.d/1.toml")
        _ = trace.take()
        while !trace.hasChanged() { usleep(1000) }
        #expect(affected(trace) == "a b c")
    }
}
