// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Synchronization

/// What the handlers recorded, in order.
final class Log<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }
    var count: Int { elements.withLock { $0.count } }

    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}

extension Log<Tick> {
    /// The ticks in milliseconds since the start of the manual time.
    var scheduled: [Int] { all.map { ($0.scheduled - ManualTime.start.awake).milliseconds } }
    var actual: [Int] { all.map { ($0.actual - ManualTime.start.awake).milliseconds } }
    var missed: [Int] { all.map(\.missed) }
}

extension Duration {
    var milliseconds: Int { Int(self / .milliseconds(1)) }
}

/// A queue whose time passes only when the test says so.
struct Fixture {
    let time = ManualTime()
    let queue: TimerQueue
    let log = Log<Tick>()

    init() { queue = TimerQueue(label: "test", time: time) }

    func every(
        _ milliseconds: Int, first: FirstTick? = nil, times: Int? = nil, tolerance: Int = 0,
        counting basis: TimeBasis = .active, paused: Bool = false, restoring: TimerAccount? = nil
    ) throws -> PausableTimer {
        try .every(
            .milliseconds(milliseconds), first: first, times: times,
            tolerance: .milliseconds(tolerance), counting: basis, paused: paused,
            restoring: restoring, on: queue, handler: { log.append($0) })
    }

    func after(
        _ milliseconds: Int, counting basis: TimeBasis = .active, paused: Bool = false,
        restoring: TimerAccount? = nil
    ) throws -> PausableTimer {
        try .after(
            .milliseconds(milliseconds), counting: basis, paused: paused, restoring: restoring,
            on: queue, handler: { log.append($0) })
    }

    func advance(_ milliseconds: Int) { time.advance(by: .milliseconds(milliseconds)) }
    func stall(_ milliseconds: Int) { time.stall(for: .milliseconds(milliseconds)) }
}

/// An object that records when it is released.
final class Owner: Sendable {
    let gone: Log<Bool>

    init(_ gone: Log<Bool>) { self.gone = gone }
    deinit { gone.append(true) }
}
