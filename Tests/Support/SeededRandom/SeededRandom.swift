// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). It says its
/// seed, so that a failure can be had again with TIMERD_TEST_SEED.
public struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Says the seed under the name of the test.
    public init(function: String = #function) {
        let given = ProcessInfo.processInfo.environment["TIMERD_TEST_SEED"].flatMap { UInt64($0) }
        state = given ?? UInt64.random(in: 0 ... .max)
        print("\(function): TIMERD_TEST_SEED=\(state)")
    }

    /// Always the same numbers.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, the bound.
    public mutating func int(below bound: Int) -> Int {
        bound <= 0 ? 0 : Int(next() % UInt64(bound))
    }
}
