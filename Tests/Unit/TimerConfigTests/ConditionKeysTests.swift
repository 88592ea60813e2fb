// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The table `condition` of a job.
@Suite struct ConditionKeysTests {
    private static func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "f")
    }

    private static let job = "[job.j]\nevery = \"1h\"\nshell = \"x\"\n"

    private func condition(_ lines: String, defaults: String = "") throws -> Condition? {
        let reading = try Self.read(defaults + Self.job + lines)
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        return try #require(reading.jobSet.jobs.first).execution.condition
    }

    @Test func aJobWithoutTheTableHasNone() throws { #expect(try condition("") == nil) }

    @Test func eachKeyIsRead() throws {
        let found = try #require(
            try condition(
                """
                [job.j.condition]
                path-exists = ["/srv/data", "!/run/maintenance"]
                mounted = ["/mnt/backup", "!/mnt/other"]
                ac-power = true
                network-online = true
                load-below = 4
                command = ["/usr/local/bin/may-run", "-q"]
                otherwise = "wait"
                wait-max = "2h"
                """))
        var wanted = Condition()
        wanted.pathExists = [.init("/srv/data"), .init("/run/maintenance", isNegated: true)]
        wanted.mounted = [.init("/mnt/backup"), .init("/mnt/other", isNegated: true)]
        wanted.acPower = true
        wanted.networkOnline = true
        wanted.loadBelow = 4
        wanted.command = ["/usr/local/bin/may-run", "-q"]
        wanted.otherwise = .wait
        wanted.waitMax = .seconds(7200)
        #expect(found == wanted)
        #expect(
            found.words == [
                "mounted /mnt/backup", "mounted !/mnt/other", "path-exists /srv/data",
                "path-exists !/run/maintenance", "ac-power", "network-online", "load-below 4.0",
                "command /usr/local/bin/may-run -q",
            ])
    }

    @Test func whatIsNotWrittenHasItsDefault() throws {
        let found = try #require(try condition("condition = { ac-power = false }\n"))
        #expect(found.acPower == false && found.words == ["ac-power false"])
        #expect(found.otherwise == .skip && found.waitMax == .seconds(3600))
    }

    /// Each key of the job goes before that of `[defaults]`, and can take it back.
    @Test func theKeysOfTheDefaultsApply() throws {
        let defaults = """
            [defaults.condition]
            network-online = true
            mounted = ["/mnt"]
            otherwise = "wait"
            wait-max = "10min"

            """
        let whole = try #require(try condition("", defaults: defaults))
        #expect(whole.words == ["mounted /mnt", "network-online"])
        #expect(whole.otherwise == .wait && whole.waitMax == .seconds(600))
        let other = try #require(
            try condition("condition = { mounted = [\"/srv\"] }\n", defaults: defaults))
        #expect(other.words == ["mounted /srv", "network-online"])
        let none = "condition = { mounted = [], network-online = false }\n"
        #expect(try condition(none, defaults: defaults) == nil)
        // A job of a fleet does not get it.
        let fleet = try Self.read(
            "[fleet]\nname = \"f\"\netcd = [\"https://10.0.0.1:2379\"]\n" + defaults + Self.job
                + "fleet = \"one\"\n")
        #expect(fleet.errors.isEmpty && fleet.jobSet.jobs.map(\.execution.condition) == [nil])
    }

    @Test(arguments: [
        (
            "condition = {}",
            "5:13: job \"j\": condition: asks nothing; add path-exists, mounted, ac-power, network-online, load-below or command"
        ),
        (
            "condition = { otherwise = \"wait\" }",
            "5:1: job \"j\": condition: asks nothing; add path-exists, mounted, ac-power, network-online, load-below or command"
        ),
        (
            "condition = true",
            "5:13: job \"j\": condition: must be a table such as { mounted = [\"/mnt\"] }, not a boolean"
        ),
        (
            "condition = { mountd = [\"/mnt\"] }",
            "5:15: job \"j\": condition: unknown key \"mountd\" (did you mean \"mounted\"?)"
        ),
        (
            "condition = { cpu-pressure-below = 1 }",
            "5:15: job \"j\": condition: unknown key \"cpu-pressure-below\" (it has path-exists, mounted, ac-power, network-online, load-below, command, otherwise, wait-max)"
        ),
        (
            "condition = { mounted = [\"mnt\"] }",
            "5:26: job \"j\": condition: mounted: \"mnt\" must be an absolute path, beginning with /, or with !/ if it must not be there"
        ),
        (
            "condition = { path-exists = [\"!mnt\"] }",
            "5:30: job \"j\": condition: path-exists: \"!mnt\" must be an absolute path, beginning with /, or with !/ if it must not be there"
        ),
        (
            "condition = { path-exists = \"/mnt\" }",
            "5:29: job \"j\": condition: path-exists: must be an array of paths such as [\"/mnt\"], not a string"
        ),
        (
            "condition = { ac-power = \"yes\" }",
            "5:26: job \"j\": condition: ac-power: must be true or false, not a string"
        ),
        (
            "condition = { load-below = 0 }",
            "5:28: job \"j\": condition: load-below: 0.0 is out of range; from 0.01 to 100000.0"
        ),
        (
            "condition = { command = [] }",
            "5:25: job \"j\": condition: command: the program is missing"
        ),
        (
            "condition = { ac-power = true, otherwise = \"fail\" }",
            "5:44: job \"j\": condition: otherwise: unknown value \"fail\"; one of \"skip\", \"wait\""
        ),
        (
            "condition = { ac-power = true, otherwise = \"wait\", wait-max = \"-1h\" }",
            "5:64: job \"j\": condition: wait-max: time span \"-1h\": a time span cannot be negative"
        ),
        (
            "condition = { ac-power = true, otherwise = \"wait\", wait-max = \"0s\" }",
            "5:63: job \"j\": condition: wait-max: is shorter than 1 s, so that nothing is asked again"
        ),
        (
            "condition = { ac-power = true, wait-max = \"1h\" }",
            "5:32: job \"j\": condition: wait-max can only be used with otherwise = \"wait\""
        ),
    ])
    func aJobIsRefused(line: String, error: String) throws {
        let reading = try Self.read(Self.job + "#\n" + line + "\n")
        #expect(reading.errors.map(\.description) == ["f:" + error])
        #expect(reading.jobSet.jobs.isEmpty)
    }

    @Test func eachErrorOfATableIsReported() throws {
        let reading = try Self.read(
            Self.job + "condition = { mounted = [\"a\", \"b\"], ac-power = 1 }\n")
        #expect(reading.errors.count == 3)
    }

    @Test func aJobOfAFleetHasNone() throws {
        let reading = try Self.read(
            "[fleet]\nname = \"f\"\netcd = [\"https://10.0.0.1:2379\"]\n" + Self.job
                + "fleet = \"one\"\ncondition = { ac-power = true }\n")
        #expect(
            reading.errors.map(\.description) == [
                "f:8:1: job \"j\": condition does not go with fleet = \"one\": a fleet decides where a run starts before that machine could be asked"
            ])
    }

    @Test func onlyWhatTheRunnerAsksChangesItsDefinition() throws {
        func hash(_ lines: String) throws -> [String] {
            var writer = Recorder()
            let reading = try Self.read(Self.job + lines)
            try #require(reading.jobSet.jobs.first).execution.write(to: &writer)
            return writer.written
        }
        let plain = try hash("condition = { ac-power = true }\n")
        #expect(try plain == hash("condition = { ac-power = true, otherwise = \"wait\" }\n"))
        #expect(try plain != hash("condition = { ac-power = false }\n"))
        #expect(try plain != hash(""))
    }

    private struct Recorder: FingerprintWriter {
        var written: [String] = []
        mutating func put(_ value: UInt8) { written.append("\(value)") }
        mutating func put(_ value: UInt64) { written.append("\(value)") }
        mutating func put(_ value: Int) { written.append("\(value)") }
        mutating func put(_ value: Bool) { written.append("\(value)") }
        mutating func put(_ value: String) { written.append(value) }
        mutating func put(_ value: Duration) { written.append("\(value)") }
    }
}
