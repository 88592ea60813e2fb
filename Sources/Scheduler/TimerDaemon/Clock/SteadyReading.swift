// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Removes the noise from readings of the clocks, for what is shown: between the reads of two clocks some time passes,
/// each time another one, so that an instant that is computed from one clock for the other would be a microsecond
/// earlier or later in each answer. A client could not tell whether a job's next run has changed.
///
/// The difference of two clocks is kept as it was first read, until it is another one by more than the noise.
struct SteadyReading {
    /// The most noise: within so many nanoseconds the clocks of a reading were read (`Clocks.now`).
    static let noiseMax: Int64 = 2_000_000

    /// How much more the wall clock reads than CLOCK_MONOTONIC, in microseconds.
    private var wallOffset: Int64?
    /// How much more CLOCK_BOOTTIME reads than CLOCK_MONOTONIC, in nanoseconds.
    private var bootOffset: Int64?

    /// The same reading without the noise, up to a microsecond earlier. The wall clock is right up to `noiseMax`.
    mutating func steady(_ now: Now) -> Now {
        // Only whole microseconds, so that a time that is left is always cut off at the same place.
        let micros = now.awake.nanoseconds.quotient(flooringBy: 1000)
        let awake = micros.multiplied(clampingBy: 1000)
        let wall = now.wall.microsecondsSinceEpoch.subtracting(clamping: micros)
        let boot = now.boot.nanoseconds.subtracting(clamping: awake)
        let wallSteady = Self.kept(wallOffset, wall, noise: Self.noiseMax / 1000)
        let bootSteady = Self.kept(bootOffset, boot, noise: Self.noiseMax)
        (wallOffset, bootOffset) = (wallSteady, bootSteady)
        return Now(
            wall: WallInstant(
                microsecondsSinceEpoch: micros.adding(clamping: wallSteady)),
            awake: AwakeInstant(nanoseconds: awake),
            boot: BootInstant(nanoseconds: awake.adding(clamping: bootSteady)), bootID: now.bootID)
    }

    private static func kept(_ before: Int64?, _ now: Int64, noise: Int64) -> Int64 {
        guard let before, now.subtracting(clamping: before).magnitude <= noise.magnitude else {
            return now
        }
        return before
    }
}
