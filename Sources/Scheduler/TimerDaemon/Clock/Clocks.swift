// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
package import TimerCore

/// The machine's clocks. The boot id is read once, because a process ends with its boot.
package struct Clocks: Sendable {
    package let bootID: BootID

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package init() throws(Failure) {
        let path = "/proc/sys/kernel/random/boot_id"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure(
                description: "cannot read \(path): \(systemError()); timerd needs /proc "
                    + "(under systemd: no ProcSubset=pid)")
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)).filter { $0 > 32 }, as: UTF8.self)
        guard let bootID = BootID(text) else {
            throw Failure(description: "\(path) has no boot id but \"\(text.prefix(64))\"")
        }
        self.bootID = bootID
        if let fault = Self.fault(inWall: Self.read(CLOCK_REALTIME)) {
            throw Failure(description: fault)
        }
    }

    /// One reading of all clocks. If the wall clock leaves the years 1970 to 2261 while the daemon
    /// runs, the reading is the nearest instant in these years.
    ///
    /// If the process is stopped or the machine sleeps between two of the reads, this would look
    /// like a wall clock that was set. The clocks are therefore read again until all were read
    /// within a millisecond.
    package func now() -> Now { now(reading: Self.read) }

    /// How many times the clocks are read at most, and within how many nanoseconds all should be
    /// read.
    private static let readingsMax = 16
    private static let readingSpan: Int64 = 1_000_000

    /// One reading with this function in the place of clock_gettime(2).
    func now(reading read: (Int32) -> timespec) -> Now {
        var next = reading(after: Self.nanoseconds(read(CLOCK_BOOTTIME)), read)
        var best = next
        var count = 1
        while best.span > Self.readingSpan, count < Self.readingsMax {
            next = reading(after: next.now.boot.nanoseconds, read)
            if next.span < best.span { best = next }
            count += 1
        }
        return best.now
    }

    /// Reads all clocks, CLOCK_BOOTTIME last, and returns how long this took since an earlier
    /// reading of CLOCK_BOOTTIME.
    private func reading(
        after earlier: Int64, _ read: (Int32) -> timespec
    ) -> (span: Int64, now: Now) {
        let wall = read(CLOCK_REALTIME)
        let awake = Self.nanoseconds(read(CLOCK_MONOTONIC))
        let boot = Self.nanoseconds(read(CLOCK_BOOTTIME))
        let now = Now(
            wall: WallInstant(
                clockSeconds: Int64(wall.tv_sec), nanoseconds: Int64(wall.tv_nsec)),
            awake: AwakeInstant(nanoseconds: awake), boot: BootInstant(nanoseconds: boot),
            bootID: bootID)
        return (boot - earlier, now)
    }

    /// The wall clock, without reading the other clocks.
    package var wall: WallInstant {
        let time = Self.read(CLOCK_REALTIME)
        return WallInstant(clockSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    /// CLOCK_MONOTONIC, without reading the other clocks.
    package var awake: AwakeInstant {
        AwakeInstant(nanoseconds: Self.nanoseconds(Self.read(CLOCK_MONOTONIC)))
    }

    /// Why timerd cannot schedule with a wall clock that has this time; nil if it can.
    static func fault(inWall time: timespec) -> String? {
        guard !Accepted.clockSeconds.contains(Int64(time.tv_sec)) else { return nil }
        return """
            the wall clock reads \(time.tv_sec) seconds since 1970, and timerd works in the years 1970 to \
            2261; set the clock (date --set, or timedatectl set-time) and start timerd again
            """
    }

    private static func read(_ clock: Int32) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }

    /// The nanoseconds of a clock that starts with the boot. Such a clock needs 146 years to leave
    /// `Accepted.bootNanoseconds`, and the kernel limits the offset of a time namespace accordingly
    /// (time_namespaces(7)).
    private static func nanoseconds(_ time: timespec) -> Int64 {
        let seconds = min(
            max(0, Int64(time.tv_sec)), Accepted.bootNanoseconds.upperBound / 1_000_000_000 - 1)
        return seconds * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
