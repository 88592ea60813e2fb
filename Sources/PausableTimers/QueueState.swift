// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// The clocks as a queue needs them: that which goes on while the machine sleeps is read only if some timer
/// counts by it.
struct Reading: Sendable {
    var awake: AwakeInstant
    var boot: BootInstant

    func counted(_ basis: TimeBasis) -> CountedInstant {
        switch basis {
        case .active, .uptime: CountedInstant(nanoseconds: awake.nanoseconds)
        case .boottime, .wall: CountedInstant(nanoseconds: boot.nanoseconds)
        }
    }
}

/// What is released, resumed and called only after the lock was given back: it may lead back to the queue.
struct Leftovers: Sendable {
    var row: Row?
    var handler: TickHandler?
    var handlerQueue: DispatchQueue?
    var extras: Extras?
    var endedStreams: [TickStream] = []
    var waiters: [CheckedContinuation<Void, Never>] = []
    var onChange: (@Sendable () -> Void)?

    func settle() {
        for stream in endedStreams { stream.finish() }
        for waiter in waiters { waiter.resume() }
        onChange?()
    }
}

/// A tick that is to be handled now.
struct Delivery: Sendable {
    var slot: Int
    var tick: Tick
    var handler: TickHandler?
    var streams: [TickStream] = []
    var isLast: Bool

    func handle() {
        handler?(tick)
        for stream in streams {
            stream.send(tick)
            if isLast { stream.finish() }
        }
    }
}

/// All timers of a queue. Guarded by the queue's lock.
struct QueueState: Sendable {
    var rows = Rows()
    /// Rows that wait, by the clocks they count by.
    private var due = AlarmQueue<AwakeInstant>()
    private var dueAsleep = AlarmQueue<BootInstant>()
    private var extras: [Int: Extras] = [:]
    private var lastGeneration: UInt32 = 0
    /// How many timers count while the machine sleeps.
    private(set) var sleepCounters = 0
    var alarm = QueueAlarm()

    // MARK: - Making and freeing

    mutating func insert(_ row: Row, extras more: Extras?, at now: Reading) -> (
        Int, UInt32
    ) {
        lastGeneration &+= 1
        if row.countsSleep { sleepCounters += 1 }
        let slot = rows.insert(row, generation: lastGeneration)
        if let more, !more.isEmpty { change(slot) { $0 = more } }
        settle(slot, at: now)
        return (slot, lastGeneration)
    }

    /// Nothing refers to the timer any more. While its handler runs the row stays.
    mutating func release(_ slot: Int, into leftovers: inout Leftovers) {
        if rows[slot].flags.contains(.handling) {
            rows[slot].flags.formUnion([.released, .cancelled])
            unqueue(slot)
            takeHandler(slot, into: &leftovers)
        } else {
            free(slot, into: &leftovers)
        }
    }

    private mutating func free(_ slot: Int, into leftovers: inout Leftovers) {
        unqueue(slot)
        if rows[slot].countsSleep { sleepCounters -= 1 }
        if rows[slot].flags.contains(.extras), let more = extras.removeValue(forKey: slot) {
            leftovers.endedStreams += more.streams
            leftovers.waiters += more.waiters
            leftovers.extras = more
        }
        leftovers.row = rows.remove(slot)
        // A crowd of timers that came and went leaves nothing behind.
        guard rows.count == 0, rows.capacity > 1024 else { return }
        rows = Rows()
        due = AlarmQueue()
        dueAsleep = AlarmQueue()
    }

    /// Ends the timer for good. Whether it was not ended before.
    mutating func cancel(_ slot: Int, into leftovers: inout Leftovers) -> Bool {
        guard !rows[slot].flags.contains(.cancelled) else { return false }
        rows[slot].flags.insert(.cancelled)
        unqueue(slot)
        takeHandler(slot, into: &leftovers)
        return true
    }

    private mutating func takeHandler(_ slot: Int, into leftovers: inout Leftovers) {
        leftovers.handler = rows[slot].handler
        leftovers.handlerQueue = rows[slot].handlerQueue
        rows[slot].handler = nil
        change(slot) { more in
            leftovers.endedStreams += more.streams
            more.streams = []
        }
    }

    // MARK: - Extras

    func extras(of slot: Int) -> Extras? {
        rows[slot].flags.contains(.extras) ? extras[slot] : nil
    }

    mutating func change(_ slot: Int, makes isNew: Bool = true, _ body: (inout Extras) -> Void) {
        guard isNew || rows[slot].flags.contains(.extras) else { return }
        var more = extras[slot] ?? Extras()
        body(&more)
        if more.isEmpty {
            extras[slot] = nil
            rows[slot].flags.remove(.extras)
        } else {
            extras[slot] = more
            rows[slot].flags.insert(.extras)
        }
    }

    // MARK: - What is due

    /// Puts the row where its state has it: among those that wait, or out of them.
    mutating func settle(_ slot: Int, at now: Reading) {
        let basis = rows[slot].basis
        guard rows[slot].isWaiting, let instant = rows[slot].dueInstant(at: now.counted(basis))
        else { return unqueue(slot) }
        let tolerance = rows[slot].tolerance
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(tolerance)
        let latest = overflow ? .max : sum
        if rows[slot].countsSleep {
            dueAsleep.set(
                slot, latest: BootInstant(nanoseconds: latest),
                due: tolerance > 0 ? BootInstant(nanoseconds: instant.nanoseconds) : nil)
        } else {
            due.set(
                slot, latest: AwakeInstant(nanoseconds: latest),
                due: tolerance > 0 ? AwakeInstant(nanoseconds: instant.nanoseconds) : nil)
        }
    }

    private mutating func unqueue(_ slot: Int) {
        if rows[slot].countsSleep { dueAsleep.remove(slot) } else { due.remove(slot) }
    }

    /// A timer that is due by now: those that may not wait come first, then those that may, so that they need
    /// no wake-up of their own.
    func nextDue(by now: Reading) -> Int? {
        due.overdue(at: now.awake) ?? dueAsleep.overdue(at: now.boot)
            ?? due.ready(at: now.awake) ?? dueAsleep.ready(at: now.boot)
    }

    /// Hands the row to the queue of its handler, where `take` is to be called.
    mutating func handOver(_ slot: Int) -> UInt32 {
        rows[slot].flags.insert(.handedOver)
        unqueue(slot)
        return rows[slot].generation
    }

    /// The tick of a timer that is due; nil if it is not due.
    mutating func take(_ slot: Int, of queue: TimerQueue, at now: Reading) -> Delivery? {
        rows[slot].flags.remove(.handedOver)
        let counted = now.counted(rows[slot].basis)
        guard rows[slot].isWaiting, let passed = rows[slot].pass(at: counted) else {
            settle(slot, at: now)
            return nil
        }
        rows[slot].ticks += 1
        let isLast =
            rows[slot].flags.contains(.once) || rows[slot].ticks >= rows[slot].ticksMax
        if isLast {
            rows[slot].phase = .finished
            rows[slot].ledger.close(at: counted)
        }
        rows[slot].flags.insert(.handling)
        settle(slot, at: now)
        let tick = Tick(
            number: rows[slot].ticks, missed: passed.missed,
            scheduled: AwakeInstant(
                nanoseconds: now.awake.nanoseconds - passed.late.wholeNanoseconds),
            actual: now.awake, active: rows[slot].ledger.active(at: counted),
            timer: TimerReference(
                queue: queue, slot: Int32(slot), generation: rows[slot].generation))
        var delivery = Delivery(
            slot: slot, tick: tick, handler: rows[slot].handler, isLast: isLast)
        guard rows[slot].flags.contains(.extras) else { return delivery }
        delivery.streams = extras[slot]?.streams ?? []
        if isLast { change(slot) { $0.streams = [] } }
        return delivery
    }

    /// The handler of the row has returned.
    mutating func complete(_ slot: Int, at now: Reading, into leftovers: inout Leftovers) {
        rows[slot].flags.remove(.handling)
        if rows[slot].flags.contains(.extras) {
            change(slot) { more in
                leftovers.waiters += more.waiters
                more.waiters = []
            }
        }
        if rows[slot].flags.contains(.released) {
            free(slot, into: &leftovers)
        } else if rows[slot].handlerQueue != nil {
            settle(slot, at: now)
        }
    }

    // MARK: - The alarm

    /// Sets the alarm for the first timer that is due.
    mutating func setAlarm(of queue: TimerQueue, at now: Reading, isRinging: Bool) {
        var first = due.first.map { (instant: $0.due.nanoseconds, slot: $0.slot) }
        if let asleep = dueAsleep.first {
            let instant = now.awake.nanoseconds + (asleep.due.nanoseconds - now.boot.nanoseconds)
            if first.map({ instant < $0.instant }) ?? true { first = (instant, asleep.slot) }
            if alarm.needsGuard(for: asleep.due) || isRinging {
                queue.setGuard(for: asleep.due, in: &alarm)
            }
        } else {
            alarm.dropGuard()
        }
        if first != nil, !alarm.isMade { alarm.make(queue.makeAlarm()) }
        alarm.set(
            first?.instant, span: first.map { repeatSpan(of: $0.slot) } ?? 0,
            now: now.awake.nanoseconds, isRinging: isRinging)
    }

    /// After how many nanoseconds the row is due again, rounded up; 0 if it may not be.
    private func repeatSpan(of slot: Int) -> Int64 {
        rows[slot].flags.contains(.once) ? 0 : rows[slot].grid.span.nanosecondsRoundedUp
    }
}
