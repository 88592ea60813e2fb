// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerStore

/// Reads from the store by a connection of its own, on a queue of its own: with its log, SQLite lets a reader in while
/// another connection writes, and so nobody who reads much delays the recording of a run.
actor StoreReader: QueueActor {
    /// How long one reading may take. What it has found by then is not given out.
    static let limit: Duration = .seconds(10)
    /// How many readings may wait. Each is asked for by a connection to the control socket, of which there are fewer.
    static let waitingMax = 256

    nonisolated let executor = QueueExecutor(label: "timerd.readings", qos: .utility)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private nonisolated let waiting = Atomic(0)
    private var store: Store?

    /// Reads what is written by now.
    ///
    /// - Parameters:
    ///   - path: the database, whose tables are made.
    ///   - done: called on the reader's queue, or at once if too many readings wait.
    nonisolated func read<Value: Sendable>(
        _ path: String, _ body: @escaping @Sendable (Store) throws(StoreError) -> Value,
        _ done: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= Self.waitingMax else {
            waiting.wrappingSubtract(1, ordering: .relaxed)
            return done(
                .failure(
                    StoreError(
                        code: .busy, path: path,
                        what: "\(Self.waitingMax) others wait to read from it",
                        hint: "try again later")))
        }
        later { reader in
            let result = reader.read(path, body)
            reader.waiting.wrappingSubtract(1, ordering: .relaxed)
            done(result)
        }
    }

    private func read<Value: Sendable>(
        _ path: String, _ body: (Store) throws(StoreError) -> Value
    ) -> Result<Value, StoreError> {
        do throws(StoreError) {
            let store = if let store { store } else { try Store(readingBeside: path) }
            self.store = store
            store.limit(to: Self.limit)
            return .success(try body(store))
        } catch {
            // The next one begins with a new connection.
            store = nil
            return .failure(error)
        }
    }
}
