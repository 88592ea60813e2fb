// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// What the configuration says of the jobs' runs, as it was read last, and for as long as the scheduler takes it over,
/// as it was before.
struct JobDefinitions: Sendable {
    private var current = Known()
    private var former = Known()
    /// What has changed in the files, before the scheduler has asked for a reload.
    private var latest = Known()
    private var keepsFormer = false
    /// How often `keepFormer` and `forgetFormer` were called.
    private var changes: UInt64 = 0

    /// The result of one reading. It is a class so that a chosen thread can free what is in it.
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

        /// How many definitions it has.
        var count: Int {
            content.withLock {
                $0.definitions.count + $0.next.current.definitions.count
                    + $0.next.former.definitions.count
            }
        }

        fileprivate func empty() { content.withLock { $0 = Content() } }
    }

    private struct Known {
        var definitions: RunnerServer.Definitions = [:] { didSet { fingerprints = [:] } }
        /// Of those definitions that were asked for.
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

    /// The definition that a run is to be started by; nil if there is none of its job, or other ones.
    mutating func definition(for order: RunOrder) -> Definition? {
        current.definition(for: order) ?? former.definition(for: order)
            ?? latest.definition(for: order)
    }

    /// Works out the definitions after this reading. With very many jobs this takes a while.
    ///
    /// - Parameters:
    ///   - kept: jobs that stay as they are, since their file has an error.
    ///   - isCheck: whether the files have changed, and the scheduler has not asked for a reload.
    func reading(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>, isCheck: Bool
    ) -> Reading {
        Reading(
            changes,
            Reading.Content(
                definitions: read,
                next: isCheck ? checked(read, keeping: kept) : taken(read, keeping: kept)))
    }

    /// Uses the reading, and leaves the previous definitions in it, since freeing them takes a while as well.
    ///
    /// - Returns: false if `keepFormer` or `forgetFormer` was called meanwhile. Then it has to be worked out again.
    mutating func go(by reading: Reading) -> Bool {
        guard reading.changes == changes else { return false }
        reading.content.withLock { swap(&self, &$0.next) }
        return true
    }

    /// The files were changed, and this is in them. A job that is deleted from them is not run any more; one that is
    /// changed is run as it was when it fired.
    private func checked(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>
    ) -> JobDefinitions {
        var next = self
        func isThere(_ job: Job.Name) -> Bool { read[job] != nil || kept.contains(job) }
        next.current.definitions = current.definitions.filter { isThere($0.key) }
        next.former.definitions = former.definitions.filter { isThere($0.key) }
        next.latest.definitions = read.filter { next.current.definitions[$0.key] != $0.value }
        return next
    }

    private func taken(
        _ read: RunnerServer.Definitions, keeping kept: Set<Job.Name>
    ) -> JobDefinitions {
        var next = self
        var read = read
        next.latest = Known()
        for job in kept {
            guard let definition = current.definitions[job] else { continue }
            // A scheduler that is started now loads what has no error.
            if let other = read[job], other != definition { next.latest.definitions[job] = other }
            read[job] = definition
        }
        next.current.definitions = read
        // Most jobs stay as they are, and are not kept twice.
        next.former.definitions = former.definitions.filter { read[$0.key] != $0.value }
        return next
    }

    /// From here on what is read next does not replace what is there now, but is beside it.
    mutating func keepFormer() {
        // Until a reload is finished, the scheduler uses the definitions from before the first of several readings.
        guard !keepsFormer else { return }
        keepsFormer = true
        former = current
        changes += 1
    }

    /// From now on only the last reading counts.
    ///
    /// - Returns: the definitions from before, to be freed.
    mutating func forgetFormer() -> Reading {
        let before = Reading(changes, Reading.Content())
        before.content.withLock { swap(&former, &$0.next.former) }
        keepsFormer = false
        changes += 1
        return before
    }
}

/// Reads the configuration on a thread of its own: of very many jobs it takes a while, and starts and ends of runs do
/// not wait for it.
final class DefinitionReader: Sendable {
    typealias Reading = Result<JobDefinitions.Reading, RunnerServer.Unreadable>

    private let read: @Sendable () -> Result<RunnerServer.Definitions, RunnerServer.Unreadable>
    private let kept: @Sendable () -> Set<Job.Name>
    private let freeFormer: @Sendable () -> Void
    private let done: @Sendable () -> Void
    private let finished = Mutex<Reading?>(nil)
    /// Counts the readings that are finished and not taken.
    private let isThere = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - read: reads it; may take its time.
    ///   - kept: the jobs of which the last reading says nothing because of an error.
    ///   - freeFormer: frees what belongs to readings that are not used any more.
    ///   - done: called on another thread when `take` has something.
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

    /// Begins a reading. There is none in progress, and the last one was taken.
    ///
    /// - Parameters:
    ///   - definitions: those in use.
    ///   - isCheck: as of `JobDefinitions.reading`.
    func begin(beside definitions: JobDefinitions, isCheck: Bool) {
        start { [read, kept] in
            read().map { definitions.reading($0, keeping: kept(), isCheck: isCheck) }
        }
    }

    /// The same for what was read already.
    func begin(
        beside definitions: JobDefinitions, isCheck: Bool, with reading: JobDefinitions.Reading
    ) {
        start { [kept] in
            let read = reading.content.withLock { $0.definitions }
            reading.empty()
            return .success(definitions.reading(read, keeping: kept(), isCheck: isCheck))
        }
    }

    /// Frees what is in a reading: on a thread of its own if that is much.
    func free(_ reading: JobDefinitions.Reading) {
        guard reading.count > Self.fewJobs else { return }
        _ = WorkerThread.start("timerd.config") { [freeFormer] in
            ThreadNice.reset()
            reading.empty()
            freeFormer()
        }
    }

    private static let fewJobs = 1000

    private func start(_ body: @escaping @Sendable () -> Reading) {
        let code = WorkerThread.start("timerd.config") { [self] in
            // It has time; what starts runs has none.
            ThreadNice.reset()
            finish(body())
        }
        if code != 0 { finish(body()) }
    }

    private func finish(_ reading: Reading) {
        finished.withLock { $0 = reading }
        isThere.signal()
        done()
    }

    /// What was read; nil if it is not there yet. It is handed out once.
    func take() -> Reading? {
        guard isThere.wait(timeout: .now()) == .success else { return nil }
        return finished.withLock { $0.take() }
    }

    /// The same, and waits for it. A reading must have begun.
    func wait() -> Reading {
        isThere.wait()
        return finished.withLock { $0.take() } ?? .failure(.init("it was read by somebody else"))
    }
}

/// Runs whose definitions are not known, until the configuration was read once more; and what was said of them since.
struct WaitingOrders {
    struct Waiting {
        var order: RunOrder
        /// The number of the first reading of the configuration that begins after the order came.
        var reading: UInt64
        /// What is to be done behind the start.
        var commands: [WireRequest] = []
        fileprivate var number: UInt64
    }

    private var waiting: [Run.ID: Waiting] = [:]
    private var last: UInt64 = 0
    /// How many commands wait.
    private(set) var commands = 0

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    mutating func append(_ order: RunOrder, until reading: UInt64) {
        last += 1
        waiting[order.run] = Waiting(order: order, reading: reading, number: last)
    }

    /// Has a command wait if it is for a run that waits.
    /// - Returns: whether it does.
    mutating func hold(_ command: WireRequest, for run: Run.ID) -> Bool {
        guard !waiting.isEmpty, waiting[run] != nil else { return false }
        waiting[run]?.commands.append(command)
        commands += 1
        return true
    }

    /// Takes all of them out, in the order in which they came.
    mutating func takeAll() -> [Waiting] {
        defer { (waiting, commands) = ([:], 0) }
        return waiting.values.sorted { $0.number < $1.number }
    }

    /// Puts one back.
    mutating func keep(_ one: Waiting) {
        waiting[one.order.run] = one
        commands += one.commands.count
    }
}
