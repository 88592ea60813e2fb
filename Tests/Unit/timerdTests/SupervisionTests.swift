// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Systemd
import SystemdReceiver
import Testing
import Timekeeping

@testable import TimerDaemon

/// What the service manager is told, and when.
@Suite struct SupervisionTests {
    private let manager = SystemdReceiver()
    private let now: Now

    init() throws { now = try Clocks().now() }

    private func supervision() -> Supervision {
        Supervision(
            notify: Notify(address: manager.address), watchdogInterval: nil,
            log: Logger(label: "supervision") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func aReloadDuringTheStartDoesNotEndTheStart() {
        let supervision = supervision()
        supervision.reloading(at: now)
        supervision.reloaded("Configuration reloaded")
        #expect(manager.text() == "STATUS=Configuration reloaded")
        #expect(manager.text() == nil)
        supervision.ready("Started")
        #expect(manager.text() == "READY=1\nSTATUS=Started")
    }

    @Test func aReloadThatOutlastsTheStartEndsAsOne() {
        let supervision = supervision()
        supervision.reloading(at: now)
        supervision.ready("Started")
        supervision.reloaded("Configuration reloaded")
        #expect(manager.text() == "READY=1\nSTATUS=Started")
        #expect(manager.text() == "READY=1\nSTATUS=Configuration reloaded")
    }

    @Test func aReloadIsReported() {
        let supervision = supervision()
        supervision.ready("Started")
        _ = manager.text()
        supervision.reloading(at: now)
        supervision.reloaded("Configuration reloaded")
        let microseconds = now.awake.nanoseconds / 1000
        #expect(manager.text() == "RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
        #expect(manager.text() == "READY=1\nSTATUS=Configuration reloaded")
    }

    @Test func nothingIsReadyWhileStopping() {
        let supervision = supervision()
        supervision.stopping()
        #expect(supervision.isStopping)
        #expect(manager.text() == "STOPPING=1")
        supervision.ready("Started")
        supervision.reloading(at: now)
        supervision.reloaded("Configuration reloaded")
        #expect(manager.text() == nil)
    }
}
