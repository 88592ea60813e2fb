// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// `timerctl api` with answers that are longer than a pipe and a socket hold.
@Suite(.ownThreads) struct APIStreamTests {
    private static let count = 3000

    private func make() throws -> LiveDaemon {
        let daemon = try LiveDaemon(
            (0..<Self.count).map { "[job.j\($0)]\nevery = \"1h\"\nshell = \"true\"\n" }.joined())
        try daemon.start()
        return daemon
    }

    /// `timerctl api` with a reader that reads nothing but when it is told to.
    private final class Client {
        let process = Process()
        private let output = Pipe()
        private let errors: String
        private var descriptor: Int32 { output.fileHandleForReading.fileDescriptor }

        init(_ daemon: LiveDaemon, _ path: String) throws {
            errors = "\(daemon.folder)/\(UUID().uuidString)"
            process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
            process.arguments = ["api", "GET", path, "--socket", daemon.socket]
            process.standardOutput = output
            process.standardInput = FileHandle.nullDevice
            let file = open(errors, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            process.standardError = FileHandle(fileDescriptor: file, closeOnDealloc: true)
            try process.run()
        }

        func readOne() -> UInt8? {
            var byte: UInt8 = 0
            return read(descriptor, &byte, 1) == 1 ? byte : nil
        }

        func readRest() -> [UInt8] { Array(output.fileHandleForReading.readDataToEndOfFile()) }

        func closeOutput() throws { try output.fileHandleForReading.close() }

        func end() throws -> String {
            process.waitUntilExit()
            return try String(contentsOfFile: errors, encoding: .utf8)
        }
    }

    @Test func aSlowReaderGetsAllOfIt_andOthersDoNotWaitForIt() throws {
        let daemon = try make()
        let slow = try Client(daemon, "/v1/jobs")
        let first = slow.readOne()
        // The others are answered meanwhile.
        for _ in 0..<20 { #expect(try daemon.show("j1").state == "armed") }
        let other = try Client(daemon, "/v1/jobs")
        let whole = try ControlJSON.decode(JobTable.self, from: other.readRest())
        #expect(whole.jobs.count == Self.count)
        let table = try ControlJSON.decode(
            JobTable.self, from: [try #require(first)] + slow.readRest())
        #expect(table.jobs.map(\.job) == whole.jobs.map(\.job))
        #expect(try slow.end().isEmpty && slow.process.terminationStatus == 0)
        #expect(try other.end().isEmpty && other.process.terminationStatus == 0)
        #expect(daemon.stop() == 0)
    }

    /// As with `| head`.
    @Test func aReaderThatIsGoneEndsIt_andTheDaemonGoesOn() throws {
        let daemon = try make()
        let client = try Client(daemon, "/v1/jobs")
        _ = client.readOne()
        try client.closeOutput()
        #expect(try client.end().isEmpty)
        #expect(try daemon.show("j1").state == "armed")
        #expect(daemon.stop() == 0)
    }

    /// What was sent is printed, and that it is not all is an error.
    @Test func aDaemonThatIsKilledAmidItsAnswerIsAnError() throws {
        let daemon = try make()
        let client = try Client(daemon, "/v1/jobs")
        let first = try #require(client.readOne())
        let process = try #require(daemon.process)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        let text = [first] + client.readRest()
        let errors = try client.end()
        #expect(text.first == UInt8(ascii: "{"))
        #expect(throws: (any Error).self) { try ControlJSON.decode(JobTable.self, from: text) }
        #expect(client.process.terminationStatus == 1, "\(errors)")
        #expect(errors.contains("the answer is cut off") || errors.contains("reset"), "\(errors)")
        try daemon.start()
        #expect(daemon.stop() == 0)
    }

    /// A clean stop does not wait for a reader that reads nothing.
    @Test func aReaderThatReadsNothingDoesNotKeepTheDaemonFromStopping() throws {
        let daemon = try make()
        let client = try Client(daemon, "/v1/jobs")
        _ = client.readOne()
        #expect(daemon.stop() == 0)
        _ = client.readRest()
        _ = try client.end()
        // Whether all of it was sent by then is a matter of speed.
        #expect([0, 1].contains(client.process.terminationStatus))
    }
}
