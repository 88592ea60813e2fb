// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A generic type keeps a function in a form of its own. `Mutex.withLock` hands it out as `inout`: it is wrapped when
/// it is handed out and wrapped again when it is put back, each time it is locked, also to read it alone. After some
/// thousand times a call of it overflows the stack. In a structure it keeps its form.
@Suite struct MutexTests {
    @Test func noneHoldsAFunctionByItself() throws {
        var locks = 0
        for folder in ["Sources", "Tests", "Benchmarks/Sources"] {
            for (file, text) in try Project.sources(in: folder) {
                // It has the examples below.
                guard file.lastPathComponent != "MutexTests.swift" else { continue }
                locks += text.matches(of: /Mutex[<(]/).count
                // As `Mutex<(A) -> B>`, `Mutex<((A) -> B)?>` and `Mutex<@Sendable () -> Void>`.
                let found = text.matches(
                    of: /Mutex<\(*(?:@\w+ )*\([^<>{}\[\]\n]*\) (?:async |throws )*->/)
                #expect(found.map { String(text[$0.range]) } == [], "\(file.lastPathComponent)")
            }
        }
        #expect(locks > 20)
    }
}
