// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Timekeeping

/// The clocks that a queue needs. CLOCK_BOOTTIME is read only if a timer counts by it.
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

/// A tick that has to be handled now.
struct Delivery: ~Copyable, Sendable {
    var slot: Int
    var tick: Tick
    var handler: TickHandler?
    var streams: [TickStream] = []
    var isLast: Bool
    /// Whether the handler itself says when it has returned.
    var completesLater: Bool

    func handle() {
        handler?(tick)
        for stream in streams {
            stream.send(tick)
            if isLast { stream.finish() }
        }
    }
}

/// All timers of a queue. The lock of the queue protects it.
struct QueueState: ~Copyable, Sendable {
    var rows = Rows()
    /// The rows that wait, by the clocks they count by.
    private var due = AlarmQueue<CountedInstant>()
    private var dueAsleep = AlarmQueue<CountedInstant>()
    private var lastGeneration: UInt32 = 0
    /// The number of timers that count while the machine sleeps.
    private(set) var sleepCounters = 0
    /// The maximum number of timers since the memory of former ones was last freed.
    private var peak = 0
    var alarm = QueueAlarm()

    // MARK: - Creating and freeing

    @inline(never)
    mutating func insert(_ made: consuming Row, at now: Reading) -> (Int, UInt32) {
        lastGeneration &+= 1
        var row = made
        if row.countsSleep { sleepCounters += 1 }
        row.generation = lastGeneration
        let slot = rows.insert(row)
        peak = max(peak, rows.count)
        settle(slot, at: now)
        return (slot, lastGeneration)
    }

    /// Handles the release of the last reference to the timer. While its handler is running, the
    /// row is kept.
    @inline(never)
    mutating func release(_ slot: Int, into leftovers: inout Leftovers) {
        unqueue(slot)
        if rows[slot].flags.contains(.handling) {
            rows[slot].flags.insert(.released)
            rows[slot].flags.insert(.cancelled)
            leftovers.take(from: &rows[slot])
        } else {
            free(slot, into: &leftovers)
        }
    }

    private mutating func free(_ slot: Int, into leftovers: inout Leftovers) {
        if rows[slot].countsSleep { sleepCounters -= 1 }
        leftovers.takeAll(from: &rows[slot])
        rows.remove(slot)
        // The rows free their memory themselves. The queues of due times do it here, each time that
        // three quarters of the timers are gone, so that it costs little for each of them.
        guard peak > 1024, rows.count < peak / 4 else { return }
        peak = rows.count
        due.trim()
        dueAsleep.trim()
    }

    /// Executes an operation on a timer. Returns whether it changed anything.
    @inline(never)
    mutating func execute(
        _ command: TimerCommand, _ slot: Int, at now: Reading, into leftovers: inout Leftovers
    ) -> Bool {
        let counted = now.counted(rows[slot].basis)
        let state = rows[slot].state
        let isActive = state == .running || state == .paused
        switch command {
        case .pause:
            guard state == .running else { return false }
            rows[slot].pause(at: counted)
        case .resume(let policy):
            guard state == .paused else { return false }
            rows[slot].resume(policy, at: counted)
        case .restart:
            guard state != .cancelled else { return false }
            rows[slot].restart(at: counted)
        case .cancel: return cancel(slot, into: &leftovers)
        case .finish(let waiter):
            let isNew = cancel(slot, into: &leftovers)
            if rows[slot].flags.contains(.handling) {
                rows[slot].makeExtras().waiters.append(waiter)
            } else {
                leftovers.add(waiter)
            }
            return isNew
        case .setInterval(let span): rows[slot].setInterval(span, at: counted)
        case .tickNow:
            guard state == .running else { return false }
            rows[slot].flags.insert(.atOnce)
        case .moveNext(let delay):
            guard isActive else { return false }
            rows[slot].moveNext(after: delay, at: counted)
        case .addTime(let span):
            guard isActive else { return false }
            rows[slot].addTime(span, at: counted)
        case .add(let stream):
            if isActive {
                rows[slot].makeExtras().streams.append(stream)
            } else {
                leftovers.add(stream)
            }
            return false
        case .remove(let stream):
            rows[slot].extras?.streams.removeAll { $0 === stream }
            return false
        }
        return true
    }

    /// Cancels the timer. Returns false if it was already cancelled.
    private mutating func cancel(_ slot: Int, into leftovers: inout Leftovers) -> Bool {
        guard !rows[slot].flags.contains(.cancelled) else { return false }
        rows[slot].flags.insert(.cancelled)
        unqueue(slot)
        leftovers.take(from: &rows[slot])
        return true
    }

    // MARK: - Due timers

    /// Adds the row to the queue of waiting rows or removes it, as its state requires.
    @inline(never)
    mutating func settle(_ slot: Int, at now: Reading) {
        guard let (instant, latest, countsSleep) = rows[slot].place(at: now) else {
            return unqueue(slot)
        }
        if countsSleep {
            dueAsleep.set(slot, latest: latest, due: latest == instant ? nil : instant)
        } else {
            due.set(slot, latest: latest, due: latest == instant ? nil : instant)
        }
    }

    @inline(never)
    private mutating func unqueue(_ slot: Int) {
        if rows[slot].countsSleep { dueAsleep.remove(slot) } else { due.remove(slot) }
    }

    /// A timer that is due by now. Timers that must not wait come first, then timers that are due
    /// but could wait, so that they do not need a wake-up of their own.
    func nextDue(by now: Reading) -> Int? {
        let (awake, boot) = (now.counted(.active), now.counted(.boottime))
        return due.overdue(at: awake) ?? dueAsleep.overdue(at: boot) ?? due.ready(at: awake)
            ?? dueAsleep.ready(at: boot)
    }

    /// Marks the row as handed over to the queue of its handler, which then must call `take`.
    mutating func handOver(_ slot: Int) -> UInt32 {
        rows[slot].flags.insert(.handedOver)
        unqueue(slot)
        return rows[slot].generation
    }

    /// The tick of a timer that is due; nil if it is not due.
    mutating func take(_ slot: Int, of queue: TimerQueue, at now: Reading) -> Delivery? {
        let delivery = Self.take(slot, from: &rows[slot], of: queue, at: now)
        settle(slot, at: now)
        return delivery
    }

    private static func take(
        _ slot: Int, from row: inout Row, of queue: TimerQueue, at now: Reading
    ) -> Delivery? {
        row.flags.remove(.handedOver)
        let counted = now.counted(row.basis)
        guard row.isWaiting, let passed = row.pass(at: counted) else { return nil }
        row.ticks = row.ticks.adding(clamping: 1)
        let isLast = row.flags.contains(.once) || row.ticks >= row.ticksMax
        if isLast {
            row.phase = .finished
            row.ledger.close(at: counted)
        }
        row.flags.insert(.handling)
        let tick = Tick(
            number: row.ticks, missed: passed.missed, scheduled: now.awake - passed.late,
            actual: now.awake, active: row.ledger.active(at: counted),
            timer: TimerReference(queue: queue, slot: Int32(slot), generation: row.generation))
        var delivery = Delivery(
            slot: slot, tick: tick, handler: row.handler, isLast: isLast,
            completesLater: row.flags.contains(.completesLater))
        guard let extras = row.extras else { return delivery }
        delivery.streams = extras.streams
        if isLast { extras.streams = [] }
        return delivery
    }

    /// Handles the return of the handler of the row.
    mutating func complete(
        _ slot: Int, of queue: TimerQueue, at now: Reading, into leftovers: inout Leftovers
    ) {
        rows[slot].flags.remove(.handling)
        // Most timers have none of these, and are looked at once.
        guard rows[slot].hasMoreToComplete else { return }
        leftovers.takeWaiters(from: rows[slot])
        if rows[slot].flags.contains(.released) { return free(slot, into: &leftovers) }
        if rows[slot].phase == .finished { note(slot, of: queue, in: &leftovers) }
        guard rows[slot].flags.contains(.exclusive) else { return }
        rows[slot].handlerReturned(at: now.counted(rows[slot].basis))
        settle(slot, at: now)
    }

    /// Lets the observer of the timer be called.
    func note(_ slot: Int, of queue: TimerQueue, in leftovers: inout Leftovers) {
        guard let onChange = rows[slot].extras?.onChange else { return }
        let timer = TimerReference(
            queue: queue, slot: Int32(slot), generation: rows[slot].generation)
        leftovers.onChange = (onChange, timer)
    }

    // MARK: - The alarm

    /// Sets the alarm for the first timer that is due.
    @inline(never)
    mutating func setAlarm(of queue: TimerQueue, at now: Reading, isRinging: Bool) {
        var first = due.first.map { (instant: $0.due.nanoseconds, slot: $0.slot) }
        if let asleep = dueAsleep.first {
            let instant = now.awake.nanoseconds + (asleep.due.nanoseconds - now.boot.nanoseconds)
            if first.map({ instant < $0.instant }) ?? true { first = (instant, asleep.slot) }
            let due = BootInstant(nanoseconds: asleep.due.nanoseconds)
            if alarm.needsGuard(for: due, isRinging: isRinging) {
                queue.setGuard(for: due, in: &alarm)
            }
        } else {
            alarm.dropGuard()
        }
        if first != nil, !alarm.isMade { alarm.make(queue.makeAlarm()) }
        alarm.set(
            first?.instant, span: first.map { repeatSpan(of: $0.slot) } ?? 0,
            now: now.awake.nanoseconds, isRinging: isRinging)
    }

    /// After how many nanoseconds the row is due again, rounded up; 0 if it ticks once.
    private func repeatSpan(of slot: Int) -> Int64 {
        rows[slot].flags.contains(.once) ? 0 : rows[slot].grid.span.nanosecondsRoundedUp
    }
}
