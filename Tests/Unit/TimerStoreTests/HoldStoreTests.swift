// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// The hold of the machine in the saved state.
@Suite struct HoldStoreTests {
    private let folder = "/tmp/timerd-hold-\(UUID().uuidString)"
    private var path: String { "\(folder)/\(Store.fileName)" }

    init() { mkdir(folder, 0o700) }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func hold(note: String?, until: Int64?, withRun: Bool) -> MachineHold {
        MachineHold(
            since: Now(
                wall: WallInstant(secondsSinceEpoch: 1_795_000_000),
                awake: AwakeInstant(nanoseconds: 12), boot: BootInstant(nanoseconds: 13),
                bootID: BootID("0123456789abcdef0123456789abcdef")!),
            instance: 3, by: .user("ann"), note: note,
            until: until.map { WallInstant(secondsSinceEpoch: $0) }, withRun: withRun)
    }

    @Test func itIsReadAsItWasWritten_untilItEnds() throws {
        defer { clean() }
        for hold in [
            hold(note: nil, until: nil, withRun: false),
            hold(note: "disk \u{202e}\n swap", until: 1_795_000_100, withRun: true),
        ] {
            try Store(path: path).commit([.hold(.set(hold))], durable: true)
            #expect(try Store(path: path).recover().hold == hold)
        }
        try Store(path: path).commit([.hold(.ended)], durable: true)
        #expect(try Store(path: path).recover().hold == nil)
    }

    /// Nothing must start that a user has stopped.
    @Test(arguments: ["boot_id = 'x'", "since_us = -9223372036854775807", "held_by = ''"])
    func aDamagedHoldGoesOn(damage: String) throws {
        defer { clean() }
        let store = try Store(path: path)
        let hold = hold(note: "disk", until: nil, withRun: false)
        try store.commit([.hold(.set(hold))], durable: true)
        try store.connection.execute("UPDATE hold SET \(damage)", doing: "damage it")
        #expect(try Store(path: path).recover().hold?.note == "disk")
    }
}
