// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Time for tests. It passes only when the test says so, and all steps are the same in every run.
///
/// ```swift
/// let time = ManualTime()
/// let queue = TimerQueue(time: time)
/// let timer = try PausableTimer.every(.seconds(2), on: queue) { tick in … }
/// time.advance(by: .seconds(5))   // returns after the handler has run at 2 s and at 4 s
/// ```
public final class ManualTime: TimeSource {
    private struct State: ~Copyable {
        var now: Now
        /// The wall clock in nanoseconds. `WallInstant` has only microseconds.
        var wall: Int64
        var isAdvancing = false
        var alarms: [ManualAlarm] = []

        mutating func move(by nanoseconds: Int64, isAwake: Bool = true) {
            wall = wall.adding(clamping: nanoseconds)
            now.wall = WallInstant(microsecondsSinceEpoch: wall / 1000)
            now.boot = BootInstant(nanoseconds: now.boot.nanoseconds.adding(clamping: nanoseconds))
            guard isAwake else { return }
            now.awake = AwakeInstant(
                nanoseconds: now.awake.nanoseconds.adding(clamping: nanoseconds))
        }
    }

    private let state: Lock<State>
    /// The tasks that work because of ticks.
    let activity = Activity()

    /// Creates a time that starts at a reading of the clocks; by default one hour after a boot, on
    /// 2026-01-01 by the wall clock.
    public init(startingAt now: Now = ManualTime.start) {
        state = Lock(
            State(now: now, wall: now.wall.microsecondsSinceEpoch.multiplied(clampingBy: 1000)))
    }

    /// The default reading at which time starts: 2026-01-01 00:00 UTC.
    public static let start: Now = {
        guard let boot = BootID("00000000-0000-4000-8000-000000000001") else {
            preconditionFailure("A UUID is a boot id.")
        }
        return Now(
            wall: WallInstant(secondsSinceEpoch: 1_767_225_600),
            awake: AwakeInstant(nanoseconds: 3_600_000_000_000),
            boot: BootInstant(nanoseconds: 3_600_000_000_000), bootID: boot)
    }()

    public func now() -> Now { state.withLock { $0.now } }

    public func makeAlarm(
        on queue: DispatchQueue, _ ring: @escaping @Sendable () -> Void
    ) -> any Alarm {
        let alarm = ManualAlarm(time: self, queue: queue, ring: ring)
        state.withLock { $0.alarms.append(alarm) }
        return alarm
    }

    /// Lets this much time pass, and handles each timer at the instant at which it is due, in that
    /// order. Returns when all handlers have returned.
    ///
    /// It must not be called in a handler or on the queue of a timer; use `stall(for:)` there. It
    /// does not wait for tasks, as `advanceWithTasks(by:)` does.
    ///
    /// - Parameter span: not negative; zero handles the timers that are already due.
    public func advance(by span: Duration) {
        let end = beginAdvance(by: span)
        while let alarm = nextAlarm(until: end) { alarm.queue.sync(execute: alarm.ring) }
        endAdvance(at: end)
    }

    func beginAdvance(by span: Duration) -> AwakeInstant {
        precondition(span >= .zero, "time does not run backwards")
        return state.withLock { state -> AwakeInstant in
            precondition(
                !state.isAdvancing, "advance(by:) was called in a handler: call stall(for:) there")
            state.isAdvancing = true
            return state.now.awake + span
        }
    }

    func nextAlarm(until end: AwakeInstant) -> ManualAlarm? {
        state.withLock { state in Self.takeNext(from: &state, until: end) }
    }

    func endAdvance(at end: AwakeInstant) {
        state.withLock { state in
            state.move(by: max(0, end.nanoseconds - state.now.awake.nanoseconds))
            state.isAdvancing = false
        }
    }

    /// Lets this much time pass without handling anything, as if all queues were blocked. Timers
    /// that are due meanwhile are handled late, in the next `advance(by:)`. In a handler, this
    /// simulates the duration of the handler.
    ///
    /// - Parameter span: not negative.
    public func stall(for span: Duration) {
        precondition(span >= .zero, "time does not run backwards")
        state.withLock { $0.move(by: span.wholeNanoseconds) }
    }

    /// Suspends the machine for this long: only the clocks that advance during a suspend advance.
    /// Timers that are due meanwhile are handled in the next `advance(by:)`.
    ///
    /// - Parameter span: not negative.
    public func sleep(for span: Duration) {
        precondition(span >= .zero, "time does not run backwards")
        state.withLock { state in
            state.move(by: span.wholeNanoseconds, isAwake: false)
            // The kernel's alarms do the same after a suspend: their owners read the clocks again.
            for alarm in state.alarms { alarm.setAgain(at: state.now.awake) }
        }
    }

    /// Sets the wall clock forward, or back with a negative span. The other clocks do not change.
    public func setWallClock(by span: Duration) {
        state.withLock { state in
            state.wall = state.wall.adding(clamping: span.wholeNanoseconds)
            state.now.wall = WallInstant(microsecondsSinceEpoch: state.wall / 1000)
        }
    }

    /// Returns the alarm that expires first, if one expires until `end`, and sets the clocks to its
    /// instant.
    private static func takeNext(from state: inout State, until end: AwakeInstant) -> ManualAlarm? {
        var first: (alarm: ManualAlarm, instant: AwakeInstant)?
        for alarm in state.alarms {
            guard let instant = alarm.instant, instant <= end else { continue }
            // If two alarms expire at the same instant, the one that was created first is used.
            if first.map({ instant < $0.instant }) ?? true { first = (alarm, instant) }
        }
        guard let first else { return nil }
        first.alarm.spend()
        state.move(by: max(0, first.instant.nanoseconds - state.now.awake.nanoseconds))
        return first.alarm
    }

    fileprivate func remove(_ alarm: ManualAlarm) {
        state.withLock { $0.alarms.removeAll { $0 === alarm } }
    }
}

/// An alarm of the manual time. It only stores the instant to which it is set.
final class ManualAlarm: Alarm {
    let queue: DispatchQueue
    let ring: @Sendable () -> Void
    private weak let time: ManualTime?
    private let setTo = Lock<AwakeInstant?>(nil)

    init(time: ManualTime, queue: DispatchQueue, ring: @escaping @Sendable () -> Void) {
        self.time = time
        self.queue = queue
        self.ring = ring
    }

    var instant: AwakeInstant? { setTo.withLock { $0 } }

    func set(_ instant: AwakeInstant?) { setTo.withLock { $0 = instant } }

    func spend() { set(nil) }

    func setAgain(at now: AwakeInstant) { setTo.withLock { if $0 != nil { $0 = now } } }

    func cancel() { time?.remove(self) }
}
