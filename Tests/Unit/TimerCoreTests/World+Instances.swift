// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The ends of an instance, and time that passes.
extension World {
    /// Lets awake time pass, and expires every timer when it is due.
    mutating func pass(_ span: Duration) {
        let end = awake + span.wholeNanoseconds
        while let next = nextRing(), next.at <= end {
            move(to: max(awake, next.at))
            ring(next.timer)
        }
        move(to: end)
    }

    /// What a timer is of.
    private enum Timer {
        case job(Job.Name)
        case incidents
        case hold
    }

    /// Expires the due timer once.
    private mutating func ring(_ timer: Timer) {
        let job: Job.Name
        switch timer {
        case .job(let name): job = name
        case .incidents:
            incidentTimer = nil
            handle(.incidentsDue)
            return
        case .hold:
            holdTimer = nil
            handle(.holdDue)
            return
        }
        if let instant = timers[job], instant <= now.awake { timers[job] = nil }
        if let instant = wallTimers[job], instant <= now.wall { wallTimers[job] = nil }
        if let instant = retryTimers[job], instant <= now.awake { retryTimers[job] = nil }
        rings += 1
        handle(.wake(job))
    }

    /// The next timer to expire, by the awake clock, if the wall clock is not set.
    private func nextRing() -> (timer: Timer, at: Int64)? {
        func nanoseconds(_ instant: WallInstant) -> Int64 {
            awake + (instant.microsecondsSinceEpoch - wall) * 1000
        }
        var all: [(timer: Timer, at: Int64)] = timers.map { (.job($0.key), $0.value.nanoseconds) }
        all += wallTimers.map { (.job($0.key), nanoseconds($0.value)) }
        all += retryTimers.map { (.job($0.key), $0.value.nanoseconds) }
        if let incidentTimer { all.append((.incidents, nanoseconds(incidentTimer))) }
        if let holdTimer { all.append((.hold, nanoseconds(holdTimer))) }
        return all.min { $0.at < $1.at }
    }

    /// Lets the machine sleep: the wall clock advances, the awake clock does not.
    mutating func sleep(_ span: Duration) {
        wall += span.wholeMicroseconds
        slept += span.wholeNanoseconds
    }

    /// Sets the wall clock, and reports it.
    mutating func step(_ span: Duration) {
        wall += span.wholeMicroseconds
        handle(.clockChanged)
    }

    mutating func move(to nanoseconds: Int64) {
        wall += (nanoseconds - awake) / 1000
        awake = nanoseconds
    }

    mutating func beat() {
        heartbeat = Heartbeat(
            instance: instance, at: now,
            unstored: unstored.map { $0.0.counting(now.awake - $0.since) })
    }

    /// Ends the daemon at once; everything it had in memory is lost.
    mutating func kill() {
        agenda = nil
        timers = [:]
        wallTimers = [:]
        retryTimers = [:]
        incidentTimer = nil
        holdTimer = nil
    }

    mutating func stopCleanly() {
        handle(.shutdown)
        let end = now
        lives[instance]?.ended = end
        kill()
    }

    /// Restarts the machine: a new boot, whose clocks start again.
    mutating func reboot(away span: Duration) {
        kill()
        heartbeat = nil
        boot = World.bootID(Int(boot.description, radix: 16)! + 1)
        wall += span.wholeMicroseconds
        awake = 5_000_000_000
    }
}
