// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// The definitions of the jobs' runs as last read from the configuration, and, until the scheduler
/// has finished its reload, also the previous ones.
struct JobDefinitions: Sendable {
    private var current = DefinitionSet()
    private var former = DefinitionSet()
    /// Definitions that have changed in the files before the scheduler requested a reload.
    private var latest = DefinitionSet()
    private var keepsFormer = false
    /// Counts the calls of `keepFormer` and `forgetFormer`.
    private var changes: UInt64 = 0

    /// The result of one reading. It is a class, so that it can be freed on a chosen thread.
    final class Reading: Sendable {
        fileprivate struct Content {
            var definitions: RunnerServer.Definitions = [:]
            var next = JobDefinitions()
        }

        fileprivate let changes: UInt64
        fileprivate let content: Mutex<Content>

        fileprivate init(_ changes: UInt64, _ content: Content) {
            self.changes = changes
            self.content = Mutex(content)
        }

        /// The number of definitions in it.
        var count: Int {
            content.withLock {
                $0.definitions.count + $0.next.current.definitions.count
                    + $0.next.former.definitions.count
            }
        }

        fileprivate func empty() { content.withLock { $0 = Content() } }
    }

    private struct DefinitionSet {
        var definitions: RunnerServer.Definitions = [:] { didSet { fingerprints = [:] } }
        /// The fingerprints of the definitions that were requested.
        var fingerprints: [Job.Name: UInt64] = [:]

        mutating func definition(for order: RunOrder) -> Definition? {
            let job = order.run.firing.job
            guard let definition = definitions[job] else { return nil }
            let fingerprint = fingerprints[job] ?? definition.fingerprint
            fingerprints[job] = fingerprint
            return fingerprint == order.fingerprint ? definition : nil
        }
    }

    var isEmpty: Bool { current.definitions.isEmpty }

    func contains(_ job: Job.Name) -> Bool { current.definitions[job] != nil }

    /// The definition with which a run is started; nil if the job is unknown or has only other
    /// versions.
    mutating func definition(for order: RunOrder) -> Definition? {
        current.definition(for: order) ?? former.definition(for: order)
            ?? latest.definition(for: order)
    }

    /// Computes the definitions after this reading. With very many jobs this takes a while.
    ///
    /// - Parameters:
    ///   - kept: jobs whose definitions do not change, because their file has an error.
    ///   - isCheck: whether the files have changed and the scheduler has not requested a reload.
    func reading(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>, isCheck: Bool
    ) -> Reading {
        Reading(
            changes,
            Reading.Content(
                definitions: read,
                next: isCheck ? afterCheck(read, keeping: kept) : afterReload(read, keeping: kept)))
    }

    /// Applies the reading, and moves the previous definitions into it, because freeing them takes
    /// a while as well.
    ///
    /// - Returns: false if `keepFormer` or `forgetFormer` was called since the reading was
    ///   computed. Then it must be computed again.
    mutating func apply(_ reading: Reading) -> Bool {
        guard reading.changes == changes else { return false }
        reading.content.withLock { swap(&self, &$0.next) }
        return true
    }

    /// The definitions after the files were changed without a reload. A job that was deleted from
    /// them is not run any more; a job that was changed is run as it was when it fired.
    private func afterCheck(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>
    ) -> JobDefinitions {
        var next = self
        func exists(_ job: Job.Name) -> Bool { read[job] != nil || kept.contains(job) }
        next.current.definitions = current.definitions.filter { exists($0.key) }
        next.former.definitions = former.definitions.filter { exists($0.key) }
        next.latest.definitions = read.filter { next.current.definitions[$0.key] != $0.value }
        // Those that were missing once, while their file was written, are no current ones any more.
        for (job, definition) in latest.definitions
        where kept.contains(job) && read[job] == nil && next.current.definitions[job] == nil {
            next.latest.definitions[job] = definition
        }
        return next
    }

    private func afterReload(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>
    ) -> JobDefinitions {
        var next = self
        var read = read
        next.latest = DefinitionSet()
        for job in kept {
            guard let definition = current.definitions[job] ?? latest.definitions[job] else {
                continue
            }
            // A scheduler that starts now loads the files that have no error.
            if let other = read[job], other != definition { next.latest.definitions[job] = other }
            read[job] = definition
        }
        next.current.definitions = read
        // Most jobs do not change, and are not stored twice.
        next.former.definitions = former.definitions.filter { read[$0.key] != $0.value }
        return next
    }

    /// Keeps the current definitions beside those that are read next.
    mutating func keepFormer() {
        // Until a reload is finished, the scheduler uses the definitions from before the first of
        // several readings.
        guard !keepsFormer else { return }
        keepsFormer = true
        former = current
        changes += 1
    }

    /// Uses only the last reading from now on.
    ///
    /// - Returns: the previous definitions, for the caller to free.
    mutating func forgetFormer() -> Reading {
        let before = Reading(changes, Reading.Content())
        before.content.withLock { swap(&former, &$0.next.former) }
        keepsFormer = false
        changes += 1
        return before
    }
}

/// Reads the configuration on its own thread: with very many jobs that takes a while, and starts
/// and ends of runs must not wait for it.
final class DefinitionReader: Sendable {
    typealias Reading = Result<JobDefinitions.Reading, RunnerServer.Unreadable>

    private let read: @Sendable () -> Result<RunnerServer.Definitions, RunnerServer.Unreadable>
    private let kept: @Sendable () -> Set<Job.Name>
    private let freeFormer: @Sendable () -> Void
    private let done: @Sendable () -> Void
    private let finished = Mutex<Reading?>(nil)
    /// Counts the readings that are finished and not yet taken.
    private let finishedCount = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - read: reads the configuration; may take long.
    ///   - kept: the jobs that the last reading does not contain because of an error.
    ///   - freeFormer: frees what belongs to readings that are not used any more.
    ///   - done: called on another thread when `take` has a result.
    init(
        read: @escaping @Sendable () -> Result<RunnerServer.Definitions, RunnerServer.Unreadable>,
        kept: @escaping @Sendable () -> Set<Job.Name>,
        freeFormer: @escaping @Sendable () -> Void, done: @escaping @Sendable () -> Void
    ) {
        self.read = read
        self.kept = kept
        self.freeFormer = freeFormer
        self.done = done
    }

    /// Starts a reading. No other may be in progress, and the result of the last one must have been
    /// taken.
    ///
    /// - Parameters:
    ///   - definitions: those in use.
    ///   - isCheck: as for `JobDefinitions.reading`.
    func start(beside definitions: JobDefinitions, isCheck: Bool) {
        start { [read, kept] in
            read().map { definitions.reading($0, keeping: kept(), isCheck: isCheck) }
        }
    }

    /// The same for a configuration that was already read.
    func start(
        beside definitions: JobDefinitions, isCheck: Bool, with reading: JobDefinitions.Reading
    ) {
        start { [kept] in
            let read = reading.content.withLock { $0.definitions }
            reading.empty()
            return .success(definitions.reading(read, keeping: kept(), isCheck: isCheck))
        }
    }

    /// Frees the contents of a reading, on its own thread if there are many.
    func free(_ reading: JobDefinitions.Reading) {
        guard reading.count > Self.fewJobs else { return }
        _ = WorkerThread.start("timerd.config") { [freeFormer] in
            ThreadNice.reset()
            ThreadSlice.reset()
            reading.empty()
            freeFormer()
        }
    }

    private static let fewJobs = 1000

    private func start(_ body: @escaping @Sendable () -> Reading) {
        let code = WorkerThread.start("timerd.config") { [self] in
            // Reading is not urgent; starting runs is.
            ThreadNice.reset()
            ThreadSlice.reset()
            finish(body())
        }
        if code != 0 { finish(body()) }
    }

    private func finish(_ reading: Reading) {
        finished.withLock { $0 = reading }
        finishedCount.signal()
        done()
    }

    /// The result of the reading; nil if it is not finished. It is returned once.
    func take() -> Reading? {
        guard finishedCount.wait(timeout: .now()) == .success else { return nil }
        return finished.withLock { $0.take() }
    }

    /// Waits for the reading and returns it. A reading must be in progress.
    func wait() -> Reading {
        finishedCount.wait()
        return finished.withLock { $0.take() }
            ?? .failure(.init("another caller has taken the result"))
    }
}

/// Runs whose definitions are unknown until the configuration is read once more, and the commands
/// that arrived for them.
struct WaitingOrders {
    struct Waiting {
        var order: RunOrder
        /// The number of the first reading of the configuration that starts after the request
        /// arrived.
        var reading: UInt64
        /// The commands to execute after the start.
        var commands: [WireRequest] = []
        /// When the files were first found not to have its job, by CLOCK_MONOTONIC; nil: not yet.
        var missingSince: Int64?
        fileprivate var number: UInt64
    }

    private var waiting: [Run.ID: Waiting] = [:]
    private var last: UInt64 = 0
    /// The number of commands that wait.
    private(set) var commands = 0
    /// How many bytes of variables they have.
    private(set) var variableBytes = 0

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    mutating func append(_ order: RunOrder, until reading: UInt64) {
        last += 1
        variableBytes += order.variables.cost - (waiting[order.run]?.order.variables.cost ?? 0)
        waiting[order.run] = Waiting(order: order, reading: reading, number: last)
    }

    /// Queues a command if its run waits.
    /// - Returns: whether it was queued.
    mutating func hold(_ command: WireRequest, for run: Run.ID) -> Bool {
        guard !waiting.isEmpty, waiting[run] != nil else { return false }
        waiting[run]?.commands.append(command)
        commands += 1
        return true
    }

    /// Removes all of them, in the order in which they arrived.
    mutating func takeAll() -> [Waiting] {
        defer { (waiting, commands, variableBytes) = ([:], 0, 0) }
        return waiting.values.sorted { $0.number < $1.number }
    }

    /// Puts one back.
    mutating func keep(_ one: Waiting) {
        waiting[one.order.run] = one
        variableBytes += one.order.variables.cost
        commands += one.commands.count
    }
}
