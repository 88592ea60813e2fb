// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The hash FNV-1a with 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/). Its value is the same in every process
/// and on every machine, unlike that of `Hasher`. It detects accidents, but not an attacker.
package enum FNV1a {
    /// The hash of a text. It is not generic, because a generic function of another module is not
    /// specialized for its callers: hashing the names of very many jobs would take ten times as long.
    ///
    /// - Parameter seed: the result is another hash for each seed.
    /// - Complexity: O(*n*) in the number of bytes.
    package static func hash(_ text: String.UTF8View, seed: UInt64 = 0) -> UInt64 {
        var hash = seed ^ 0xcbf2_9ce4_8422_2325
        for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }

    /// The hash of bytes. It is not generic, for the same reason: each start of a run needs the hash of a definition.
    /// - Complexity: O(*n*) in the number of bytes.
    package static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBufferPointer { bytes in
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            return hash
        }
    }

    /// - Parameter seed: the result is another hash for each seed.
    /// - Complexity: O(*n*) in the number of bytes.
    @inlinable package static func hash(_ bytes: some Sequence<UInt8>, seed: UInt64 = 0) -> UInt64 {
        bytes.reduce(seed ^ 0xcbf2_9ce4_8422_2325) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
    }
}
