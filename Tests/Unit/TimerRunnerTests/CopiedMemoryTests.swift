// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
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

    /// A process has a stack of its own, so this thread keeps its pages for itself.
    @Test func theStackOfTheThreadIsNotCopied() async {
        await #expect(processExitsWith: .success) {
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            // It marks the memory as for a start of this thread.
            cspawn_prepare()
            var local = 0
            let address = withUnsafeMutablePointer(to: &local) { UInt(bitPattern: $0) }
            #expect(try CopiedMemoryTests.flags(at: address).contains("dc"))
            #expect(fixture.shell("true").outcome == .exited(0))
        }
    }

    /// The flags of the memory at this address (proc(5), VmFlags).
    private static func flags(at address: UInt) throws -> [Substring] {
        // A file of unknown length, of which a single read may give only a part.
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/smaps"))
        let text = try String(decoding: file.readToEnd() ?? Data(), as: UTF8.self)
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
