// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Testing

/// Runs each test of a suite on one of a few threads that are for these tests only.
///
/// They wait for programs most of the time, and block their thread meanwhile. Swift has one thread for
/// each processor, so that with two of them only two tests would run at a time.
struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(TestThreads.shared) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    static var ownThreads: Self { Self() }
}

private final class TestThreads: TaskExecutor {
    static let shared = TestThreads(4)

    private let jobs = Mutex<ArraySlice<UnownedJob>>([])
    private let waiting = DispatchSemaphore(value: 0)

    private init(_ count: Int) {
        for _ in 0..<count {
            Thread.detachNewThread { [self] in
                while true {
                    waiting.wait()
                    let job = jobs.withLock { $0.removeFirst() }
                    job.runSynchronously(on: asUnownedTaskExecutor())
                }
            }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        waiting.signal()
    }
}
