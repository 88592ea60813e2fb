// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch
import Timekeeping

/// A serial queue, with all timers whose ticks it handles. One alarm wakes it up for the earliest
/// of them.
///
/// Handlers run on the queue one after the other, so a slow handler delays the other timers of its
/// queue. A handler that must not wait for others needs another queue: its own `TimerQueue`, or a
/// `handlerQueue` for the timer. Queues do not delay one another.
///
/// The timers keep their queue alive, and the queue does not keep the timers alive. It can be used
/// from any thread.
public final class TimerQueue: Sendable {
    /// The queue of timers for which no queue is given.
    public static let shared = TimerQueue(label: "PausableTimers.shared")
    /// The queue of timers on the main queue. It runs in `dispatchMain()`, in a main run loop, and
    /// in `async` programs.
    public static let main = TimerQueue(.main)

    /// The queue that runs the handlers of timers that have no other queue for them.
    public let queue: DispatchQueue

    private enum Source: Sendable {
        /// The clocks of the machine, which are read directly, without a call through the protocol.
        case system
        case other(any TimeSource)
    }

    private let source: Source
    /// The tasks that work because of ticks, for a manual time; nil for other times.
    let activity: Activity?
    private let state: Lock<QueueState>

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - label: the name of the queue in debuggers and profilers.
    ///   - qos: the quality of service of its work.
    ///   - time: the clocks and the alarms; by default those of the machine.
    public convenience init(
        label: String = "PausableTimers", qos: DispatchQoS = .default,
        time: any TimeSource = SystemTime()
    ) {
        self.init(DispatchQueue(label: label, qos: qos), time: time)
    }

    /// Creates a timer queue that uses an existing dispatch queue. Handlers run one after the
    /// other, even if that queue is concurrent.
    public init(_ queue: DispatchQueue, time: any TimeSource = SystemTime()) {
        self.queue = queue
        source = time is SystemTime ? .system : .other(time)
        activity = (time as? ManualTime)?.activity
        state = Lock(QueueState())
    }

    deinit { state.withLock { $0.alarm.cancel() } }

    /// One reading of all its clocks.
    @inline(never)
    public func now() -> Now {
        switch source {
        case .system: SystemTime().now()
        case .other(let time): time.now()
        }
    }

    private func reading(withSleep: Bool) -> Reading {
        switch source {
        case .system:
            return Reading(
                awake: AwakeInstant(nanoseconds: Platform.monotonicNanoseconds),
                boot: BootInstant(nanoseconds: withSleep ? Platform.boottimeNanoseconds : 0))
        case .other(let time):
            let now = time.now()
            return Reading(awake: now.awake, boot: now.boot)
        }
    }

    /// Creates the alarm. The caller holds the lock of the queue.
    func makeAlarm() -> any Alarm {
        let ring: @Sendable () -> Void = { [weak self] in self?.ring() }
        switch source {
        case .system: return SystemAlarm(on: queue, ring)
        case .other(let time): return time.makeAlarm(on: queue, ring)
        }
    }

    /// Sets the alarm that detects a sleep of the machine. The caller holds the lock of the queue.
    func setGuard(for first: BootInstant, in alarm: inout QueueAlarm) {
        alarm.setGuard(for: first, at: now()) {
            SystemAlarm(on: queue) { [weak self] in self?.ring() }
        }
    }

    // MARK: - Timers

    func insert(_ row: consuming Row) -> TimerReference {
        // A closure cannot consume a captured value, so the row is moved out of an optional.
        var made: Row? = row
        let (slot, generation) = state.withLock { state in
            var row = made.take()!
            let now = reading(withSleep: state.sleepCounters > 0 || row.countsSleep)
            if row.phase == .running { row.ledger.open(at: now.counted(row.basis)) }
            row.pausedAt = now.counted(row.basis)
            let inserted = state.insert(row, at: now)
            state.setAlarm(of: self, at: now, isRinging: false)
            return inserted
        }
        return TimerReference(queue: self, slot: Int32(slot), generation: generation)
    }

    /// The visible properties of a timer; nil if it was released.
    @inline(never)
    func look(_ slot: Int, _ generation: UInt32) -> TimerView? {
        state.withLock { state in
            guard state.rows.has(slot, generation) else { return nil }
            let now = reading(withSleep: state.rows[slot].countsSleep)
            return TimerView(of: state.rows[slot], at: now.counted(state.rows[slot].basis))
        }
    }

    /// The account of a timer; nil if it was released.
    func account(_ slot: Int, _ generation: UInt32) -> TimerAccount? {
        state.withLock { state in
            guard state.rows.has(slot, generation) else { return nil }
            return TimerAccount(of: state.rows[slot], at: now())
        }
    }

    /// Executes an operation on a timer, unless it was released, and sets the alarm.
    ///
    /// - Returns: whether it changed anything.
    @discardableResult
    func execute(_ command: TimerCommand, _ slot: Int, _ generation: UInt32) -> Bool {
        var leftovers = Leftovers()
        let isChanged = state.withLock { state in
            guard state.rows.has(slot, generation) else {
                if case .finish(let waiter) = command { leftovers.add(waiter) }
                if case .add(let stream) = command { leftovers.add(stream) }
                return false
            }
            let now = reading(withSleep: state.sleepCounters > 0)
            guard state.execute(command, slot, at: now, into: &leftovers) else { return false }
            state.settle(slot, at: now)
            state.note(slot, of: self, in: &leftovers)
            state.setAlarm(of: self, at: now, isRinging: false)
            return true
        }
        leftovers.settle()
        return isChanged
    }

    /// Removes the timer, or marks it to be removed when its handler returns.
    func release(_ slot: Int, _ generation: UInt32) {
        var leftovers = Leftovers()
        state.withLock { state in
            guard state.rows.has(slot, generation) else { return }
            let now = reading(withSleep: state.sleepCounters > 0)
            state.release(slot, into: &leftovers)
            state.setAlarm(of: self, at: now, isRinging: false)
        }
        leftovers.settle()
    }

    // MARK: - Handling due timers

    private enum Step: ~Copyable, Sendable {
        case handle(Delivery)
        case handOver(DispatchQueue, slot: Int, generation: UInt32)
        case done
    }

    /// Handles the alarm: handles all timers that are due by now, each once, so that other work on
    /// the queue can run in between.
    private func ring() {
        var bound: Reading?
        var handled: Int?
        while true {
            var leftovers = Leftovers()
            let step = state.withLock { state -> Step in
                let now = reading(withSleep: state.sleepCounters > 0)
                if let handled { state.complete(handled, of: self, at: now, into: &leftovers) }
                let limit = bound ?? now
                bound = limit
                return next(in: &state, by: limit, at: now)
            }
            handled = nil
            leftovers.settle()
            switch step {
            case .handle(let delivery):
                delivery.handle()
                if !delivery.completesLater { handled = delivery.slot }
            case .handOver(let queue, let slot, let generation):
                if activity != nil {
                    queue.sync { self.handle(slot, generation) }
                } else {
                    queue.async { self.handle(slot, generation) }
                }
            case .done: return
            }
        }
    }

    private func next(in state: inout QueueState, by limit: Reading, at now: Reading) -> Step {
        while let slot = state.nextDue(by: limit) {
            if let queue = state.rows[slot].handlerQueue {
                return .handOver(queue, slot: slot, generation: state.handOver(slot))
            }
            if let delivery = state.take(slot, of: self, at: now) { return .handle(delivery) }
        }
        state.setAlarm(of: self, at: now, isRinging: true)
        return .done
    }

    /// Handles the tick of one timer on the queue of its handler, if it is still due.
    private func handle(_ slot: Int, _ generation: UInt32) {
        let delivery = state.withLock { state -> Delivery? in
            guard state.rows.has(slot, generation) else { return nil }
            let now = reading(withSleep: state.sleepCounters > 0)
            let delivery = state.take(slot, of: self, at: now)
            if delivery == nil { state.setAlarm(of: self, at: now, isRinging: false) }
            return delivery
        }
        guard let delivery else { return }
        delivery.handle()
        if !delivery.completesLater { complete(slot, generation) }
    }

    /// Handles the return of the handler of a timer. Its row is kept until then.
    func complete(_ slot: Int, _ generation: UInt32) {
        var leftovers = Leftovers()
        state.withLock { state in
            guard state.rows.has(slot, generation) else { return }
            let now = reading(withSleep: state.sleepCounters > 0)
            state.complete(slot, of: self, at: now, into: &leftovers)
            state.setAlarm(of: self, at: now, isRinging: false)
        }
        leftovers.settle()
    }
}
