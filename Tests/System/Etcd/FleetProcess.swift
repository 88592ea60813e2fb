// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import TimerCore
import TimerFleet
import TimerFleetLink

/// A real `timerd-fleet`, which ends with the object.
final class FleetProcess {
    /// The program: that of this build, or the one that TIMERD_FLEET names.
    static let program =
        ProcessInfo.processInfo.environment["TIMERD_FLEET"].map { URL(fileURLWithPath: $0) }
        ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("timerd-fleet")
    /// Whether it is an optimised one.
    static let isRelease = ProcessInfo.processInfo.environment["TIMERD_FLEET"] != nil

    let folder: URL
    let config: String
    let socket: String
    private(set) var process: Process?

    /// Writes a configuration and starts the process.
    init(_ urls: [String], more: String = "", starting: Bool = true) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "fleet-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        config = folder.appendingPathComponent("timerd.toml").path
        socket = folder.appendingPathComponent("fleet.sock").path
        try configure(urls, more: more)
        if starting { try start() }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    func configure(_ urls: [String], name: String = "prod", more: String = "") throws {
        let list = urls.map { "\"\($0)\"" }.joined(separator: ", ")
        let text = "[fleet]\nname = \"\(name)\"\netcd = [\(list)]\nlease = \"3s\"\n\(more)"
        try text.write(toFile: config, atomically: true, encoding: .utf8)
    }

    /// Starts it, and does not wait until it listens.
    func start() throws {
        let process = Process()
        process.executableURL = Self.program
        process.arguments = ["--config", config, "--socket", socket]
        let log = folder.appendingPathComponent("log")
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        let output = try FileHandle(forWritingTo: log)
        output.seekToEndOfFile()
        process.standardError = output
        process.standardOutput = output
        try process.run()
        self.process = process
    }

    func signal(_ number: Int32) {
        if let process, process.isRunning { Glibc.kill(process.processIdentifier, number) }
    }

    func kill() {
        signal(SIGCONT)
        signal(SIGKILL)
        process?.waitUntilExit()
    }

    /// Waits for its end and returns its exit status; the signal that ended it is negative.
    func end() -> Int32 {
        process?.waitUntilExit()
        guard let process else { return -1 }
        return process.terminationReason == .exit
            ? process.terminationStatus : -process.terminationStatus
    }

    var log: String {
        (try? String(contentsOfFile: folder.appendingPathComponent("log").path, encoding: .utf8))
            ?? ""
    }

    /// Its resident memory and the most of it so far, in KiB.
    func memory() throws -> (now: Int, peak: Int) {
        let path = "/proc/\(process?.processIdentifier ?? 0)/status"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        func value(_ name: String) -> Int {
            lines.first { $0.hasPrefix(name) }?.split(separator: " ").dropFirst().first
                .flatMap { Int($0) } ?? 0
        }
        return (value("VmRSS:"), value("VmHWM:"))
    }
}

/// The scheduler's end, with what it has reported.
final class Scheduler: Sendable {
    let link: FleetLink
    private let events = Mutex<[FleetEvent]>([])
    private let last = Mutex(FleetLinkStatus(isRunning: false))

    init(_ path: String, fleet: String = "prod") throws {
        link = try FleetLink(
            FleetLink.Configuration(path: path, fleet: fleet, lease: .seconds(3)))
        try link.begin { [weak self] report in
            switch report {
            case .event(let event): self?.events.withLock { $0.append(event) }
            case .status(let status): self?.last.withLock { $0 = status }
            }
        }
    }

    deinit { link.close(endingLeases: false) }

    var status: FleetLinkStatus { last.withLock { $0 } }

    func waitForStatus(
        _ what: String, _ isRight: @escaping (FleetLinkStatus) -> Bool
    ) throws {
        try EtcdCluster.wait("the status has \(what): \(status)") { isRight(status) }
    }

    /// Takes the first event that matches. Other ones stay.
    private func take<Found>(_ match: (FleetEvent) -> Found?) -> Found? {
        events.withLock { events in
            for (index, event) in events.enumerated() {
                guard let value = match(event) else { continue }
                events.remove(at: index)
                return value
            }
            return nil
        }
    }

    /// Waits for an event and takes it.
    func wait<Found>(_ what: String, _ match: (FleetEvent) -> Found?) throws -> Found {
        try repeatUntil(what, nil, match)
    }

    /// Waits for an event and takes it, and performs the action again from time to time, as a member
    /// does.
    private func repeatUntil<Found>(
        _ what: String, _ action: FleetAction?, _ match: (FleetEvent) -> Found?
    ) throws -> Found {
        var found: Found?
        var performed: ContinuousClock.Instant?
        // What was there before is no answer to it.
        if action != nil { while take(match) != nil {} }
        try EtcdCluster.wait("there is \(what), but \(status)") {
            found = take(match)
            if let action, found == nil, performed.map({ .now - $0 > .seconds(1) }) ?? true {
                performed = .now
                _ = link.perform(action)
            }
            return found != nil
        }
        guard let found else { throw EtcdCluster.Failure(description: what) }
        return found
    }

    // MARK: - What a member does

    func lease() throws -> LeaseID {
        try repeatUntil("a lease", .openLease) {
            if case .leased(let lease, _) = $0 { lease } else { nil }
        }
    }

    func keep(_ lease: LeaseID) throws -> Bool {
        try repeatUntil("an answer to a keepalive", .keepAlive(lease)) {
            switch $0 {
            case .kept(lease, _): true
            case .leaseLost(lease): false
            default: nil
            }
        }
    }

    func load() throws -> FleetSnapshot {
        try repeatUntil("a snapshot", .load) {
            if case .loaded(let snapshot) = $0 { snapshot } else { nil }
        }
    }

    /// The answer to a transaction; nil if it is unknown.
    func answer(_ id: FleetMember.TransactionID) throws -> FleetAnswer? {
        try wait("an answer to \(id)") { event -> FleetAnswer?? in
            switch event {
            case .answered(id, let answer): .some(answer)
            case .unknown(id): .some(nil)
            default: nil
            }
        }
    }

    func put(
        _ id: FleetMember.TransactionID, _ key: FleetKey, _ text: String, lease: LeaseID? = nil
    ) {
        _ = link.perform(
            .send(
                id,
                FleetTransaction(
                    compares: [], changes: [.put(key, text, lease: lease)], reads: [])))
    }

    /// Waits for a change of a key to this text.
    func change(_ key: FleetKey, _ text: String) throws {
        _ = try wait("a change to \(text)") { event -> Bool? in
            if case .changed(_, _, let reads) = event, reads[key]??.value == text {
                true
            } else {
                nil
            }
        }
    }

    var hasEvents: Bool { events.withLock { !$0.isEmpty } }
}
