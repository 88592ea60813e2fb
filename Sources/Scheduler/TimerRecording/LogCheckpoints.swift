// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import TimerStore

/// Writes the write-ahead log of the store into its database, on a queue of its own, so that
/// records do not wait for it.
actor LogWriter: QueueActor {
    nonisolated let executor = QueueExecutor(label: "timerd.checkpoint", qos: .utility)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private var checkpointer: LogCheckpointer?

    /// - Parameters:
    ///   - path: the database, which is open.
    ///   - done: called on this queue.
    nonisolated func write(
        _ path: String, _ done: @escaping @Sendable (StoreError?) -> Void
    ) {
        later { writer in done(writer.write(path)) }
    }

    private func write(_ path: String) -> StoreError? {
        do throws(StoreError) {
            let checkpointer =
                if let checkpointer { checkpointer } else { try LogCheckpointer(path: path) }
            self.checkpointer = checkpointer
            try checkpointer.run()
            return nil
        } catch {
            // The next checkpoint opens a new connection.
            checkpointer = nil
            return error
        }
    }
}

/// Decides when the write-ahead log of the store is written into its database: when it has reached
/// a certain size. Under a high load SQLite may not be able to restart the log after that. Then the
/// next checkpoint comes when the log has grown by the same size again.
struct LogCheckpoints {
    private let writer = LogWriter()
    /// Whether a checkpoint is in progress.
    private(set) var isUnderWay = false
    /// The size of the log when the last checkpoint started.
    private var lastSize: Int64 = 0
    private var hasFailed = false
    /// The work that waits for the end of the checkpoint.
    private var waiting: [@Sendable (isolated Recorder) -> Void] = []

    /// Starts a checkpoint, unless the log is too short or one is in progress.
    ///
    /// - Parameters:
    ///   - size: the present size of the log, in bytes; `limit` is the size at which it is written.
    ///   - isCalm: whether no further records are waiting.
    ///   - done: called on any queue.
    mutating func begin(
        _ path: String, size: Int64, limit: Int64, isCalm: Bool,
        _ done: @escaping @Sendable (StoreError?) -> Void
    ) {
        guard !isUnderWay else { return }
        // A smaller log than last time has restarted.
        if size < lastSize { lastSize = 0 }
        guard size >= limit, isCalm || size >= lastSize + limit else { return }
        lastSize = size
        isUnderWay = true
        writer.write(path, done)
    }

    /// - Returns: the work that waited for the checkpoint, and whether it failed for the first time
    ///   after a success.
    mutating func end(
        _ failure: StoreError?
    ) -> (waiting: [@Sendable (isolated Recorder) -> Void], isNewFailure: Bool) {
        isUnderWay = false
        let isNew = failure != nil && !hasFailed
        hasFailed = failure != nil
        defer { waiting = [] }
        return (waiting, isNew)
    }

    /// Runs `body` when the checkpoint is over.
    mutating func wait(_ body: @escaping @Sendable (isolated Recorder) -> Void) {
        waiting.append(body)
    }
}
