// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import TimerCore

/// The timer of one armed job: one dispatch source on the worker queue, which fires once for each
/// time it is set. A pause cancels it. It is never suspended: a suspended source collects events
/// and fires when it is resumed, and releasing one traps.
///
/// Used only on the worker queue.
struct JobTimer: OneShotTimer {
    // The class of all sources of Dispatch. With many jobs this saves memory: it is one word, and
    // `any DispatchSourceTimer` is five.
    private let source: DispatchSource

    init(source: any DispatchSourceTimer) {
        guard let source = source as? DispatchSource else {
            preconditionFailure("Dispatch makes all its sources of one class.")
        }
        self.source = source
    }

    /// Fires at `instant`, or at once if that is past. This replaces an instant that was set
    /// before.
    func arm(at instant: AwakeInstant) {
        // On Linux the uptime of Dispatch is CLOCK_MONOTONIC, in nanoseconds. Zero would mean
        // "now". No timer is due before the first nanosecond of the machine, so 1 is as good.
        let uptime = UInt64(max(1, instant.nanoseconds))
        source.schedule(deadline: DispatchTime(uptimeNanoseconds: uptime), leeway: .nanoseconds(0))
    }

    /// Fires when the wall clock reads `instant`, however it is set until then. This replaces an
    /// instant that was set before.
    func arm(at instant: WallInstant) {
        // Dispatch multiplies to nanoseconds in 64 bits without a check, so a later instant would
        // become an earlier one. It would read the first nanosecond as "never".
        let microseconds = max(
            1, min(instant.microsecondsSinceEpoch, Accepted.clockMicroseconds.upperBound))
        let second = microseconds / 1_000_000
        let microsecond = microseconds - second * 1_000_000
        let time = timespec(tv_sec: Int(second), tv_nsec: Int(microsecond) * 1000)
        source.schedule(wallDeadline: DispatchWallTime(timespec: time), leeway: .nanoseconds(0))
    }

    /// Cancels the timer for ever.
    func cancel() { source.cancel() }
}

/// A reference that the timers of all jobs share: a weak one in each would be an allocation of its own.
final class LoopReference: Sendable {
    // Safe, because it is set once, before the first timer is made.
    nonisolated(unsafe) weak var loop: Loop?

    /// Makes a timer whose handler captures little, because there may be very many.
    func makeTimer(of job: Job.Name, on queue: DispatchQueue) -> JobTimer {
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { @Sendable [self] in
            loop?.assumeIsolated { $0.timerFired(job) }
        }
        source.activate()
        return JobTimer(source: source)
    }
}
