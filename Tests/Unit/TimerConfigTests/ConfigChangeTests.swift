// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import SeededRandom
import Testing
import TimerCore
import TimerZones

@testable import TimerConfig

/// A reload parses only the files that have changed, and finds what reading all of them would find.
@Suite struct ConfigChangeTests {
    private let folder = ConfigFolder()

    init() { folder.makeOneOffs() }

    private func job(_ name: String, _ more: String = "") -> String {
        "[job.\(name)]\nshell = \"true\"\nevery = \"1h\"\n\(more)\n"
    }

    private func path(_ name: String) -> String { folder.path(of: name) }

    /// Replaces the files of the configuration.
    private func write(_ files: [String: String]) throws { try folder.replace(with: files) }

    /// A machine that lacks the programs with these names.
    private struct OtherMachine: MachineQueries {
        var missing: Set<String> = []

        func findings(for question: MachineCheck.Question) -> [MachineCheck.Finding] {
            question.programs.contains { missing.contains($0.name) }
                ? [MachineCheck.Finding(code: .missingProgram, key: "command", message: "gone")]
                : []
        }

        func isMember(_ name: String, of groups: [String]) -> Bool? { nil }
    }

    private var checks = ConfigChecks(
        at: WallInstant(microsecondsSinceEpoch: 1_790_000_000_000_000), asking: OtherMachine())

    private func load() throws -> ConfigReading {
        try ConfigReader.load(path: folder.main, ownerUID: geteuid(), checks: checks)
    }

    /// Reads the changes since an earlier reading that was used.
    private func load(since before: ConfigReading) throws -> ConfigReading {
        let origins = ConfigOrigins(of: before)
        let contents = try #require(before.contents)
        return try ConfigReader.load(
            changesSince: contents, jobs: { origins.jobs(of: $0) },
            path: folder.main, ownerUID: geteuid(), checks: checks)
    }

    /// The names of the files that are not parsed after a change of files without an error.
    private func unchanged(
        from old: [String: String], to new: [String: String]
    ) throws -> String {
        try write(old)
        let before = try load()
        #expect(before.errors.map(\.description) == [])
        try write(new)
        return try load(since: before).unchanged
            .map { String($0.dropFirst(folder.path.utf8.count + 1).dropLast(5)) }
            .map { $0.hasPrefix("jobs.d/") ? String($0.dropFirst(7)) : $0 }.sorted()
            .joined(separator: " ")
    }

    @Test func onlyTheFilesThatHaveChangedAreParsed() throws {
        let files = ["main": job("m"), "1": job("a"), "2": job("b"), "3": job("c")]
        func unchanged(_ changes: [String: String?]) throws -> String {
            var new = files
            for (name, text) in changes { new[name] = text }
            return try self.unchanged(from: files, to: new)
        }
        #expect(try unchanged([:]) == "1 2 3")
        #expect(try unchanged(["2": job("b") + "\n"]) == "1 3")
        #expect(try unchanged(["main": job("m") + job("n")]) == "1 2 3")
        #expect(try unchanged(["1": nil, "4": job("d")]) == "2 3")
        #expect(try unchanged(["1": job("a"), "2": job("b"), "3": job("d")]) == "1 2")
        // A job that moves between changed files concerns no other file.
        #expect(try unchanged(["1": job("b"), "2": job("a")]) == "3")
    }

    @Test func whatConcernsOtherFilesHasAllOfThemParsed() throws {
        let files = ["main": job("m"), "1": job("a"), "2": job("b")]
        for (change, name) in [
            ("[x]\n", "1"), ("[!", "1"), ("\u{0}", "1"),
            (job("b"), "1"), (job("b"), "main"),
            (job("a", "renamed-from = \"b\""), "1"),
            ("[daemon]\nmax-concurrent = 2\n", "main"),
            ("[defaults]\nnice = 3\n" + job("m"), "main"),
            ("[daemon]\nallowed-users = [\"root\"]\n", "main"),
            ("[daemon]\njobs-max = 2\n" + job("m"), "main"),
            ("[notify.n]\njob = \"a\"\n", "main"),
            (job("c"), "one-off.d/c"),
        ] {
            #expect(try unchanged(from: files, to: files.merging([name: change]) { $1 }) == "")
        }
        // The settings are the same, and the limit of jobs counts those that are not parsed.
        let few = files.merging(["main": "[daemon]\njobs-max = 3\n" + job("m")]) { $1 }
        #expect(try unchanged(from: few, to: few.merging(["1": job("a") + "# x"]) { $1 }) == "2")
        #expect(try unchanged(from: few, to: few.merging(["1": job("a") + job("c")]) { $1 }) == "")
    }

    /// What these files say may change without them, or must be said again.
    @Test func someFilesAreParsedEachTime() throws {
        let files = ["main": job("m"), "2": job("b")]
        for text in [
            job("a", "renamed-from = \"x\""),
            "[daemon]\nhistory = \"7d\"\n" + job("a"),
            "[notify.n]\nmail = \"root\"\n" + job("a"),
            "[job.a]\nshell = \"true\"\nat = \"2020-01-01T00:00:00Z\"\n",
            "[job.a]\nshell = \"true\"\ncron = \"0 0 1 * 1\"\n",
            "[job.a]\nshell = \"true\"\ncalendar = \"daily UTC\"\ntimezone = \"Asia/Tokyo\"\n",
            "[job.a]\nshell = \"true\"\ncron = \"0 0 * * 1-7/2\"\nenvironment = { PATH = \"x\" }\n",
        ] {
            let files = files.merging(["1": text]) { $1 }
            #expect(try unchanged(from: files, to: files) == "2", "\(text)")
        }
        let tomorrow = "[job.c]\nshell = \"true\"\nat = \"2029-01-01T00:00:00Z\"\n"
        let oneOff = files.merging(["one-off.d/c": tomorrow]) { $1 }
        #expect(try unchanged(from: oneOff, to: oneOff) == "2")
    }

    /// Linux takes them for two files, although the texts are equal.
    @Test func filesWhoseNamesDifferOnlyInTheirBytesAreParsedEachTime() throws {
        try write(["main": job("m"), "1": job("a")])
        let before = try load()
        let names = [[0xc3, 0xa9], [0x65, 0xcc, 0x81]].map { String(decoding: $0, as: UTF8.self) }
        for (name, text) in zip(names, [job("b"), job("c")]) {
            let path = path(name)
            let file = open(path, O_WRONLY | O_CREAT, 0o644)
            _ = Glibc.write(file, text, text.utf8.count)
            close(file)
        }
        #expect(try load().jobSet.jobs.count == 4)
        #expect(try load(since: before).unchanged.isEmpty)
        #expect(try load().contents == nil)
    }

    /// A job of the fleet that each machine runs for itself has the machine's name beside its own.
    @Test func aJobOfTheFleetIsFoundByTheNameInItsFile() throws {
        let fleet = "[fleet]\nname = \"p\"\netcd = [\"http://127.0.0.1:2379\"]\nmachine = \"m\"\n"
        let each = job("a", "fleet = \"each\"")
        let files = ["main": fleet, "1": job("a"), "2": job("b")]
        #expect(try unchanged(from: files, to: files.merging(["2": each]) { $1 }) == "")
        #expect(
            try unchanged(
                from: files, to: files.merging(["2": job("c", "fleet = \"each\"")]) { $1 }) == "1")
    }

    @Test func aReadingWithErrorsOrWithAllowedGroupsIsNoBasis() throws {
        for text in ["[x]\n", "[daemon]\nallowed-users = [\"@root\"]\n"] {
            try write(["main": text, "1": job("a", "user = \"root\"")])
            #expect(try load().contents == nil)
            #expect(try load().errors.isEmpty == (text != "[x]\n"))
        }
    }

    @Test func aJobDoesNotHoldIfTheMachineOrItsZoneOrTheTimeIsAnother() throws {
        try write([
            "main": job("m"),
            "1": "[job.a]\ncommand = [\"/bin/x\"]\nat = \"2029-01-01T00:00:00Z\"\n",
            "2": "[job.b]\nshell = \"true\"\ncalendar = \"daily\"\ntimezone = \"Europe/Berlin\"\n",
            "3": "[job.c]\nshell = \"true\"\ncalendar = \"daily\"\n",
        ])
        let jobs = try load().jobSet.jobs
        func hold(
            _ change: (inout ConfigChecks) -> Void = { _ in }, _ zones: ZoneFiles = ZoneFiles()
        )
            -> String
        {
            var checks = checks
            change(&checks)
            return jobs.filter {
                ConfigReader.holds([$0], checks: checks, zones: zones, eachJob: {})
            }.map(\.name.description).joined(separator: " ")
        }
        #expect(hold() == "m a b c")
        #expect(hold { $0.machine = OtherMachine(missing: ["/bin/x"]) } == "m b c")
        #expect(
            hold { $0.now = WallInstant(microsecondsSinceEpoch: 1_900_000_000_000_000) } == "m b c")
        #expect(hold { $0.runsAsRoot = true } == "")
        #expect(hold({ _ in }, ZoneFiles(environment: "Asia/Tokyo")) == "m a b")
        #expect(hold({ _ in }, ZoneFiles(folder: folder.path, environment: nil)) == "m a c")
    }

    // MARK: - Any change

    /// What a reading finds, apart from how it was read.
    private struct Outcome: Equatable {
        var jobSet: JobSet
        var settings: DaemonSettings
        var warnings: [String]
        var errors: [String]
        var shares: [String]

        init(_ reading: ConfigReading) {
            jobSet = reading.jobSet
            settings = reading.settings
            warnings = reading.warnings.map(\.description)
            errors = reading.errors.map(\.description)
            shares = reading.shares.map { "\($0.file) \($0.jobs)" }
        }
    }

    /// The outcome of a reload that uses the jobs of an earlier reading.
    private func outcome(_ reading: ConfigReading, over before: ConfigReading) throws -> Outcome {
        guard !reading.unchanged.isEmpty else { return Outcome(reading) }
        let change = ConfigChange(reading, over: ConfigOrigins(of: before))
        let known = Dictionary(uniqueKeysWithValues: before.jobSet.jobs.map { ($0.name, $0) })
        let jobs = try change.kept.map { try #require(known[$0]) }
        guard ConfigReader.holds(jobs, checks: checks, eachJob: {}) else {
            return try Outcome(load())
        }
        var whole = Outcome(reading)
        whole.jobSet = change.jobSet(keeping: jobs)
        whole.shares = reading.shares.map { share in
            let jobs =
                reading.unchanged.contains(share.file)
                ? change.origins.jobs(of: share.file).count : share.jobs
            return "\(share.file) \(jobs)"
        }
        return whole
    }

    private static let lines = [
        "every = \"1h\"", "every = \"2h\"", "calendar = \"daily\"", "cron = \"0 0 1 * 1\"",
        "every = \"1h\"\nconcurrency = \"allow\"", "every = \"1h\"\nconcurrency-max = 3",
        "every = \"1h\"\nrenamed-from = \"a\"", "every = \"1h\"\nuser = \"root\"",
        "every = \"1h\"\nnotify = [\"n\"]", "evry = 1", "every = \"1h\"\npaused = true",
    ]
    private static let tables = [
        "[defaults]\npaused = true\n", "[defaults]\nnotify = [\"n\"]\n",
        "[defaults]\ntimeout = \"1h\"\nconcurrency-max = 3\n", "[daemon]\nmax-concurrent = 2\n",
        "[daemon]\njobs-max = 4\n",
        "[notify.n]\nmail = \"root\"\n", "[notify.n]\njob = \"c\"\n",
        "[daemon]\nallowed-users = [\"root\"]\n", "[x]\n", "[!", "# another line\n",
    ]

    private func text(_ random: inout SeededRandom) -> String {
        var text =
            random.int(below: 5) == 0 ? Self.tables[random.int(below: Self.tables.count)] : ""
        for _ in 0..<random.int(below: 3) {
            let name = "abcdefgh".map(String.init)[random.int(below: 8)]
            let line = Self.lines[
                random.int(below: 3) == 0 ? random.int(below: Self.lines.count) : 0]
            text += "[job.\(name)]\nshell = \"true\"\n\(line)\n"
        }
        return text
    }

    @Test func anyChangeHasTheOutcomeOfReadingEverything() throws {
        var random = SeededRandom()
        var (partial, rounds) = (0, 0)
        while partial < 100, rounds < 10_000 {
            rounds += 1
            var files = ["main": random.int(below: 4) == 0 ? text(&random) : job("m")]
            for name in 1...4 { files["\(name)"] = text(&random) }
            try write(files)
            guard let before = try? load(), before.contents != nil else { continue }
            for _ in 0...random.int(below: 2) {
                let name = random.int(below: 4) == 0 ? "main" : "\(1 + random.int(below: 5))"
                files[name] = random.int(below: 8) == 0 && name != "main" ? nil : text(&random)
            }
            try write(files)
            guard let reading = try? load(since: before) else {
                #expect(throws: ConfigError.self) { try load() }
                continue
            }
            if !reading.unchanged.isEmpty { partial += 1 }
            let outcome = try outcome(reading, over: before)
            let expected = try Outcome(load())
            #expect(outcome == expected, "\(files)")
            guard outcome == expected else { return }
        }
        #expect(partial == 100)
    }
}
