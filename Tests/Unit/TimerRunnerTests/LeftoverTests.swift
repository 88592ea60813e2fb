// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

extension ControlGroups {
    /// Whether this process may create control groups.
    static var canBeMade: Bool {
        guard var groups = try? ControlGroups() else { return false }
        defer { groups.closeAll() }
        let firing = Firing.ID(
            job: Job.Name("probe")!, scheduled: WallInstant(microsecondsSinceEpoch: 1))
        let name = groups.name(1, of: Run.ID(firing: firing), isKept: false)
        guard let file = try? groups.make(name) else { return false }
        close(file)
        return groups.remove(name)
    }
}

/// Processes that a run leaves in its control group.
@Suite(.enabled(if: ControlGroups.canBeMade, "no control group of version 2 is delegated"))
struct LeftoverTests {
    private static func fixture(registry: String? = nil) throws -> RunnerFixture {
        var options = Runner.Options()
        options.usesControlGroups = true
        return try RunnerFixture(registry: registry, options: options)
    }

    /// A process identified only by its pidfd, because its process id may be reused when it has
    /// ended.
    private final class Held {
        let pid: Int32
        private let descriptor: Int32

        init(_ pid: Int32) {
            self.pid = pid
            descriptor = cspawn_open_process(pid)
        }

        deinit {
            if descriptor >= 0 {
                _ = cspawn_signal(descriptor, SIGKILL)
                close(descriptor)
            }
        }

        /// Whether it ends within this time.
        func ends(within milliseconds: Int32 = 60_000) -> Bool {
            var ending = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return descriptor < 0 || poll(&ending, 1, milliseconds) == 1
        }
    }

    /// Runs a command that leaves a process behind, which has its own session and prints its
    /// process id before the run ends.
    private func leave(
        _ script: String, by fixture: RunnerFixture,
        _ execution: (inout Execution) -> Void = { _ in }
    ) throws -> (request: RunRequest, left: Held) {
        let fifo = "\(fixture.registry)-\(UUID().uuidString)"
        mkfifo(fifo, 0o600)
        defer { unlink(fifo) }
        let line =
            "setsid sh -c '\(script.replacing("READY", with: "echo $$ >\(fifo)"))' "
            + "</dev/null >/dev/null 2>&1 & read left <\(fifo); echo $left; exit 3"
        let request = fixture.request(.shell(line), execution)
        let end = fixture.run(request)
        #expect(end.outcome == .exited(3))
        return (request, Held(try #require(end.lines.first.flatMap { Int32($0) })))
    }

    private func told(_ fixture: RunnerFixture, of request: RunRequest) -> [String] {
        fixture.events.compactMap { event in
            guard case .leftBehind(request.id, let count, let named) = event else { return nil }
            return "\(count): \(String(decoding: named, as: UTF8.self))"
        }
    }

    /// It ends by SIGTERM and has time for that; the run does not wait for it.
    @Test(arguments: ["exec sleep 300", "kill -STOP $$; exec sleep 300"])
    func isTerminated_andReported(_ rest: String) throws {
        let fixture = try Self.fixture()
        let (request, left) = try leave("READY; \(rest)", by: fixture) {
            $0.killTimeout = .seconds(600)
        }
        fixture.wait { _ in !told(fixture, of: request).isEmpty }
        #expect(left.ends())
        let texts = told(fixture, of: request)
        #expect(texts.count == 1)
        #expect(
            texts == ["1: sleep (\(left.pid))"] || texts == ["1: sh (\(left.pid))"], "\(texts)")
        fixture.runner.shutdown(grace: .zero)
    }

    @Test func isKilled_ifItIgnoresSIGTERM() throws {
        let fixture = try Self.fixture()
        let (request, left) = try leave(
            "trap : TERM; READY; while :; do sleep 300; done", by: fixture
        ) {
            $0.killTimeout = .milliseconds(200)
        }
        #expect(left.ends())
        fixture.wait { _ in !told(fixture, of: request).isEmpty }
        fixture.runner.shutdown(grace: .zero)
    }

    /// As under cron, a daemon that a job starts continues, even if the runner ends or the run is
    /// terminated.
    @Test func continues_ifTheJobDeclaresIt() throws {
        let fixture = try Self.fixture()
        let (kept, stays) = try leave("READY; exec sleep 300", by: fixture) {
            $0.killsLeftovers = false
        }
        let (request, left) = try leave("READY; exec sleep 300", by: fixture)
        #expect(left.ends())
        fixture.wait { _ in !told(fixture, of: request).isEmpty }
        let stopped = fixture.request(
            .shell("setsid sh -c 'echo $$; exec sleep 300' & wait")
        ) { $0.killsLeftovers = false }
        fixture.runner.start([stopped])
        fixture.wait { _ in !fixture.lines(of: stopped).isEmpty }
        let other = Held(try #require(fixture.lines(of: stopped).first.flatMap { Int32($0) }))
        fixture.runner.end(stopped.id, grace: .zero)
        #expect(fixture.end(of: stopped).outcome == .stopped)
        fixture.runner.shutdown(grace: .zero)
        #expect(!stays.ends(within: 0) && !other.ends(within: 0))
        #expect(told(fixture, of: kept) == [] && told(fixture, of: stopped) == [])
    }

    /// The runner does not end before the left process.
    @Test(arguments: [Duration.zero, .seconds(600)])
    func endsWithTheRunner(grace: Duration) throws {
        let fixture = try Self.fixture()
        let (_, left) = try leave("READY; exec sleep 300", by: fixture)
        fixture.runner.shutdown(grace: grace)
        #expect(left.ends())
    }

    /// The run ended, and its runner was killed before the left process had ended.
    @Test(arguments: ["ended", "lost"])
    func isEndedByTheNextRunner(_ what: String) throws {
        let fixture = try RunnerFixture()
        let request = fixture.request(.shell("true"))
        let groups = try ControlGroups()
        let name = groups.name(
            UInt64.random(in: 1 ... .max), of: request.id, isKept: false)
        let file = try groups.make(name)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["300"]
        try process.run()
        let left = Held(process.processIdentifier)
        let number = "\(process.processIdentifier)"
        #expect(write(file, number, number.utf8.count) == number.utf8.count)
        close(file)
        var registry = RecordFile()
        registry.add(
            what == "ended" ? CSPAWN_RECORD_ENDED : CSPAWN_RECORD_SPAWNED,
            RecordFile.line(request.id.description, group: name),
            end: what == "ended" ? "ended 5 0 0 0 0 exited(0)" : "")
        try registry.write()
        let next = try Self.fixture(registry: registry.folder)
        #expect(left.ends())
        process.waitUntilExit()
        next.wait { _ in told(next, of: request) == ["1: sleep (\(left.pid))"] }
        next.runner.shutdown(grace: .zero)
        fixture.runner.shutdown(grace: .zero)
        groups.closeAll()
    }

    /// A limited number of processes is named and gets SIGTERM, and none remains.
    @Test func areAllTerminated_howeverMany() throws {
        let fixture = try Self.fixture()
        let (request, left) = try leave(
            "i=0; while [ $i -lt 100 ]; do i=$((i+1)); sleep 300 & done; READY; exec sleep 300",
            by: fixture)
        #expect(left.ends())
        fixture.wait { _ in !told(fixture, of: request).isEmpty }
        let text = try #require(told(fixture, of: request).first)
        #expect(text.hasPrefix("101: ") && text.hasSuffix(", …"), "\(text)")
        #expect(text.split(separator: ",").count == RunnerThread.leftoversNamed + 1)
        fixture.runner.shutdown(grace: .zero)
    }
}
