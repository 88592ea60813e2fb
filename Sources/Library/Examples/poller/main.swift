// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import PausableTimers

// `swift run poller [TIMES]`: reads the load of the machine every half second, TIMES times (default
// 10), in an async loop. Some reads take longer than that. Then the next tick comes at once and
// says how many ticks it stands for, and the one after it is on the original grid again.

/// The load average of the last minute.
func readLoad() -> String {
    let file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "unknown" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    let words = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
    return words.first.map { String(decoding: $0, as: UTF8.self) } ?? "unknown"
}

let times = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 10
do {
    let timer = try PausableTimer.every(
        .milliseconds(500), first: .now, times: times, tolerance: .milliseconds(50))
    for await tick in timer.ticks {
        let late = Int(tick.lateness / .milliseconds(1))
        print("poll \(tick.number): load \(readLoad()), \(late) ms late, \(tick.missed) missed")
        // This simulates a server that is sometimes slow.
        if tick.number % 4 == 3 { try await Task.sleep(for: .milliseconds(1200)) }
    }
    print("active for \(timer.activeTime)")
} catch {
    print("poller: \(error)")
    exit(2)
}
