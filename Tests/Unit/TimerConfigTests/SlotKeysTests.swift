// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The tables `[slot.NAME]`, and the keys of a job about them.
@Suite struct SlotKeysTests {
    private static func read(_ text: String, checks: ConfigChecks? = nil) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "f", checks: checks)
    }

    private static let job = "[job.j]\nevery = \"1h\"\nshell = \"x\"\n"

    @Test func slotsAndTheirUsesAreRead() throws {
        let reading = try Self.read(
            "[slot.disk]\nmax = 3\n[slot.net]\nmax = 10000\n" + Self.job
                + "slots = [\"net\", { name = \"disk\", weight = 2 }]\non-busy-slot = \"skip\"\n")
        #expect(reading.errors.isEmpty)
        let (disk, net) = (try #require(RunSlot.Name("disk")), try #require(RunSlot.Name("net")))
        #expect(
            reading.jobSet.slots
                == [RunSlot(name: disk, max: 3), RunSlot(name: net, max: 10_000)])
        let policy = try #require(reading.jobSet.jobs.first?.policy)
        #expect(policy.slots == [RunSlot.Use(net), RunSlot.Use(disk, weight: 2)])
        #expect(policy.onBusySlot == .skip)
        #expect(reading.settingsFiles == ["f"])
    }

    @Test(arguments: [
        (
            "slots = [\"dsik\"]",
            "5:9: job \"j\": slots: there is no table [slot.dsik] (did you mean \"disk\"?)"
        ),
        (
            "slots = [{ name = \"disk\", weight = 3 }]",
            "5:9: job \"j\": slots: takes 3 of the slot \"disk\", which has max = 2; lower the weight, or raise max"
        ),
        (
            "slots = [\"disk\", \"disk\"]",
            "5:18: job \"j\": slots: names the slot \"disk\" twice; use weight to take more"
        ),
        (
            "slots = \"disk\"",
            "5:9: job \"j\": slots: must be an array of names such as [\"disk\"], not a string"
        ),
        (
            "slots = [{ name = \"disk\", weight = 0 }]",
            "5:36: job \"j\": slots: 0 is out of range; from 1 to 10000"
        ),
        (
            "slots = [{ weight = 1 }]",
            "5:10: job \"j\": slots: the name of the slot is missing"
        ),
        (
            "slots = [{ name = \"disk\", wieght = 1 }]",
            "5:27: job \"j\": slots: unknown key \"wieght\"; a slot has name and weight"
        ),
        (
            "on-busy-slot = \"skip\"",
            "5:1: job \"j\": on-busy-slot can only be used with slots"
        ),
    ])
    func aJobIsRefused(line: String, error: String) throws {
        let reading = try Self.read(Self.job + "#\n" + line + "\n[slot.disk]\nmax = 2\n")
        #expect(reading.errors.map(\.description) == ["f:" + error])
        #expect(reading.jobSet.jobs.isEmpty)
    }

    @Test(arguments: [
        ("", "1:7: slot \"disk\": max is missing, such as max = 1"),
        ("max = 0", "2:7: slot \"disk\": max: 0 is out of range; from 1 to 10000"),
        ("max = \"1\"", "2:7: slot \"disk\": max: must be a whole number, not a string"),
        (
            "max = 1\nfleet = true",
            "3:1: slot \"disk\": fleet: a slot is of one machine; fleets have no slots yet"
        ),
    ])
    func aSlotIsRefused(lines: String, error: String) throws {
        let reading = try Self.read("[slot.disk]\n\(lines)\n")
        #expect(reading.errors.map(\.description) == ["f:" + error])
        #expect(reading.faults.isWhole)
    }

    /// The error of the slot is enough: the job's use of it is right.
    @Test func aJobThatNamesASlotWithAnErrorHasNone() throws {
        let reading = try Self.read("[slot.disk]\n" + Self.job + "slots = [\"disk\"]\n")
        #expect(reading.errors.count == 1)
    }

    @Test func aSlotThatNoJobNamesIsAWarning() throws {
        let checks = ConfigChecks(at: WallInstant(secondsSinceEpoch: 0))
        let text = "[slot.disk]\nmax = 1\n[slot.net]\nmax = 1\n" + Self.job
        let warnings = try Self.read(text + "slots = [\"net\"]\n", checks: checks).warnings
        #expect(
            warnings.map(\.description)
                == ["f:1:7: warning: slot \"disk\": no job names it in slots [unused-slot]"])
    }
}
