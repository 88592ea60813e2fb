// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HostFiles
import SeededRandom
import TimerCore
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol
import Testing

@testable import EtcdClient

/// A connection to `timerd-fleet` that says what the test wants.
private final class RawConnection {
    var socket: FrameSocket

    init(_ path: String) throws {
        var descriptor: Int32?
        try EtcdCluster.wait("timerd-fleet listens") {
            descriptor = UnixSocket.connect(to: path)
            return descriptor != nil
        }
        socket = FrameSocket(descriptor ?? -1, frameBytesMax: FleetWire.reportBytesMax)
    }

    func send(_ request: FleetRequest) { send(frame: request.bytes) }

    func send(frame: [UInt8]) {
        socket.send(frame)
        _ = socket.flush()
    }

    /// Waits until this end is closed, and returns what was said before that.
    func end() throws -> [FleetReport] {
        var reports: [FleetReport] = []
        try EtcdCluster.wait("the connection is closed") {
            socket.fill()
            while let frame = socket.next() { reports.append(try FleetReport(frame)) }
            return !socket.isOpen
        }
        return reports
    }

    /// Waits for the next report.
    func next() throws -> FleetReport {
        var report: FleetReport?
        while report == nil {
            if let frame = socket.next() {
                report = try FleetReport(frame)
                break
            }
            var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 30_000) == 1 else {
                throw EtcdCluster.Failure(description: "there is no report")
            }
            socket.fill()
        }
        return report ?? .alive
    }

    func greet() throws {
        send(.hello(version: FleetWire.version, fleet: "prod"))
        #expect(try next() == .welcome(version: FleetWire.version))
    }
}

extension RealEtcdTests {
    /// Peers, limits, and the start and the stop of `timerd-fleet`.
    @Suite struct FleetLimits {
        private let job = FleetKey.job(Job.Name("backup")!)

        /// The first one stays, and the other one is told why; after its end it is served.
        @Test func oneSchedulerIsServedAtATime() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            var first: Scheduler? = try Scheduler(fleet.socket)
            _ = try first?.lease()
            let second = try Scheduler(fleet.socket)
            try second.waitForStatus("why it is refused") {
                $0.problem?.contains("another timerd") == true
            }
            first?.put(1, job, "1")
            #expect(try first?.answer(1) != nil)
            first = nil
            _ = try second.lease()
        }

        @Test func aSchedulerOfAnotherFleetIsRefused() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket, fleet: "test")
            try scheduler.waitForStatus("the fleets") {
                $0.problem?.contains("\"test\"") == true && $0.problem?.contains("prod") == true
            }
        }

        @Test func aSchedulerOfAnotherVersionIsRefused() throws {
            let fleet = try FleetProcess(["http://127.0.0.1:1"])
            let raw = try RawConnection(fleet.socket)
            raw.send(.hello(version: FleetWire.version + 1, fleet: "prod"))
            guard case .refused(let why) = try raw.end().first else {
                Issue.record("not refused")
                return
            }
            #expect(why.contains("restart both"))
        }

        @Test func messagesThatMustNotComeCloseTheConnection() throws {
            let fleet = try FleetProcess(["http://127.0.0.1:1"])
            for frame in [[], [0], [99, 1], FleetRequest.load(number: 1).bytes] {
                let raw = try RawConnection(fleet.socket)
                raw.send(frame: frame)
                #expect(try raw.end() == [])
            }
            for request: FleetRequest in [
                .hello(version: FleetWire.version, fleet: "prod"), .load(number: 0),
            ] {
                let raw = try RawConnection(fleet.socket)
                try raw.greet()
                raw.send(request)
                _ = try raw.end()
            }
            // A frame that is too long.
            let raw = try RawConnection(fleet.socket)
            raw.socket.sendRest([0xff, 0xff, 0xff, 0x7f])
            _ = raw.socket.flush()
            _ = try raw.end()
        }

        @Test func aSchedulerThatDoesNotWaitForAnswersIsClosed() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let raw = try RawConnection(fleet.socket)
            try raw.greet()
            cluster.members[0].signal(SIGSTOP)
            let frame = FleetRequest.send(1, FleetTransaction(branches: [])).bytes
            for _ in 0..<FleetWire.transactionsMax + 100 {
                raw.socket.send(frame)
                while raw.socket.backlog > 0, raw.socket.flush() {}
            }
            _ = try raw.end()
            #expect(fleet.log.contains("does not wait"))
            cluster.members[0].signal(SIGCONT)
            let scheduler = try Scheduler(fleet.socket)
            _ = try scheduler.lease()
        }

        /// The watch brings more than a scheduler reads: the process waits, and does not grow.
        @Test func aSchedulerThatDoesNotReadCostsNoMemory() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let raw = try RawConnection(fleet.socket)
            try raw.greet()
            raw.send(.load(number: 1))
            while true {
                if case .loaded = try raw.next() { break }
            }
            let client = try EtcdClient(cluster.urls)
            let text = String(repeating: "x", count: 400_000)
            for _ in 0..<40 {
                let change = FleetTransaction(
                    compares: [], changes: [.put(job, text, lease: nil)], reads: [])
                guard case .answered = client.execute(change) else {
                    Issue.record("not written")
                    return
                }
            }
            // Something else is answered meanwhile, and the connection stays.
            let memory = try fleet.memory()
            #expect(memory.peak < 64 << 10, "\(memory)")
            var seen = 0
            while seen < 40 {
                if case .changed = try raw.next() { seen += 1 }
            }
        }

        // MARK: - The configuration

        @Test func aConfigurationThatCannotBeUsedIsExplained_andReadAgain() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls, starting: false)
            try "# nothing\n".write(toFile: fleet.config, atomically: true, encoding: .utf8)
            try fleet.start()
            let scheduler = try Scheduler(fleet.socket)
            try scheduler.waitForStatus("the missing table") {
                $0.problem?.contains("[fleet]") == true
            }
            try fleet.configure(cluster.urls)
            fleet.signal(SIGHUP)
            let lease = try scheduler.lease()
            // A mistake changes nothing.
            try fleet.configure(["ftp://x"])
            fleet.signal(SIGHUP)
            try EtcdCluster.wait("it is logged: \(fleet.log)") {
                fleet.log.contains("stays as it is")
            }
            #expect(try scheduler.keep(lease))
            // The same once more changes nothing either, and another cluster is used.
            let other = try EtcdCluster()
            try fleet.configure(other.urls)
            fleet.signal(SIGHUP)
            _ = try scheduler.load()
            try EtcdCluster.wait("the other cluster is asked") {
                try scheduler.keep(lease) == false
            }
            #expect(scheduler.status.endpoint == other.urls[0])
        }

        @Test func wrongArgumentsAreExplained() throws {
            let fleet = try FleetProcess([], starting: false)
            for (arguments, text) in [
                ([], "Missing expected argument '--config <file>'"), (["--x"], "Unknown option"),
                (["--config"], "Missing value"), (["--config", "x", "--log", "y"], "auto or json"),
            ] {
                let result = try fleet.run(arguments)
                #expect(result.status == 2 && result.text.contains(text), "\(result)")
            }
            let result = try fleet.run(["--help"])
            #expect(result.status == 0 && result.text.contains("--scheduler-user"))
            let none = try fleet.run(["--config", fleet.config])
            #expect(none.status == 1 && none.text.contains("--socket"), "\(none)")
            let user = try fleet.run(["--config", fleet.config, "--scheduler-user", "no-such-user"])
            #expect(user.status == 1 && user.text.contains("no-such-user"), "\(user)")
        }

        // MARK: - The start and the stop

        /// Signals and connections in the first milliseconds.
        @Test func theStartAndTheStopCanBeInterruptedAtAnyTime() throws {
            var random = SeededRandom()
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls, starting: false)
            let scheduler = try Scheduler(fleet.socket)
            for round in 0..<25 {
                try fleet.start()
                _ = scheduler.link.perform(.openLease)
                _ = scheduler.link.perform(.load)
                scheduler.put(round, job, "\(round)")
                usleep(UInt32(random.int(below: 12_000)))
                let number = [SIGTERM, SIGKILL, SIGINT, SIGHUP][random.int(below: 4)]
                fleet.signal(number)
                if number == SIGHUP {
                    usleep(UInt32(random.int(below: 5_000)))
                    fleet.signal(SIGTERM)
                }
                let status = fleet.end()
                #expect(status == (number == SIGKILL ? -SIGKILL : 0), "\(number): \(fleet.log)")
                _ = try scheduler.answer(round)
            }
            try fleet.start()
            _ = try scheduler.lease()
            _ = try scheduler.load()
            // It ends at once, whatever etcd does.
            cluster.members[0].signal(SIGSTOP)
            scheduler.put(1000, job, "x")
            _ = scheduler.link.perform(.load)
            usleep(100_000)
            let begun = ContinuousClock.now
            fleet.signal(SIGTERM)
            #expect(fleet.end() == 0)
            #expect(ContinuousClock.now - begun < .seconds(2))
            #expect(try scheduler.answer(1000) == nil)
            cluster.members[0].signal(SIGCONT)
        }

        @Test func aSecondProcessDoesNotTakeTheSocket() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket)
            _ = try scheduler.lease()
            let result = try fleet.run(["--config", fleet.config, "--socket", fleet.socket])
            #expect(result.status == 1 && result.text.contains("listens"), "\(result)")
            _ = try scheduler.load()
        }
    }
}

extension FleetProcess {
    /// Runs the program to its end.
    fileprivate func run(_ arguments: [String]) throws -> (status: Int32, text: String) {
        let process = Process()
        process.executableURL = Self.program
        process.arguments = arguments
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}
