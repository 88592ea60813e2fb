// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore
import TimerZones

@testable import TimerDaemon

/// Changes of zone files, in a directory of the test.
@Suite struct ZoneWatchTests {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("zones-\(UUID().uuidString)").path

    private func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Creates the directories, watches them, changes something, and returns whether that was
    /// noticed.
    private func hears(_ change: () throws -> Void) throws -> Bool {
        for name in ["zoneinfo/Europe", "etc"] {
            try FileManager.default.createDirectory(
                atPath: path(name), withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let heard = DispatchSemaphore(value: 0)
        let watch = try ZoneWatch(folder: path("zoneinfo"), local: path("etc/localtime")) {
            heard.signal()
        }
        return try withExtendedLifetime(watch) {
            try change()
            return heard.wait(timeout: .now() + 10) == .success
        }
    }

    @Test func aZoneFileThatIsReplacedIsHeardOf() throws {
        let isHeard = try hears {
            try Data("TZif".utf8).write(to: URL(fileURLWithPath: path("zoneinfo/Europe/new")))
            #expect(rename(path("zoneinfo/Europe/new"), path("zoneinfo/Europe/Berlin")) == 0)
        }
        #expect(isHeard)
    }

    @Test func anotherLinkForTheMachinesOwnZoneIsHeardOf() throws {
        let isHeard = try hears {
            #expect(symlink("../zoneinfo/Europe/Berlin", path("etc/.new")) == 0)
            #expect(rename(path("etc/.new"), path("etc/localtime")) == 0)
        }
        #expect(isHeard)
    }

    @Test func aFolderThatIsNewIsWatchedFromThenOn() throws {
        for name in ["zoneinfo", "etc"] {
            try FileManager.default.createDirectory(
                atPath: path(name), withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let heard = DispatchSemaphore(value: 0)
        let watch = try ZoneWatch(folder: path("zoneinfo"), local: path("etc/localtime")) {
            heard.signal()
        }
        try withExtendedLifetime(watch) {
            try FileManager.default.createDirectory(
                atPath: path("zoneinfo/Asia"), withIntermediateDirectories: false)
            #expect(heard.wait(timeout: .now() + 10) == .success)
            try Data("TZif".utf8).write(to: URL(fileURLWithPath: path("zoneinfo/Asia/Tokyo")))
            #expect(heard.wait(timeout: .now() + 10) == .success)
        }
    }

    @Test func readsTheZonesThereAre_andSaysWhichItCannot() {
        let reading = ZoneReading(of: ["Europe/Berlin", "Nowhere/AtAll"])
        #expect(reading.named["Europe/Berlin"] != nil && reading.named.count == 1)
        #expect(reading.failures.count == 1 && reading.failures[0].zone == "Nowhere/AtAll")
        let sentence = reading.failures[0].sentence([Job.Name("a")!, Job.Name("b")!])
        #expect(sentence.contains("\"Nowhere/AtAll\" is not a time zone of this machine"))
        #expect(sentence.contains("2 jobs (a, b) keep the rules that were read before until"))
        #expect(reading.local?.isLocal == true)
    }
}
