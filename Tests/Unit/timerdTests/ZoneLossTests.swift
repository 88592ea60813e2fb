// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Glibc
import HostQueues
import Logging
import Systemd
import Testing
import TimerConfig
import TimerControl
import TimerCore
import TimerZones

@testable import TimerAPI
@testable import TimerDaemon

/// A time zone that the machine has no longer, and one that is there again.
@Suite struct ZoneLossTests {
    private let folder = ConfigFolder()
    private var zone: String { "\(folder.path)/zoneinfo/Old/Zone" }

    private func addZone() throws {
        try FileManager.default.createDirectory(
            atPath: "\(folder.path)/zoneinfo/Old", withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: "\(ZoneFiles.standardFolder)/Europe/Berlin", toPath: zone)
    }

    private func job(_ name: String, at time: String = "05:00") -> String {
        "[job.\(name)]\nshell = \"true\"\ncalendar = \"\(time)\"\ntimezone = \"Old/Zone\"\n"
    }

    private var zones: ZoneFiles { ZoneFiles(folder: "\(folder.path)/zoneinfo") }

    private func start() async throws -> (LoopFixture, Reloader) {
        let digest = ConfigReader.digest(path: folder.main, ownerUID: geteuid())
        let reading = try ConfigReader.load(
            path: folder.main, ownerUID: geteuid(), zones: zones, seed: MachineID.seed)
        let fixture = try LoopFixture(reading.jobSet.jobs)
        await fixture.waitUntilReady()
        let log = Logger(label: "reloader") { _ in SwiftLogNoOpLogHandler() }
        let reloader = Reloader(
            path: folder.main, user: geteuid(), inUse: Reloader.InUse(reading, digest: digest),
            loop: fixture.loop, apply: { _ in },
            supervision: Supervision(
                notify: Notify(address: nil), watchdogInterval: nil, log: log),
            clocks: fixture.clocks, log: log, runsJobs: true,
            zoneFolder: "\(folder.path)/zoneinfo")
        return (fixture, reloader)
    }

    private func reload(_ reloader: Reloader) async throws -> ReloadReply {
        try await withCheckedContinuation { continuation in
            reloader.reload(by: "a test") { continuation.resume(returning: $0) }
        }.get()
    }

    private func jobs(_ loop: Loop) async -> [String] {
        await withCheckedContinuation { continuation in
            loop.later { continuation.resume(returning: $0.agenda.names.map(\.description)) }
        }
    }

    /// The rules that were read before are used, and it is said.
    @Test func aFileWithALostZoneCanStillBeChanged() async throws {
        try addZone()
        try folder.write("[daemon]\nauto-reload = false\n", to: "main")
        try folder.write(job("a"), to: "x")
        let (fixture, reloader) = try await start()
        unlink(zone)
        try folder.write(job("a", at: "06:00") + job("b"), to: "x")
        let reply = try await reload(reloader)
        #expect(reply.redefined.map(\.job) == ["a"] && reply.added.map(\.job) == ["b"])
        #expect(reply.refusedFiles.isEmpty && reply.errors.isEmpty)
        #expect(
            reply.warnings.count { $0.contains("[missing-zone]") && $0.contains("Old/Zone") } == 2)
        // So it is at each reload, until the zone is there again.
        #expect(try await reload(reloader).warnings.count == 2)
        try addZone()
        #expect(try await reload(reloader).warnings.isEmpty)
        withExtendedLifetime(fixture) {}
    }

    /// After a restart there are no rules to use. The job comes back with its zone, without a reload.
    @Test func aJobThatWaitsForItsZoneIsLoadedWhenTheZoneIsThere() async throws {
        try folder.write("[daemon]\nauto-reload = false\n", to: "main")
        try folder.write(job("a"), to: "x")
        let (fixture, reloader) = try await start()
        #expect(await jobs(fixture.loop) == [])
        // Another zone was changed.
        reloader.zonesChanged([:])
        try addZone()
        reloader.zonesChanged([:])
        reloader.queue.sync {}
        while await jobs(fixture.loop) != ["a"] { await Task.yield() }
        // A change of the files waits for a request, as auto-reload says.
        #expect(await jobs(fixture.loop) == ["a"])
    }

    /// The runner computes no times.
    @Test func aLostZoneKeepsNoJobFromTheRunner() throws {
        try folder.write(job("a"), to: "main")
        let reading = try ConfigReader.load(
            changesSince: nil, jobs: { _ in [] }, path: folder.main, ownerUID: geteuid(),
            computesTimes: false)
        #expect(reading.errors.isEmpty && reading.jobSet.jobs.count == 1)
        #expect(reading.missingZones == ["Old/Zone"])
    }

    /// The log says which jobs a zone is missing for.
    @Test func theJobsOfAZoneAreFound() async throws {
        try addZone()
        try folder.write("[daemon]\nauto-reload = false\n" + job("a") + job("b"), to: "main")
        let (fixture, _) = try await start()
        let found: [String: [Job.Name]] = await withCheckedContinuation { continuation in
            fixture.loop.later {
                continuation.resume(returning: $0.jobs(inZones: ["Old/Zone", "Other/Zone"]))
            }
        }
        #expect(found["Old/Zone"]?.map(\.description) == ["a", "b"] && found.count == 1)
    }
}
