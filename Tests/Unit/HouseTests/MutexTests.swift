// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// A generic type stores a function in another form. `Mutex.withLock` passes it as `inout`: each
/// lock wraps it once when it is passed and once when it is stored back, even if it is only read.
/// After some thousand locks, a call overflows the stack. Inside a structure the function keeps its
/// form.
@Suite struct MutexTests {
    @Test func noneHoldsAFunctionByItself() throws {
        var locks = 0
        for folder in ["Sources", "Tests", "Benchmarks/Sources"] {
            for (file, text) in try Project.sources(in: folder) {
                // This file contains the examples below.
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
