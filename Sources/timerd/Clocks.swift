// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// The machine's clocks. The boot id is read once: a process does not outlive its boot.
struct Clocks: Sendable {
    let bootID: BootID

    /// Why the clocks cannot be read.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init() throws(Failure) {
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
            throw Failure(description: "\(path) holds no boot id but \"\(text.prefix(64))\"")
        }
        self.bootID = bootID
        if let fault = Self.fault(inWall: Self.read(CLOCK_REALTIME)) {
            throw Failure(description: fault)
        }
    }

    /// One reading of all of them. A wall clock that leaves the years 1970 to 2261 while the daemon runs reads
    /// as the nearest instant of theirs.
    func now() -> Now {
        let wall = Self.read(CLOCK_REALTIME)
        return Now(
            wall: WallInstant(
                clockSeconds: Int64(wall.tv_sec), nanoseconds: Int64(wall.tv_nsec)),
            awake: AwakeInstant(nanoseconds: Self.nanoseconds(CLOCK_MONOTONIC)),
            boot: BootInstant(nanoseconds: Self.nanoseconds(CLOCK_BOOTTIME)), bootID: bootID)
    }

    /// CLOCK_MONOTONIC alone.
    var awake: AwakeInstant { AwakeInstant(nanoseconds: Self.nanoseconds(CLOCK_MONOTONIC)) }

    /// Why nothing can be scheduled by a wall clock that reads this; nil if it can.
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

    /// Of a clock that begins with the boot; it would take 146 years to leave `Accepted.bootNanoseconds`, and
    /// an offset of a time namespace (time_namespaces(7)) may not come near that.
    private static func nanoseconds(_ clock: Int32) -> Int64 {
        let time = read(clock)
        let seconds = min(
            max(0, Int64(time.tv_sec)), Accepted.bootNanoseconds.upperBound / 1_000_000_000 - 1)
        return seconds * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The sentence for the current errno, or another one's.
func systemError(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
