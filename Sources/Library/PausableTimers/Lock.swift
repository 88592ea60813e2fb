// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

// On Linux, Thread Sanitizer does not know Mutex, which uses a futex directly, and reports a race
// for every value that it protects. With PTHREAD_LOCKS, the locks are pthread locks, which it
// knows.
#if PTHREAD_LOCKS
    /// Unchecked because the compiler does not know that a pthread lock protects the value.
    ///
    /// A value and the lock that protects it.
    final class Lock<Value: ~Copyable>: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private var value: Value

        init(_ value: consuming sending Value) {
            self.value = value
            mutex = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        func withLock<Result: ~Copyable>(_ body: (inout Value) -> sending Result) -> sending Result
        {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return body(&value)
        }
    }
#else
    /// A value and the lock that protects it.
    struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
        private let mutex: Mutex<Value>

        @inline(__always)
        init(_ value: consuming sending Value) { mutex = Mutex(value) }

        @inline(__always)
        borrowing func withLock<Result: ~Copyable>(
            _ body: (inout sending Value) -> sending Result
        ) -> sending Result {
            mutex.withLock(body)
        }
    }
#endif
