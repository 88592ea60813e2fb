// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import TimerCore

/// The timer of one armed job: one dispatch source on the worker queue, which rings once for each time it
/// is set. Pausing cancels it. It is never suspended: a suspended source gathers events and rings when it
/// is resumed, and releasing one traps.
///
/// To be used on the worker queue alone.
struct JobTimer {
    // The type all sources of Dispatch have: one word instead of the five of `any DispatchSourceTimer`, for
    // each of many jobs.
    private let source: DispatchSource

    init(source: any DispatchSourceTimer) {
        guard let source = source as? DispatchSource else {
            preconditionFailure("Dispatch makes all its sources of one class.")
        }
        self.source = source
    }

    /// Rings at `instant`, at once if that is past; an instant set before is forgotten.
    func arm(at instant: AwakeInstant) {
        // On Linux the uptime of dispatch is CLOCK_MONOTONIC, nanosecond for nanosecond. Zero would be
        // read as "now", and nothing is due before the machine's first nanosecond.
        let uptime = UInt64(max(1, instant.nanoseconds))
        source.schedule(deadline: DispatchTime(uptimeNanoseconds: uptime), leeway: .nanoseconds(0))
    }

    /// Rings when the calendar clock reads `instant`, however it is set until then; an instant set before is
    /// forgotten.
    func arm(at instant: WallInstant) {
        // Dispatch counts nanoseconds in 64 bits, without a check: a later instant would become an earlier one.
        // The first nanosecond it would read as "never".
        let microseconds = max(
            1, min(instant.microsecondsSinceEpoch, Accepted.clockMicroseconds.upperBound))
        let second = microseconds / 1_000_000
        let microsecond = microseconds - second * 1_000_000
        let time = timespec(tv_sec: Int(second), tv_nsec: Int(microsecond) * 1000)
        source.schedule(wallDeadline: DispatchWallTime(timespec: time), leeway: .nanoseconds(0))
    }

    /// Never rings again.
    func cancel() { source.cancel() }
}
