// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The hostname of this machine (gethostname(2)).
public enum Hostname {
    /// What it is now; nil if the kernel does not tell it. Bytes that are no UTF-8 are replaced.
    public static var current: String? {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        return String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
