// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The source of the random delays of a job. The result is always the same for one machine, job and
/// firing, so that a restart changes no due time and a simulation is exact.
struct Jitter: Sendable {
    private let state: UInt64

    init(seed: UInt64, job: Job.Name) {
        state = FNV1a.hash(job.description.utf8, seed: seed)
    }

    /// A delay from zero up to, but not including, the bound, in whole microseconds.
    func draw(ordinal: Int64, below bound: Duration) -> Duration {
        let microseconds = UInt64(max(0, bound.wholeMicroseconds))
        guard microseconds > 0 else { return .zero }
        return .microseconds(Int64(number(ordinal: ordinal, below: microseconds)))
    }

    /// A number from zero up to, but not including, the bound, which must be above zero.
    func number(ordinal: Int64, below bound: UInt64) -> UInt64 {
        // This is the last step of SplitMix64.
        var mixed = state &+ UInt64(bitPattern: ordinal) &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        mixed ^= mixed >> 31
        return mixed % bound
    }
}
