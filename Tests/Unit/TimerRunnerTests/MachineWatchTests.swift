// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner

/// What the kernel says when parts of the machine change. Instants are chosen, and never waited for.
@Suite struct MachineWatchTests {
    private static let second: Int64 = 1_000_000_000

    /// Waits for a change of this part for at most a minute, and takes it.
    private func poll(_ watch: inout MachineWatch, milliseconds: Int32 = 60_000) -> Bool {
        var polled = watch.polled
        let count = Glibc.poll(&polled, nfds_t(polled.count), milliseconds)
        watch.note(polled)
        return count > 0
    }

    @Test(.enabled(if: HangingFolder.isPossible))
    func aMountIsNoticed() throws {
        var watch = MachineWatch(proc: "/proc")
        watch.watch([.mounts], at: 0)
        // Other tests may mount something as well, so nothing is said of a time without changes.
        let folder = try HangingFolder()
        #expect(poll(&watch) && watch.drain(at: 0) == .mounts)
        _ = folder
    }

    /// A thread in a network of its own, where nothing else happens.
    private func inOtherNetwork(_ body: @escaping @Sendable () -> Void) -> Bool {
        let done = DispatchSemaphore(value: 0)
        let isThere = Mutex(false)
        let thread = Thread {
            if Native.leaveNetwork() {
                isThere.withLock { $0 = true }
                body()
            }
            done.signal()
        }
        thread.start()
        done.wait()
        return isThere.withLock { $0 }
    }

    @Test func anInterfaceThatGoesUpIsNoticed() throws {
        let isPossible = inOtherNetwork {
            var watch = MachineWatch(proc: "/proc")
            watch.watch([.network], at: 0)
            #expect(watch.polled.count == 1)
            #expect(!poll(&watch, milliseconds: 0) && watch.drain(at: 0).isEmpty)
            #expect(Native.setLoopback(isUp: true))
            #expect(poll(&watch))
            #expect(watch.polled.isEmpty, "it need not be noticed twice")
            #expect(watch.next == 0 && watch.drain(at: 0) == .network)
            // What belongs to the same change was taken with it.
            #expect(!poll(&watch, milliseconds: 0))
            // The next report comes a second later, however often something changes.
            for isUp in [false, true, false] { #expect(Native.setLoopback(isUp: isUp)) }
            #expect(poll(&watch) && watch.drain(at: Self.second / 2).isEmpty)
            #expect(watch.next == Self.second && watch.drain(at: Self.second) == .network)
        }
        if geteuid() == 0 { #expect(isPossible) }
    }

    /// More messages than the socket can hold.
    @Test func changesThatWereNotReadAreAChange() {
        _ = inOtherNetwork {
            var watch = MachineWatch(proc: "/proc")
            watch.watch([.network], at: 0)
            for number in 0..<4000 { _ = Native.setLoopback(isUp: number % 2 == 0) }
            #expect(poll(&watch) && watch.drain(at: 0) == .network)
            #expect(!poll(&watch, milliseconds: 0), "all of them were taken")
        }
    }

    @Test func aPartIsWatchedForAWhileAfterTheLastCheck() {
        var watch = MachineWatch(proc: "/proc")
        #expect(watch.next == nil && watch.polled.isEmpty)
        watch.watch([.mounts], at: 5)
        watch.watch([.mounts], at: 10)
        #expect(watch.polled.count == 1 && watch.next == 10 + MachineWatch.keptFor)
        #expect(watch.drain(at: 9 + MachineWatch.keptFor).isEmpty && watch.polled.count == 1)
        #expect(watch.drain(at: 10 + MachineWatch.keptFor).isEmpty && watch.polled.isEmpty)
        #expect(watch.next == nil)
    }

    @Test func whatCannotBeWatchedIsNotWatched() {
        var watch = MachineWatch(proc: "/nonexistent")
        watch.watch([.mounts], at: 0)
        #expect(watch.polled.isEmpty && watch.next == nil)
    }

    /// As udev(7) gets them from the kernel.
    @Test(arguments: [
        ("change@/devices/x/power_supply/AC|ACTION=change|SUBSYSTEM=power_supply|SEQNUM=1|", true),
        ("change@/devices/x/net/lo|ACTION=change|SUBSYSTEM=net|SEQNUM=2|", false),
        ("change@/SUBSYSTEM=power_supply/x|SUBSYSTEM=power_supply_other|", false), ("", false),
        ("|||", false), ("SUBSYSTEM=power_supply", true),
    ])
    func onlyEventsOfPowerSuppliesCount(text: String, isOne: Bool) {
        let bytes = text.utf8.map { $0 == UInt8(ascii: "|") ? 0 : $0 }
        #expect(ChangeSource.isOfPowerSupply(bytes[...]) == isOne)
    }
}
