// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing
import TimerControl
import TimerCore

/// The events of a real daemon, with readers that read and readers that do not.
@Suite(.ownThreads) struct EventsTests {
    /// Follows the events on a thread of its own.
    private final class Follower: Sendable {
        private struct State {
            var events: [EventStatus] = []
            var hello: EventsHello?
            var end: ControlClient.StreamEnd?
            var failure: String?
        }
        private let state = Mutex(State())

        init(_ socket: String, _ query: EventQuery) {
            Thread.detachNewThread { [self] in
                do throws(ControlClient.Failure) {
                    let end = try ControlClient(path: socket).stream(.events(query)) { take($0) }
                    state.withLock { $0.end = end }
                } catch {
                    state.withLock { $0.failure = "\(error)" }
                }
            }
        }

        private func take(_ message: ServerSentEvent) -> Bool {
            state.withLock { state in
                switch message.event {
                case "hello":
                    state.hello = try? ControlJSON.decode(EventsHello.self, from: message.data)
                case "events":
                    let frame = try? ControlJSON.decode(EventsFrame.self, from: message.data)
                    state.events += frame?.events ?? []
                default: state.failure = message.event
                }
            }
            return true
        }

        var events: [EventStatus] { state.withLock { $0.events } }
        var hello: EventsHello? { state.withLock { $0.hello } }
        var end: ControlClient.StreamEnd? { state.withLock { $0.end } }
        var failure: String? { state.withLock { $0.failure } }
    }

    /// `timerctl events -f` with its output in a file, once it has shown something.
    private func spawn(_ arguments: String..., of daemon: LiveDaemon) throws -> (Process, String) {
        let output = "\(daemon.folder)/\(UUID().uuidString)"
        #expect(FileManager.default.createFile(atPath: output, contents: nil))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
        process.arguments = ["events", "-f"] + arguments + ["--socket", daemon.socket]
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        #expect(daemon.wait { !text(output).isEmpty })
        return (process, output)
    }

    private func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }

    private func end(_ process: Process) {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Whether one more reader is refused, and with what.
    private func refusal(of daemon: LiveDaemon) throws -> ErrorReply? {
        let end = try ControlClient(path: daemon.socket).stream(
            .events(EventQuery(follows: false))
        ) { _ in true }
        guard case .refused(let reply) = end else { return nil }
        #expect(reply.status == 503)
        return try ControlJSON.decode(ErrorReply.self, from: reply.body)
    }

    @Test func eachEventComesOnce_whateverOtherReadersDo() throws {
        let count = 50
        let jobs = (0..<count).map { "[job.j\($0)]\nevery = \"1d\"\ncommand = [\"true\"]\n" }
        let daemon = try LiveDaemon(jobs.joined())
        try daemon.start()
        let follower = Follower(daemon.socket, EventQuery(start: .after(0)))
        let others = (0..<6).map { _ in Follower(daemon.socket, EventQuery()) }
        let (stopped, _) = try spawn("-n", "4096", of: daemon)
        defer { end(stopped) }
        for other in [follower] + others { #expect(daemon.wait { other.hello != nil }) }
        let refused = try refusal(of: daemon)
        #expect(refused?.code == "busy" && refused?.error.contains("8 readers") == true)
        Glibc.kill(stopped.processIdentifier, SIGSTOP)

        // A burst, with a reader that does not read.
        let runs = try daemon.ask(.commands(.run, .all))
        #expect(runs.status == 200)
        func ended() -> Int { follower.events.count { $0.event == "run-ended" } }
        #expect(daemon.wait { ended() == count }, "\(ended()) \(follower.failure ?? "")")
        #expect(follower.events.map(\.number) == Array(1...UInt64(follower.events.count)))
        #expect(follower.events.first?.event == "daemon-started")

        // A reader that vanishes makes room.
        end(stopped)
        #expect(try daemon.wait { try refusal(of: daemon) == nil })
        let shown = try daemon.timerctl("events", "-n", "2", "--job", "j7", "--json")
        let lines = shown.text.split(separator: "\n")
        #expect(shown.status == 0 && lines.count == 2)
        #expect(lines.last?.contains(#""event":"run-ended","job":"j7""#) == true)
        #expect(try daemon.timerctl("events", "--job", "none").status == 4)

        // The end of the daemon is the end of the stream, behind its last event.
        #expect(daemon.stop() == 0)
        #expect(daemon.wait { follower.end != nil || follower.failure != nil })
        #expect(follower.end == .complete && follower.failure == nil)
        #expect(follower.events.contains { $0.event == "shut-down" })
        #expect(try daemon.timerctl("events").status == 3)
    }

    @Test func aFollowerGoesOnWithTheNextDaemon() throws {
        let daemon = try LiveDaemon("[job.a]\nevery = \"1d\"\ncommand = [\"true\"]\n")
        try daemon.start()
        let (process, output) = try spawn("-n", "4096", "--json", of: daemon)
        defer { end(process) }
        func starts() -> Int {
            text(output).components(separatedBy: #""event":"daemon-started""#).count - 1
        }
        #expect(daemon.wait { starts() == 1 })
        _ = daemon.kill()
        try daemon.start()
        #expect(daemon.wait { starts() == 2 }, "\(text(output))")
        #expect(try daemon.timerctl("pause", "a").status == 0)
        #expect(daemon.wait { text(output).contains(#""event":"paused""#) })
        #expect(daemon.stop() == 0)
    }
}
