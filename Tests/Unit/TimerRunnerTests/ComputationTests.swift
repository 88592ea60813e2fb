// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostThreads
import Testing

@Suite struct ComputationTests {
    @Test func computesOnAnotherThread_andKeepsTheValue() {
        let computation = Computation("test.value") { pthread_self() }
        let thread = computation.value()
        #expect(pthread_equal(thread, pthread_self()) == 0)
        #expect(pthread_equal(thread, computation.value()) != 0)
    }

    /// Each waits for the other, which a value that is computed at once, or only when it is asked
    /// for, could not.
    @Test func runsWhileItsOwnerDoesSomethingElse() {
        let (begun, allowed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let computation = Computation("test.turns") {
            begun.signal()
            allowed.wait()
            return "done"
        }
        begun.wait()
        allowed.signal()
        #expect(computation.value() == "done")
    }

    @Test func hasEndedWhenItsObjectIsGone_evenIfNobodyWantsTheValue() {
        let (allowed, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var computation: Computation<Int>? = Computation("test.unused") {
            allowed.wait()
            ended.signal()
            return 1
        }
        withExtendedLifetime(computation) { _ = allowed.signal() }
        computation = nil
        #expect(ended.wait(timeout: .now()) == .success)
    }
}
