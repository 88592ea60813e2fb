// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TimerStore

/// Writes the log of the store into its database, on a queue of its own: what is recorded meanwhile does not wait for
/// that.
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
            // The next time begins with a new connection.
            checkpointer = nil
            return error
        }
    }
}

/// Decides when the log of the store is written into its database: at a certain size. While very much is recorded, the
/// log may not begin anew behind that; then it is not written each time, but as often as it has grown by so much again.
struct LogCheckpoints {
    private let writer = LogWriter()
    /// Whether the log is being written into the database.
    private(set) var isUnderWay = false
    /// Its size when that was last begun.
    private var lastSize: Int64 = 0
    private var hasFailed = false
    /// What is to be done behind it.
    private var waiting: [@Sendable (isolated Recorder) -> Void] = []

    /// Begins to write it, unless it is too short or that is under way.
    ///
    /// - Parameters:
    ///   - size: its size now, in bytes; `limit` is the size at which it is to be written.
    ///   - isCalm: whether no more is recorded at once.
    ///   - done: called on any queue.
    mutating func begin(
        _ path: String, size: Int64, limit: Int64, isCalm: Bool,
        _ done: @escaping @Sendable (StoreError?) -> Void
    ) {
        guard !isUnderWay else { return }
        // It began anew.
        if size < lastSize { lastSize = 0 }
        guard size >= limit, isCalm || size >= lastSize + limit else { return }
        lastSize = size
        isUnderWay = true
        writer.write(path, done)
    }

    /// - Returns: what waited for it, and whether it failed and did not the time before.
    mutating func end(
        _ failure: StoreError?
    ) -> (waiting: [@Sendable (isolated Recorder) -> Void], isNewFailure: Bool) {
        isUnderWay = false
        let isNew = failure != nil && !hasFailed
        hasFailed = failure != nil
        defer { waiting = [] }
        return (waiting, isNew)
    }

    /// Has this done when it is over.
    mutating func wait(_ body: @escaping @Sendable (isolated Recorder) -> Void) {
        waiting.append(body)
    }
}
