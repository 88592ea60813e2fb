// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Time for tests: it passes only when the test says so, and each step is the same in every run.
///
/// ```swift
/// let time = ManualTime()
/// let queue = TimerQueue(time: time)
/// let timer = try PausableTimer.every(.seconds(2), on: queue) { tick in … }
/// time.advance(by: .seconds(5))   // returns when the handler has run at 2 s and at 4 s
/// ```
public final class ManualTime: TimeSource {
    private struct State: ~Copyable {
        var now: Now
        /// The wall clock in nanoseconds, which an instant of it is too coarse for.
        var wall: Int64
        var isAdvancing = false
        var alarms: [ManualAlarm] = []

        mutating func move(by nanoseconds: Int64, isAwake: Bool = true) {
            wall += nanoseconds
            now.wall = WallInstant(microsecondsSinceEpoch: wall / 1000)
            now.boot = BootInstant(nanoseconds: now.boot.nanoseconds + nanoseconds)
            guard isAwake else { return }
            now.awake = AwakeInstant(nanoseconds: now.awake.nanoseconds + nanoseconds)
        }
    }

    private let state: Lock<State>

    /// Time that begins at a reading of the clocks; by default an hour after a boot, on 2026-01-01 by the
    /// wall clock.
    public init(startingAt now: Now = ManualTime.start) {
        state = Lock(State(now: now, wall: now.wall.microsecondsSinceEpoch * 1000))
    }

    /// The reading that time begins with unless told otherwise.
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

    /// Lets so much time pass and handles what comes due at its instant, in the order in which it comes due.
    /// Returns when every handler has returned.
    ///
    /// Not to be called in a handler, nor on the queue of a timer: there, use `stall(for:)`.
    ///
    /// - Parameter span: not negative; zero handles what is due already.
    public func advance(by span: Duration) {
        precondition(span >= .zero, "time does not run backwards")
        let end = state.withLock { state -> AwakeInstant in
            precondition(
                !state.isAdvancing, "advance(by:) was called in a handler: call stall(for:) there")
            state.isAdvancing = true
            return state.now.awake + span
        }
        while let alarm = state.withLock({ state in
            Self.takeNext(from: &state, until: end)
        }) {
            alarm.queue.sync(execute: alarm.ring)
        }
        state.withLock { state in
            state.move(by: max(0, end.nanoseconds - state.now.awake.nanoseconds))
            state.isAdvancing = false
        }
    }

    /// Lets so much time pass in which nothing is handled, as if every queue was blocked. What came due
    /// meanwhile is handled late, in the next `advance(by:)`. In a handler, it is the time the handler takes.
    ///
    /// - Parameter span: not negative.
    public func stall(for span: Duration) {
        precondition(span >= .zero, "time does not run backwards")
        state.withLock { $0.move(by: span.wholeNanoseconds) }
    }

    /// Suspends the machine for so long: only the clocks that go on during a suspend move. What came due
    /// meanwhile is handled in the next `advance(by:)`.
    ///
    /// - Parameter span: not negative.
    public func sleep(for span: Duration) {
        precondition(span >= .zero, "time does not run backwards")
        state.withLock { state in
            state.move(by: span.wholeNanoseconds, isAwake: false)
            // As the kernel's alarms do after a suspend: whoever set them looks at the clocks again.
            for alarm in state.alarms { alarm.setAgain(at: state.now.awake) }
        }
    }

    /// Sets the wall clock forwards, or backwards by a negative span. No other clock moves.
    public func setWallClock(by span: Duration) {
        state.withLock { state in
            state.wall += span.wholeNanoseconds
            state.now.wall = WallInstant(microsecondsSinceEpoch: state.wall / 1000)
        }
    }

    /// Takes the alarm that rings first, if one does by `end`, and moves the clocks to its instant.
    private static func takeNext(from state: inout State, until end: AwakeInstant) -> ManualAlarm? {
        var first: (alarm: ManualAlarm, instant: AwakeInstant)?
        for alarm in state.alarms {
            guard let instant = alarm.instant, instant <= end else { continue }
            // Of two at one instant, the one that was made first.
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

/// An alarm of manual time: no more than the instant it is set to.
private final class ManualAlarm: Alarm {
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
