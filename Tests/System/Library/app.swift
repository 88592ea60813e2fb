// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers

// A client as an app is written: its owners belong to actors.

@MainActor final class Screen {
    var count = 0
    var timer: PausableTimer?

    func start() throws {
        timer = try .every(.milliseconds(5), for: self, times: 3, on: .main) { screen, tick in
            screen.count += 1
        }
    }
}

actor Counter {
    var count = 0
    var timer: PausableTimer?

    func start() throws {
        timer = try .every(.milliseconds(5), isolatedTo: self, times: 3) { counter, tick in
            counter.count += 1
        }
    }
}

func load() async -> Int { 1 }

let screen = Screen()
let counter = Counter()
var loaded = 0
try screen.start()
try await counter.start()
let loading = try PausableTimer.every(.milliseconds(5), for: screen, times: 3, on: .main) {
    _, tick in loaded += await load()
}
while screen.count < 3 || loaded < 3 {
    try await TimerQueue.shared.clock.sleep(for: .milliseconds(5))
}
while await counter.count < 3 { await Task.yield() }

// Instants can be calculated with, without importing anything else.
let time = ManualTime.start
let later = time.awake + .seconds(5)
let isRight =
    later - time.awake == .seconds(5) && later > time.awake && time.wall + .seconds(1) > time.wall
    && time.counted(TimeBasis.wall).nanoseconds == time.boot.nanoseconds
let count = await counter.count
print(
    "main actor: \(screen.count), actor: \(count), async: \(loaded), \(isRight ? "calculated" : "wrong")"
)
withExtendedLifetime(loading) {}
