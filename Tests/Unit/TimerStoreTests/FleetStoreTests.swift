// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// What a machine remembers of its fleet.
@Suite struct FleetStoreTests {
    private let folder = "/tmp/timerd-fleet-\(UUID().uuidString)"
    private let store: Store

    init() throws {
        mkdir(folder, 0o700)
        store = try Store(path: "\(folder)/\(Store.fileName)")
        _ = try store.recover()
        try store.commit([.beginInstance(Self.now)], durable: false)
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private static let now = Now(
        wall: at(0), awake: AwakeInstant(nanoseconds: 1), boot: BootInstant(nanoseconds: 1),
        bootID: BootID("0123456789abcdef0123456789abcdef")!)

    private static func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private func run(_ second: Int64, _ job: String = "a") -> Run {
        let job = Job(name: Job.Name(job)!, command: .shell("x"), schedule: .every(.seconds(9)))
        let claim = Firing.Cause.Claim(cause: .schedule, fence: 7, before: nil)
        return Run(
            firing: Firing(
                id: Firing.ID(job: job.name, scheduled: Self.at(second)), missed: 0, active: .zero,
                cause: .claimed(claim)), job: job)
    }

    @Test func whatIsKnownOfTheSharedStoreIsReadAsItWasWritten() throws {
        defer { clean() }
        #expect(try store.knownFleet() == nil)
        var known = Store.KnownFleet(
            cluster: "c1", identity: "{\"x\": \"é\"}", revision: 12,
            values: ["a": .init("1", modified: 3), "b": .init("é", modified: 12)])
        try store.commit([.fleet(.remember(known))], durable: false)
        #expect(try store.knownFleet() == known)
        try store.commit(
            [
                .fleet(
                    .values(
                        ["b": .init("2", modified: 19), "c": .init("", modified: 20)], revision: 20)
                )
            ], durable: true)
        known.revision = 20
        known.values["b"] = .init("2", modified: 19)
        known.values["c"] = .init("", modified: 20)
        #expect(try store.knownFleet() == known)
        // A revision never becomes smaller, until another store is remembered.
        try store.commit([.fleet(.values([:], revision: 3))], durable: false)
        #expect(try store.knownFleet()?.revision == 20)
        let other = Store.KnownFleet(cluster: "c2", identity: nil, revision: 1)
        try store.commit([.fleet(.remember(other))], durable: false)
        #expect(try store.knownFleet() == other)
    }

    @Test func claimedRunsHaveTheirValueAndWhatBecameOfThem() throws {
        defer { clean() }
        let runs = [run(1), run(2), run(3), run(4, "b")]
        try store.commit(
            runs.map { .fleet(.record($0.id, value: "one")) }
                + [.fleet(.record(runs[1].id, value: "two"))], durable: false)
        try store.commit(
            [
                .begin(runs[1], released: true, at: Self.at(2)),
                .begin(runs[2], released: true, at: Self.at(3)),
            ], durable: false)
        try store.commit(
            [
                .close(
                    runs[2].id, .lost(.unstarted), RunUsage(), failed: true, began: nil,
                    at: Self.at(9))
            ], durable: false)
        let found = try store.claimedRuns()
        #expect(
            found.map(\.run) == runs.map(\.id)
                && found.map(\.value) == ["one", "two", "one", "one"])
        #expect(found.map(\.isRecorded) == [false, true, true, false])
        #expect(found.map { $0.end?.outcome } == [nil, nil, .lost(.unstarted), nil])
        #expect(found[2].end?.at == Self.at(9) && found[2].end?.began == nil)
        try store.commit(
            [.fleet(.forget(runs[0].id)), .fleet(.forget(runs[0].id))], durable: false)
        #expect(try store.claimedRuns().map(\.run) == runs.dropFirst().map(\.id))
        // What is known of the fleet survives the end of the daemon, and a run keeps its fence.
        let next = try Store(path: "\(folder)/\(Store.fileName)")
        let open = try next.recover().openRuns
        #expect(open.map(\.id) == [runs[1].id] && open[0].firing.cause.claim?.fence == 7)
        #expect(try next.claimedRuns().count == 3)
    }
}
