// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Logging
import Systemd
import Testing
import Timekeeping

@testable import timerd

/// What the service manager is told, and when.
@Suite struct SupervisionTests {
    private let manager = Manager()
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
        #expect(manager.next() == "STATUS=Configuration reloaded")
        #expect(manager.next() == nil)
        supervision.ready("Started")
        #expect(manager.next() == "READY=1\nSTATUS=Started")
    }

    @Test func aReloadThatOutlastsTheStartEndsAsOne() {
        let supervision = supervision()
        supervision.reloading(at: now)
        supervision.ready("Started")
        supervision.reloaded("Configuration reloaded")
        #expect(manager.next() == "READY=1\nSTATUS=Started")
        #expect(manager.next() == "READY=1\nSTATUS=Configuration reloaded")
    }

    @Test func aReloadIsReported() {
        let supervision = supervision()
        supervision.ready("Started")
        _ = manager.next()
        supervision.reloading(at: now)
        supervision.reloaded("Configuration reloaded")
        let microseconds = now.awake.nanoseconds / 1000
        #expect(manager.next() == "RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
        #expect(manager.next() == "READY=1\nSTATUS=Configuration reloaded")
    }

    @Test func nothingIsReadyWhileStopping() {
        let supervision = supervision()
        supervision.stopping()
        #expect(supervision.isStopping)
        #expect(manager.next() == "STOPPING=1")
        supervision.ready("Started")
        supervision.reloading(at: now)
        supervision.reloaded("Configuration reloaded")
        #expect(manager.next() == nil)
    }
}

/// The socket of a service manager.
private final class Manager {
    let address = "@timerd-supervision-\(UUID().uuidString.prefix(13))"
    private let descriptor = socket(
        AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)

    init() {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) {
            $0.copyBytes(from: address.utf8)
            // The name of a socket without a file.
            $0[0] = 0
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + address.utf8.count)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        #expect(result == 0, "\(String(cString: strerror(errno)))")
    }

    deinit { close(descriptor) }

    /// The next datagram; nil if there is none.
    func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
