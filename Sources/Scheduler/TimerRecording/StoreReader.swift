// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import Synchronization
import TimerStore

/// Reads from the store with its own connection and queue. With a write-ahead log, SQLite allows a
/// reader while another connection writes, so that large readings do not delay the recording of
/// runs.
actor StoreReader: QueueActor {
    /// How long one reading may take. If it takes longer, its result is not used.
    static let limit: Duration = .seconds(10)
    /// How many readings may wait. Each belongs to a connection of the control socket, of which
    /// there are fewer.
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
    ///   - path: the database, which has its tables already.
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
            // The next reading opens a new connection.
            store = nil
            return .failure(error)
        }
    }
}
