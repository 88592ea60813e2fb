// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The jobs by slot, and their order.
@Suite struct JobTableTests {
    private static let now = World().now

    private static func entry(_ job: Job) -> JobEntry { JobEntry(new: job, at: now, seed: 0) }

    private static func entry(_ name: Job.Name) -> JobEntry { entry(.every(.seconds(60), name)) }

    private static let oneOff: Job = {
        var job = Job.every(.seconds(60), "once")
        job.isOneOff = true
        return job
    }()

    private static func table(_ names: Job.Name...) -> JobTable {
        var table = JobTable()
        for name in names { _ = table.add(entry(name), isOneOff: false) }
        return table
    }

    @Test func aJobIsFoundByItsNameAndItsSlot() {
        let table = Self.table("a", "b")
        #expect(table.count == 2 && table.slotCount == 2 && table.order == [0, 1])
        #expect(table.slot(of: "b") == 1 && table.slot(of: "c") == nil)
        #expect(table[0]?.job.name == "a")
    }

    @Test func aSlotIsUsedAgain_whenItHasLeftTheOrder() {
        var table = Self.table("a", "b", "c")
        table.remove(1)
        #expect(table.count == 2 && table[1] == nil && table.slot(of: "b") == nil)
        #expect(table.order == [0, 1, 2])
        #expect(table.add(Self.entry("d"), isOneOff: false) == 3)
        table.reorder([3, 2, 0], freeing: [1])
        #expect(table.order == [3, 2, 0])
        #expect(table.add(Self.entry("e"), isOneOff: false) == 1)
        table.remove(2)
        table.close([2])
        #expect(table.order == [3, 0, 1] && table.slotCount == 4)
        #expect(table.add(Self.entry("f"), isOneOff: false) == 2)
    }

    @Test func aJobThatIsRenamedKeepsItsSlot() throws {
        var table = Self.table("a", "b")
        var entry = try #require(table[0])
        entry.job.name = "c"
        table.rename(0, to: entry)
        #expect(table.slot(of: "a") == nil && table.slot(of: "c") == 0 && table.count == 2)
    }

    @Test func theNumbersOfOneOffJobsAndOpenLedgersFollow() throws {
        var table = Self.table("a")
        #expect(table.add(Self.entry(Self.oneOff), isOneOff: true) == 1)
        #expect(table.oneOffs == 1 && table.openLedgers == 0)
        // A reload may make a one-off job of another one, and the other way round.
        table.redefine(0, as: Self.oneOff)
        #expect(table.oneOffs == 2)
        table.redefine(1, as: .every(.seconds(60), "once"))
        #expect(table.oneOffs == 1)
        var entry = try #require(table[0])
        entry.ledger.open(at: entry.counted(at: Self.now))
        table.noteLedger(wasOpen: false, isOpen: true)
        table[0] = entry
        #expect(table.openLedgers == 1)
        #expect(table.record(0, at: Self.now, ahead: .zero, instance: 7)?.isCounting == true)
        table.remove(0)
        #expect(table.openLedgers == 0 && table.count == 1)
        #expect(table.record(0, at: Self.now, ahead: .zero, instance: 7) == nil)
    }
}
