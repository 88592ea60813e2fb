// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerConfig

/// A start parses the next large file while it decodes the jobs of the one before. Nothing else is
/// different from a reading with pauses, which parses one file after the other.
@Suite struct ParsingTests {
    private let folder = ConfigFolder()
    /// Makes a file a large one.
    private static let padding = String(repeating: "# Nothing is said here.\n", count: 4000)

    private func job(_ name: String, _ more: String = "") -> String {
        "[job.\(name)]\nshell = \"true\"\nevery = \"1h\"\n\(more)\n"
    }

    private func write(_ files: [String: String]) throws {
        try folder.replace(with: files.merging(["main": job("main")]) { $1 })
    }

    private func load(eachJob: (() -> Void)? = nil) throws -> ConfigReading {
        try ConfigReader.load(path: folder.main, ownerUID: geteuid(), eachJob: eachJob)
    }

    private func outcome(_ reading: ConfigReading) -> [String] {
        reading.jobSet.jobs.map { "\($0.name)" } + reading.shares.map { "\($0.file) \($0.jobs)" }
            + reading.errors.map(\.description) + reading.rejected
    }

    @Test func filesThatAreParsedAheadAreInTheirOrder_withTheirErrors() throws {
        let large = Self.padding
        try write([
            "1": job("a") + large + job("b"), "2": large + job("c") + "every = ", "3": job("d"),
            "4": large + job("e", "evry = 1") + job("f"), "5": large + job("a") + job("g"),
            "6": "[", "7": large + "\u{0}", "8": large + job("h"), "9": "",
        ])
        let reading = try load()
        #expect(reading.jobSet.jobs.map { "\($0.name)" } == ["main", "a", "b", "d", "f", "g", "h"])
        let lines = 4000
        #expect(
            reading.errors.map { "\($0.file.suffix(6)) \($0.mark?.line ?? 0)" } == [
                "2.toml \(lines + 5)", "4.toml \(lines + 4)", "5.toml \(lines + 1)", "6.toml 1",
                "7.toml \(lines + 1)",
            ])
        #expect(outcome(reading) == outcome(try load { () in }))
    }

    @Test func manyLargeFilesAreReadWhole() throws {
        let names = (0..<20).map { String(format: "job-%02d", $0) }
        try write(
            Dictionary(uniqueKeysWithValues: names.map { ($0, Self.padding + job($0)) }))
        #expect(try load().jobSet.jobs.map { "\($0.name)" } == ["main"] + names)
    }
}
