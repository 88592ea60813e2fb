// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import HostFiles
import HostQueues
import Logging
import Synchronization
import Systemd
import TimerCore
import TimerStore

@testable import TimerDaemon
@testable import TimerLog
@testable import TimerRecording

/// A loop with a real store and real timers, but without processes: its runs are recorded, and the
/// test ends them.
final class LoopFixture: Sendable {
    /// Records the runs that are started.
    final class Launcher: RunLauncher {
        /// A run that was started: with a reading of one clock, and of all clocks after it.
        typealias Started = (
            run: Run, before: AwakeInstant, at: Now, notBefore: AwakeInstant
        )

        private let runs = Mutex<[Started]>([])
        private let clocks: Clocks
        /// A structure, for the reason in `MutexTests`.
        private struct Follower {
            var call: (@Sendable (Run) -> Void)?
        }
        private let follower = Mutex(Follower())

        init(clocks: Clocks) { self.clocks = clocks }

        /// Calls this for each run that is started.
        func onStart(_ call: @escaping @Sendable (Run) -> Void) {
            follower.withLock { $0.call = call }
        }

        var started: [Started] { runs.withLock { $0 } }

        func start(_ started: [(run: Run, notBefore: AwakeInstant)]) {
            let before = clocks.awake
            let now = clocks.now()
            runs.withLock { $0 += started.map { ($0.run, before, now, $0.notBefore) } }
            messages.withLock { $0.append(started.count) }
            guard let call = follower.withLock({ $0.call }) else { return }
            for start in started { call(start.run) }
        }

        /// How many runs each message started.
        private let messages = Mutex<[Int]>([])
        /// In how many messages runs were started.
        var startMessages: Int { messages.withLock { $0.count } }
        /// The most runs that one message started.
        var mostInAMessage: Int { messages.withLock { $0.max() ?? 0 } }

        /// The checks of conditions that were requested.
        private let requested = Mutex<[ConditionCheck]>([])
        var checks: [ConditionCheck] { requested.withLock { $0 } }

        func check(_ run: Run, number: UInt64) {
            requested.withLock { $0.append(ConditionCheck(run: run, number: number)) }
        }

        func end(_ run: Run.ID, grace: Duration) {}
        func suspend(_ run: Run.ID) {}
        func resume(_ run: Run.ID) {}
        func signal(_ run: Run.ID, _ number: Int32) {}
        /// What waits for the runner; nil once it is there.
        private let waiting = Mutex<[@Sendable () -> Void]?>(nil)

        func hold() { waiting.withLock { $0 = [] } }

        func release() {
            for done in waiting.withLock({ $0.take() }) ?? [] { done() }
        }

        func prepare(_ done: @escaping @Sendable () -> Void) {
            if waiting.withLock({ $0?.append(done) }) == nil { done() }
        }

        func barrier(_ done: @escaping @Sendable () -> Void) { done() }
        func forget(_ run: Run.ID) {}
        func refresh() {}
        func forgetFormer() {}
        func discard(_ jobs: [Job.Name]) {}
    }

    let clocks: Clocks
    let loop: Loop
    let launcher: Launcher
    let recorder: Recorder
    let folder: String
    let feed = EventFeed()
    private let hasBegun = DispatchSemaphore(value: 0)
    private let isReady = DispatchSemaphore(value: 0)
    private final class Readiness: Sendable {
        let reports = Mutex<[Bool]>([])
        let isBeforeTimers = Mutex(false)
    }
    private let readiness = Readiness()
    /// Whether the runner was there, for each time that the loop was ready.
    var reportsOfReadiness: [Bool] { readiness.reports.withLock { $0 } }
    /// Whether the loop was ready before all timers were set.
    var wasReadyBeforeTimers: Bool { readiness.isBeforeTimers.withLock { $0 } }

    /// A loop that has loaded the jobs and starts.
    ///
    /// - Parameter preparationMax: how long the loop waits for a runner that is not prepared before
    ///   `release`; nil: the runner answers at once.
    init(
        _ jobs: [Job], notifiers: [Notifier] = [], preparationMax: Duration? = nil,
        concurrentRunsMax: Int = 64
    ) throws {
        clocks = try Clocks()
        folder = "/tmp/timerd-loop-\(UUID().uuidString)"
        let directory = try Directory.open(folder)
        let log = Logger(label: "loop-fixture") { _ in SwiftLogNoOpLogHandler() }
        let store = try Store(path: "\(folder)/\(Store.fileName)")
        let past = try store.recover()
        let clocks = clocks
        recorder = Recorder(store: store, history: HistoryLimits(span: .seconds(3600)), log: log) {
            clocks.now().wall
        }
        launcher = Launcher(clocks: clocks)
        let loadedAt = clocks.now()
        let (agenda, actions) = Agenda.load(
            JobSet(jobs, notifiers: notifiers), past, concurrentRunsMax: concurrentRunsMax,
            at: loadedAt)
        if preparationMax != nil { launcher.hold() }
        let beginning = Loop.Beginning(
            actions: actions, at: loadedAt, unstored: past.unstored(), rejected: [],
            preparationMax: preparationMax ?? Loop.preparationMax,
            begun: { [hasBegun, readiness] in
                let isReady = !readiness.reports.withLock(\.isEmpty)
                readiness.isBeforeTimers.withLock { $0 = isReady }
                hasBegun.signal()
            }
        ) { [isReady, readiness] isPrepared in
            readiness.reports.withLock { $0.append(isPrepared) }
            isReady.signal()
        } onDelayed: { _ in
        }
        loop = Loop.started(
            agenda, with: beginning, clocks: clocks, recorder: recorder,
            heartbeatWriter: HeartbeatWriter(file: try HeartbeatFile(in: directory), log: log),
            eventLogger: EventLogger(log: log, hasFields: false, feed: feed) { clocks.wall },
            supervision: Supervision(
                notify: Notify(address: nil), watchdogInterval: nil, log: log),
            launcher: launcher)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Waits until the state is saved and every timer is set.
    func waitUntilBegun() async { await wait(for: hasBegun) }

    /// Waits until the runner is prepared as well.
    func waitUntilReady() async { await wait(for: isReady) }

    private func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    /// The result of a reload, once it is on the disk.
    func reload(_ jobs: [Job]) async -> Notice? {
        await withCheckedContinuation { continuation in
            loop.later {
                $0.reload(.init(JobSet(jobs), rejected: [])) { continuation.resume(returning: $0) }
            }
        }
    }

    /// The saved state of every job, after all earlier writes.
    func records() async throws -> [JobRecord] {
        let result = await withCheckedContinuation { continuation in
            recorder.read { store throws(StoreError) in
                try store.recover().records
            } _: {
                continuation.resume(returning: $0)
            }
        }
        return try result.get()
    }

    /// Waits until a condition is true; an error after a minute.
    func wait(until isSo: () async -> Bool) async throws {
        let end = clocks.awake + .seconds(60)
        // Beside many other tests each check and each sleep may take a minute, and a check may only
        // begin what a later one finds done.
        var checks = 0
        while await !isSo() {
            checks += 1
            guard checks < 5 || clocks.awake < end else { throw TooLong() }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    struct TooLong: Error {}

    func snapshot() async -> Snapshot {
        await withCheckedContinuation { continuation in
            loop.later { loop in
                loop.gather { snapshot, _ in continuation.resume(returning: snapshot) }
            }
        }
    }
}
