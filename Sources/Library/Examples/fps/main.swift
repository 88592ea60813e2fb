// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import PausableTimers

// `swift run fps [RATE] [BUSY-MS] [SECONDS]`: a frame-rate meter. It draws RATE frames per second
// (default 60), each of which takes BUSY-MS milliseconds (default 0), and shows the rate that it
// achieves: green if no frame is dropped, yellow if some are dropped, red below half of RATE. It
// ends after SECONDS, or runs until it is stopped.

let numbers = CommandLine.arguments.dropFirst().map { Double($0) ?? 0 }
let rate = numbers.first ?? 60
let busy = UInt32(max(0, numbers.dropFirst().first ?? 0) * 1000)
let seconds = numbers.dropFirst(2).first

/// The rate as a whole number, in a color that shows how good it is.
func label(_ achieved: Double, of preferred: Double) -> String {
    let colour = achieved > preferred * 0.95 ? 32 : achieved > preferred * 0.5 ? 33 : 31
    return "\u{1b}[\(colour)m\(Int(achieved.rounded())) FPS\u{1b}[0m"
}

// Writes each line at once, without the buffering of `print`, also when the output is a pipe.
func show(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

do {
    // Drawing has its own queue, so that the label is updated each second, however slow drawing is.
    let drawing = TimerQueue(label: "fps.drawing", qos: .userInteractive)
    let ticker = try Ticker(preferredRate: rate, on: drawing) { frame in
        if busy > 0 { usleep(busy) }
        if frame.dropped > 0 { show("frame \(frame.number): \(frame.dropped) dropped") }
    }
    let meter = try PausableTimer.every(.seconds(1), first: .after(.milliseconds(1100))) { _ in
        if let achieved = ticker.achievedRate { show(label(achieved, of: ticker.preferredRate)) }
        if let seconds, ticker.activeTime >= .seconds(seconds) { exit(0) }
    }
    withExtendedLifetime((ticker, meter)) { dispatchMain() }
} catch {
    show("fps: \(error)")
    exit(2)
}
