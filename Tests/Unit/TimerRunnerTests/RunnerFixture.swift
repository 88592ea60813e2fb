// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// A runner with its own registry directory, and all events that it reported.
final class RunnerFixture: Sendable {
    let registry: String
    let descriptor: Int32
    private let sources: String
    private let collector: EventCollector
    private let next = Mutex(0)
    let runner: Runner

    /// The events of the runner, and a callback for the start of a run.
    private final class EventCollector: Sendable {
        let events = Mutex<[RunnerEvent]>([])
        let ends = Mutex(0)
        let more = DispatchSemaphore(value: 0)
        /// In a structure: see `MutexTests` for the reason.
        struct Follower {
            var call: (@Sendable (Int32) -> Void)?
        }
        let onBegan = Mutex(Follower())

        func take(_ event: RunnerEvent) {
            events.withLock { $0.append(event) }
            if case .ended = event { ends.withLock { $0 += 1 } }
            if case .began(_, let pid, _) = event { onBegan.withLock { $0.call }?(pid) }
            more.signal()
        }
    }

    /// - Parameters:
    ///   - registry: the registry directory of an earlier runner; nil for a new one.
    ///   - hasLocalUsers: whether users are looked up at once, and not on another thread.
    ///   - findAccount: looks up users.
    init(
        registry: String? = nil, options: Runner.Options = Runner.Options(),
        hasLocalUsers: Bool = true, findAccount: @escaping AccountResolver.Find = Account.resolve
    ) throws {
        self.registry = registry ?? "/tmp/timerd-registry-\(UUID().uuidString)"
        mkdir(self.registry, 0o700)
        descriptor = open(self.registry, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let collector = EventCollector()
        self.collector = collector
        let sources = "\(self.registry)-sources"
        try "passwd: files \(hasLocalUsers ? "" : "sss")\n".write(
            toFile: sources, atomically: false, encoding: .utf8)
        self.sources = sources
        runner = try Runner(
            registry: descriptor, options: options, handler: { collector.take($0) },
            userSources: UserSources(path: sources), findAccount: findAccount)
    }

    deinit {
        close(descriptor)
        for path in [registry, sources] { try? FileManager.default.removeItem(atPath: path) }
    }

    var events: [RunnerEvent] { collector.events.withLock { $0 } }
    var markNames: Set<String> {
        Set((try? RunRegistry(in: descriptor))?.recover().map { $0.run.description } ?? ["?"])
    }

    /// Calls this on the runner's thread when a process starts.
    func onBegan(_ body: @escaping @Sendable (_ pid: Int32) -> Void) {
        collector.onBegan.withLock { $0.call = body }
    }

    /// Requests the shutdown without waiting for it. Returns when the runner has received the
    /// command.
    func shutdownSoon(grace: Duration) {
        Thread.detachNewThread { [runner] in runner.shutdown(grace: grace) }
        // The command is posted before the thread waits; the caller of this method blocks the
        // runner's thread.
        usleep(100_000)
    }

    /// Waits until the reported events satisfy the condition, for at most a minute.
    func wait(until isDone: ([RunnerEvent]) -> Bool) {
        while !isDone(events) {
            guard collector.more.wait(timeout: .now() + 60) == .success else {
                Issue.record("no more events: \(events.suffix(5))")
                return
            }
        }
    }

    /// Waits until this many runs have ended.
    func wait(forEnds count: Int) { wait { _ in ends >= count } }

    var ends: Int { collector.ends.withLock { $0 } }

    func wait(forLine line: String) {
        let line = Array(line.utf8)
        wait { $0.contains { if case .output(_, _, line, _) = $0 { true } else { false } } }
    }

    func request(
        _ command: Job.Command, environment: [String: String] = [:], in directory: String? = nil,
        _ execution: (inout Execution) -> Void = { _ in }
    ) -> RunRequest {
        let number = next.withLock { number in
            number += 1
            return number
        }
        var definition = Definition(command)
        definition.environment = environment
        definition.workingDirectory = directory
        execution(&definition.execution)
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        let firing = Firing.ID(job: Job.Name("probe")!, scheduled: scheduled)
        return RunRequest(
            id: Run.ID(firing: firing), definition: definition, missed: 2, active: .seconds(90))
    }

    struct End {
        var outcome: RunOutcome
        var lines: [String]
        var errors: [String]
        var usage: RunUsage
        var tail: [UInt8]
    }

    /// Runs a command to its end.
    func run(_ request: RunRequest) -> End {
        runner.start([request])
        return end(of: request)
    }

    func end(of request: RunRequest) -> End {
        wait { $0.contains { if case .ended(request.id, _) = $0 { true } else { false } } }
        for case .ended(request.id, let end) in events {
            return End(
                outcome: end.outcome, lines: lines(of: request),
                errors: lines(of: request, .stderr),
                usage: end.usage, tail: end.tail)
        }
        return End(outcome: .replaced, lines: [], errors: [], usage: RunUsage(), tail: [])
    }

    func lines(of request: RunRequest, _ stream: RunStream = .stdout) -> [String] {
        events.compactMap { event in
            guard case .output(request.id, stream, let line, _) = event else { return nil }
            return String(decoding: line, as: UTF8.self)
        }
    }

    func shell(_ line: String, _ execution: (inout Execution) -> Void = { _ in }) -> End {
        run(request(.shell(line), execution))
    }
}
