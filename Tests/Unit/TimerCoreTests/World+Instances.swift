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
            ring(next.job)
        }
        move(to: end)
    }

    /// Expires the due timer once.
    private mutating func ring(_ job: Job.Name?) {
        guard let job else {
            incidentTimer = nil
            handle(.incidentsDue)
            return
        }
        if let instant = timers[job], instant <= now.awake { timers[job] = nil }
        if let instant = wallTimers[job], instant <= now.wall { wallTimers[job] = nil }
        if let instant = retryTimers[job], instant <= now.awake { retryTimers[job] = nil }
        rings += 1
        handle(.wake(job))
    }

    /// The next timer to expire, by the awake clock, if the wall clock is not set.
    ///
    /// - Returns: the job whose timer it is; nil for the timer of incidents.
    private func nextRing() -> (job: Job.Name?, at: Int64)? {
        func nanoseconds(_ instant: WallInstant) -> Int64 {
            awake + (instant.microsecondsSinceEpoch - wall) * 1000
        }
        let counted = timers.map { (Optional($0.key), $0.value.nanoseconds) }
        let slots = wallTimers.map { (Optional($0.key), nanoseconds($0.value)) }
        let retries = retryTimers.map { (Optional($0.key), $0.value.nanoseconds) }
        let incident = incidentTimer.map { [(Job.Name?.none, nanoseconds($0))] } ?? []
        return (counted + slots + retries + incident).min { $0.1 < $1.1 }
            .map { (job: $0.0, at: $0.1) }
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
