// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// Reads the configuration on its own thread: with very many jobs that takes a while, and starts
/// and ends of runs must not wait for it.
final class DefinitionReader: Sendable {
    typealias Reading = Result<JobDefinitions.Reading, RunnerServer.Unreadable>

    typealias Read =
        @Sendable (RunnerServer.Definitions?) -> Result<
            RunnerServer.Definitions, RunnerServer.Unreadable
        >

    private let read: Read
    private let kept: @Sendable () -> Set<Job.Name>
    private let freeFormer: @Sendable () -> Void
    private let done: @Sendable () -> Void
    private let finished = Mutex<Reading?>(nil)
    /// Counts the readings that are finished and not yet taken.
    private let finishedCount = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - read: reads the configuration, as `RunnerServer.Settings.definitions`; may take long.
    ///   - kept: the jobs that the last reading does not contain because of an error.
    ///   - freeFormer: frees what belongs to readings that are not used any more.
    ///   - done: called on another thread when `take` has a result.
    init(
        read: @escaping Read,
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
            read(definitions.last).map {
                definitions.reading($0, keeping: kept(), isCheck: isCheck)
            }
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
            // Reading is not urgent; starting runs is. So this thread gets the usual priority.
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
