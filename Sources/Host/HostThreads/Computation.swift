// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A value that a thread of its own computes, while the caller does something else.
///
/// It belongs to one thread, the one that made it.
package final class Computation<Value: Sendable> {
    private final class Result: Sendable {
        let value = Mutex<Value?>(nil)
    }

    private let result = Result()
    /// Nil once the thread has ended.
    private var thread: pthread_t?

    /// Starts the thread. If there can be none, the value is computed before this returns.
    ///
    /// - Parameter name: the name of the thread; at most 15 bytes.
    package init(_ name: String, _ body: @escaping @Sendable () -> Value) {
        let run = { @Sendable [result] in
            let value = body()
            result.value.withLock { $0 = value }
        }
        var id = pthread_t()
        if WorkerThread.create(name, run, &id) == 0 { thread = id } else { run() }
    }

    deinit { join() }

    /// The value. It is waited for if it is not there yet.
    package func value() -> Value {
        join()
        guard let value = result.value.withLock({ $0 }) else {
            preconditionFailure("A thread that has ended has computed its value.")
        }
        return value
    }

    private func join() {
        guard let thread else { return }
        pthread_join(thread, nil)
        self.thread = nil
    }
}
