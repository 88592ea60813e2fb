// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TimerCore
import TimerFleet
import TimerJSON

@testable import EtcdClient

/// A cluster of real etcds on this machine, which ends with the object.
final class EtcdCluster {
    /// The program; nil: the tests against a real etcd do not run. `Tests/System/Etcd/run` sets it.
    static let program = ProcessInfo.processInfo.environment["TIMERD_ETCD"]

    /// What went wrong with the cluster itself.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// One member.
    final class Member {
        let name: String
        let clientPort: UInt16
        let peerPort: UInt16
        fileprivate(set) var process: Process?

        fileprivate init(_ number: Int, _ client: UInt16, _ peer: UInt16) {
            (name, clientPort, peerPort) = ("m\(number)", client, peer)
        }

        func signal(_ number: Int32) {
            if let process, process.isRunning { Glibc.kill(process.processIdentifier, number) }
        }
    }

    let members: [Member]
    let folder: URL
    private let scheme: String
    private let arguments: [String]

    /// Starts it and waits until each member knows a leader.
    ///
    /// - Parameters:
    ///   - scheme: of the client URLs.
    ///   - arguments: of each etcd.
    init(
        members count: Int = 1, scheme: String = "http", _ arguments: [String] = []
    ) throws {
        self.scheme = scheme
        self.arguments = arguments
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "etcd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let ports = Self.unusedPorts(2 * count)
        members = (0..<count).map { Member($0, ports[2 * $0], ports[2 * $0 + 1]) }
        for member in members { try start(member) }
        if scheme == "http" { try waitUntilReady() }
    }

    deinit {
        for member in members {
            member.signal(SIGKILL)
            member.process?.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)
    }

    var urls: [String] { members.map { "\(scheme)://127.0.0.1:\($0.clientPort)" } }

    func start(_ member: Member) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program ?? "")
        let peer = "http://127.0.0.1:\(member.peerPort)"
        let client = "\(scheme)://127.0.0.1:\(member.clientPort)"
        process.arguments =
            [
                "--name", member.name, "--data-dir", data(of: member).path,
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster",
                members.map { "\($0.name)=http://127.0.0.1:\($0.peerPort)" }.joined(separator: ","),
                "--logger", "zap", "--log-level", "error", "--heartbeat-interval", "50",
                "--election-timeout", "500",
            ] + arguments
        let log = folder.appendingPathComponent("\(member.name).log")
        if !FileManager.default.fileExists(atPath: log.path) {
            try Data().write(to: log)
        }
        let output = try FileHandle(forWritingTo: log)
        output.seekToEndOfFile()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        member.process = process
    }

    /// Kills a member and waits for its end.
    func kill(_ member: Member) {
        member.signal(SIGKILL)
        member.process?.waitUntilExit()
    }

    func data(of member: Member) -> URL { folder.appendingPathComponent(member.name) }

    /// Waits until each member that was not killed knows a leader.
    func waitUntilReady() throws {
        try Self.wait("the members know a leader") {
            let client = try EtcdClient(
                EtcdOptions(endpoints: urls, fleet: "prod"), clock: Clock.now)
            return client.statuses().allSatisfy { (try? $0.get())?.hasLeader == true }
        }
    }

    /// Waits for something that other processes do.
    static func wait(_ what: String, until isDone: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            if try isDone() { return }
            usleep(20_000)
        }
        throw Failure(description: "after a minute it is not so that \(what)")
    }

    private static func unusedPorts(_ count: Int) -> [UInt16] {
        var sockets: [Int32] = []
        var ports: [UInt16] = []
        for _ in 0..<count {
            let socket = Glibc.socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = bind(socket, pointer, length)
                    _ = getsockname(socket, pointer, &length)
                }
            }
            sockets.append(socket)
            ports.append(UInt16(bigEndian: address.sin_port))
        }
        for socket in sockets { close(socket) }
        return ports
    }
}

/// The clocks of this machine.
enum Clock {
    static func now() -> Now {
        Now(
            wall: WallInstant(
                microsecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000_000)),
            awake: AwakeInstant(nanoseconds: Connection.clockReading()),
            boot: BootInstant(nanoseconds: Connection.clockReading()), bootID: .unknown)
    }
}

extension EtcdClient {
    convenience init(
        _ urls: [String], fleet: String = "prod", timeout: Duration = .seconds(30),
        _ change: (inout EtcdOptions) -> Void = { _ in }
    ) throws {
        var options = EtcdOptions(endpoints: urls, fleet: fleet)
        options.timeout = timeout
        change(&options)
        try self.init(options, clock: Clock.now)
    }

    /// A call of etcd that only the tests need.
    @discardableResult
    func ask(_ path: String, _ members: [String: Any] = [:]) throws -> ReplyFields {
        let data = try JSONSerialization.data(withJSONObject: members)
        return try send(
            Call(path: path, body: .init(parsing: Array(data), depthMax: 16), isRepeatable: true)
        ).fields
    }
}
