// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// What a new process gets a copy of.
@Suite struct CopiedMemoryTests {
    /// Without this, a burst of starts would copy the memory that it is using, for each of them.
    /// In a process of its own: `sbrk` may not be called while another thread makes the heap grow.
    @Test func whatTheHeapGrewByIsNotCopied() async {
        await #expect(processExitsWith: .success) {
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            // The first start scans all memory.
            #expect(fixture.shell("true").outcome == .exited(0))
            let grown = try #require(sbrk(1 << 20))
            try #require(grown != UnsafeMutableRawPointer(bitPattern: -1))
            // A page in the middle, which what else makes the heap grow does not share.
            let middle = UInt(bitPattern: grown) + 1 << 19
            #expect(fixture.shell("true").outcome == .exited(0))
            #expect(try CopiedMemoryTests.flags(at: middle).contains("dc"))
        }
    }

    /// The flags of the memory at this address (proc(5), VmFlags).
    private static func flags(at address: UInt) throws -> [Substring] {
        let text = try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8)
        var isInside = false
        for line in text.split(separator: "\n") {
            let range = line.prefix { $0 != " " }.split(separator: "-").map { UInt($0, radix: 16) }
            if range.count == 2, let from = range[0], let to = range[1] {
                isInside = from <= address && address < to
            } else if isInside, line.hasPrefix("VmFlags:") {
                return line.split(separator: " ")
            }
        }
        return []
    }
}
