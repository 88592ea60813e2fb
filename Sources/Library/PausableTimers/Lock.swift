// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value and the lock that protects it.
///
/// On Linux, Thread Sanitizer does not know Mutex, which uses a futex directly, and would report a
/// race for every value that it protects. Therefore the library reports to it each lock that it
/// takes and releases, in the programs that are built with it.
struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    /// The address by which Thread Sanitizer knows the lock; 0 in programs without it.
    private let sanitized: UInt

    @inline(__always)
    init(_ value: consuming sending Value) {
        mutex = Mutex(value)
        sanitized = Platform.sanitizer == nil ? 0 : UInt(bitPattern: Self.makeAddress())
    }

    deinit { if sanitized != 0 { UnsafeMutableRawPointer(bitPattern: sanitized)?.deallocate() } }

    @inline(__always)
    borrowing func withLock<Result: ~Copyable>(
        _ body: (inout sending Value) -> sending Result
    ) -> sending Result {
        mutex.withLock { value in
            if sanitized != 0 { Self.annotate(sanitized, isTaken: true) }
            defer { if sanitized != 0 { Self.annotate(sanitized, isTaken: false) } }
            return body(&value)
        }
    }

    private static func makeAddress() -> UnsafeMutableRawPointer {
        .allocate(byteCount: 8, alignment: 8)
    }

    @inline(never)
    private static func annotate(_ address: UInt, isTaken: Bool) {
        guard let sanitizer = Platform.sanitizer, let lock = UnsafeRawPointer(bitPattern: address)
        else { return }
        (isTaken ? sanitizer.acquire : sanitizer.release)(lock)
    }
}
