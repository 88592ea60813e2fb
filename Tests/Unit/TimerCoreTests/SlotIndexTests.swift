// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Compares the index with a dictionary, which it replaces.
@Suite struct SlotIndexTests {
    private static let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_795_000_000), awake: AwakeInstant(nanoseconds: 0),
        boot: BootInstant(nanoseconds: 0), bootID: BootID(String(repeating: "0", count: 32))!)

    private static func entry(_ name: Job.Name) -> JobEntry {
        JobEntry(
            new: Job(name: name, command: .shell("true"), schedule: .every(.seconds(60))), at: now,
            seed: 0)
    }

    @Test func findsItsElements_andNothingElse_afterAnyChanges() {
        var random = SeededRandom()
        let names = (0..<300).map { Job.Name("job-\($0)")! }
        for _ in 0..<20 {
            var index = SlotIndex()
            var entries: [JobEntry?] = []
            var free: [Int] = []
            var wanted: [Job.Name: Int] = [:]
            // Only few names are used at first, so that the table is small and has collisions.
            for step in 1...1000 {
                let name = names[random.int(below: min(step, names.count))]
                if wanted.removeValue(forKey: name) != nil {
                    let slot = index.slot(of: name, in: entries)
                    index.remove(name, in: entries)
                    if let slot {
                        entries[slot] = nil
                        free.append(slot)
                    }
                } else {
                    let slot = free.popLast() ?? entries.count
                    if slot == entries.count { entries.append(nil) }
                    entries[slot] = Self.entry(name)
                    index.insert(slot, in: entries)
                    wanted[name] = slot
                }
                #expect(index.count == wanted.count)
                guard step % 10 == 0 else { continue }
                let found = names.allSatisfy { index.slot(of: $0, in: entries) == wanted[$0] }
                #expect(found)
            }
        }
    }

    /// The benchmarks measure the memory of a job. This test protects it: a new field belongs
    /// behind a reference unless most jobs need it.
    @Test func theMemoryOfAJobStaysSmall() {
        #expect(MemoryLayout<JobEntry?>.stride <= 168)
        #expect(MemoryLayout<Job>.stride <= 112)
        #expect(MemoryLayout<Phase>.size == 8)
        // Of these there is one or more for each job during a start.
        #expect(MemoryLayout<JobRecord>.stride <= 200)
        #expect(MemoryLayout<Action>.stride <= 64)
    }

    @Test func anEmptyIndexFindsNothing_andAnUnknownNameIsNotRemoved() {
        var index = SlotIndex()
        let name = Job.Name("a")
        #expect(index.slot(of: name, in: []) == nil)
        index.remove(name, in: [])
        index.insert(0, in: [Self.entry(Job.Name("b"))])
        index.remove(name, in: [Self.entry(Job.Name("b"))])
        #expect(index.count == 1)
    }
}
