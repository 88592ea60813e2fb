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
    }

    /// One reading of all of them.
    func now() -> Now {
        Now(
            wall: WallInstant(microsecondsSinceEpoch: Self.read(CLOCK_REALTIME) / 1000),
            awake: AwakeInstant(nanoseconds: Self.read(CLOCK_MONOTONIC)),
            boot: BootInstant(nanoseconds: Self.read(CLOCK_BOOTTIME)), bootID: bootID)
    }

    /// CLOCK_MONOTONIC alone.
    var awake: AwakeInstant { AwakeInstant(nanoseconds: Self.read(CLOCK_MONOTONIC)) }

    private static func read(_ clock: Int32) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The sentence for the current errno, or another one's.
func systemError(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
