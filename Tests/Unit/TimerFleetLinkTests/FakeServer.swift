// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import TimerCore
import TimerFleet
import TimerRunnerProtocol

@testable import TimerFleetLink

/// What went wrong with a test itself.
struct Failure: Error, CustomStringConvertible {
    var description: String
}

/// Stands for `timerd-fleet`: the test decides what it says.
final class FakeServer {
    let path: String
    private let folder: URL
    private var listening: Int32 = -1

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "link-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("fleet.sock").path
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func listen() throws {
        listening = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0, Glibc.listen(listening, 8) == 0 else {
            throw Failure(description: "cannot listen: \(errno)")
        }
    }

    func stop() {
        if listening >= 0 { close(listening) }
        listening = -1
        unlink(path)
    }

    /// Waits for the next connection.
    func accept() throws -> FakeConnection {
        var wanted = pollfd(fd: listening, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, 20_000) == 1 else { throw Failure(description: "no connection") }
        let descriptor = Glibc.accept(listening, nil, nil)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return FakeConnection(descriptor)
    }

    /// Accepts a scheduler.
    func greet() throws -> FakeConnection {
        let connection = try accept()
        let hello = try connection.next()
        guard hello == .hello(version: FleetWire.version, fleet: "prod") else {
            throw Failure(description: "\(hello)")
        }
        try connection.send(.welcome(version: FleetWire.version))
        return connection
    }
}

/// A connection of the link that is tested.
final class FakeConnection {
    private var socket: FrameSocket

    init(_ descriptor: Int32) {
        socket = FrameSocket(descriptor, frameBytesMax: FleetWire.requestBytesMax)
    }

    /// The next request.
    func next() throws -> FleetRequest {
        while true {
            if let frame = socket.next() { return try FleetRequest(frame) }
            guard socket.isOpen else { throw Failure(description: "the link disconnected") }
            var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 20_000) == 1 else {
                throw Failure(description: "no request in 20 s")
            }
            socket.fill()
        }
    }

    func send(_ report: FleetReport) throws { try send(frame: report.bytes) }

    func send(frame: [UInt8]) throws {
        socket.send(frame)
        try flush()
    }

    /// Sends bytes that need not be a frame.
    func send(bytes: [UInt8]) throws {
        socket.sendRest(bytes)
        try flush()
    }

    private func flush() throws {
        while socket.backlog > 0 {
            guard socket.flush() else { throw Failure(description: "the link disconnected") }
            var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLOUT), revents: 0)
            guard socket.backlog > 0 else { return }
            _ = poll(&wanted, 1, 20_000)
        }
    }

    /// Waits until the link has closed the connection.
    func waitForEnd() throws {
        while socket.isOpen {
            var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 20_000) == 1 else {
                throw Failure(description: "the link did not disconnect")
            }
            socket.fill()
            while socket.next() != nil {}
        }
    }
}

/// What a link has reported, in its order.
final class ReceivedReports: Sendable {
    private let reports = Mutex<[String]>([])
    private let arrived = DispatchSemaphore(value: 0)

    var handler: FleetLink.Handler {
        { report in
            self.reports.withLock { $0.append(Self.text(report)) }
            self.arrived.signal()
        }
    }

    private static func text(_ report: FleetLink.Report) -> String {
        switch report {
        case .status(let status):
            return "status \(status.isRunning) \(status.endpoint ?? "-") \(status.problem ?? "-")"
        case .event(let event): return text(event)
        }
    }

    private static func text(_ event: FleetEvent) -> String {
        switch event {
        case .leased(let lease, let sent): "leased \(lease.number) \(sent.nanoseconds)"
        case .kept(let lease, let sent): "kept \(lease.number) \(sent.nanoseconds)"
        case .dated(let endpoint, let date, let sent):
            "dated \(endpoint) \(date) \(sent.microsecondsSinceEpoch)"
        case .leaseLost(let lease): "leaseLost \(lease.number)"
        case .loaded(let snapshot):
            "loaded \(snapshot.cluster) \(snapshot.revision) \(snapshot.values.count)"
        case .changed(let cluster, let revision, let reads):
            "changed \(cluster) \(revision) \(reads.count)"
        case .watchLost: "watchLost"
        case .answered(let id, let answer): "answered \(id) \(answer.revision)"
        case .unknown(let id): "unknown \(id)"
        default: "unexpected \(event)"
        }
    }

    /// Takes the next report. Those of the status are left out, unless they are asked for.
    func next(withStatus: Bool = false) throws -> String {
        while true {
            guard arrived.wait(timeout: .now() + .seconds(20)) == .success else {
                throw Failure(description: "no report in 20 s")
            }
            let report = reports.withLock { $0.removeFirst() }
            if withStatus || !report.hasPrefix("status") { return report }
        }
    }

    /// Waits for a status with this text.
    ///
    /// - Parameter skippingEvents: whether events may come before it.
    func waitForStatus(_ part: String, skippingEvents: Bool = false) throws {
        while true {
            let report = try next(withStatus: true)
            if report.hasPrefix("status"), report.contains(part) { return }
            guard report.hasPrefix("status") || skippingEvents else {
                throw Failure(description: "\(report) instead of a status with \(part)")
            }
        }
    }

    /// How many reports have arrived that were not taken.
    var count: Int { reports.withLock { $0.count } }
}

/// A link to a fake server.
struct Fixture {
    let server: FakeServer
    let link: FleetLink
    let reports = ReceivedReports()

    init(listening: Bool = true, lease: Duration = .seconds(10)) throws {
        server = try FakeServer()
        if listening { try server.listen() }
        link = try FleetLink(
            FleetLink.Configuration(
                path: server.path, fleet: "prod", lease: lease))
        try link.begin(reports.handler)
    }

    /// Accepts the link, and waits until it knows that: before, it refuses transactions.
    func greet() throws -> FakeConnection {
        let connection = try server.greet()
        try reports.waitForStatus("status true")
        return connection
    }
}
