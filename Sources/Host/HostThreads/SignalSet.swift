// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import Glibc

package enum SignalSet {
    /// Exactly these signals (sigsetops(3)).
    package static func of(_ numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }
}
