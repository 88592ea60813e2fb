// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// CPU time of the whole process, including its threads and the kernel's work for them, in
/// nanoseconds.
func processorTime() -> Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }

func now() -> Int64 { read(CLOCK_MONOTONIC) }

private func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

@inline(never)
func consume(_: Int) {}

func giveUp(_ why: String) -> Never {
    let line = Array("TimerBench: \(why)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}

/// Counts ticks, and wakes the thread that waits for half of them or for all.
final class Counter: Sendable {
    private let goal: Int
    private let value = Atomic(0)
    private let half = DispatchSemaphore(value: 0)
    private let whole = DispatchSemaphore(value: 0)

    init(_ goal: Int) { self.goal = goal }

    var count: Int { value.load(ordering: .relaxed) }

    func tick() {
        let count = value.add(1, ordering: .relaxed).newValue
        if count == goal / 2 { half.signal() }
        if count == goal { whole.signal() }
    }

    func waitForHalf() { half.wait() }
    func waitForAll() { whole.wait() }
}

/// The instants of all ticks.
final class Instants: Sendable {
    private let values: Mutex<[Int64]>

    init(room: Int) {
        var values: [Int64] = []
        values.reserveCapacity(room)
        self.values = Mutex(values)
    }

    var all: [Int64] { values.withLock { $0 } }
    func append(_ instant: Int64) { values.withLock { $0.append(instant) } }
}

/// How often a thread of the process, including threads that have ended, waited for something and
/// was woken up.
func wakeUps() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_nvcsw
}
