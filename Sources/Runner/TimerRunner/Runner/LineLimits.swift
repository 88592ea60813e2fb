// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// How many lines a job may write within a time interval.
struct LineLimit: Hashable {
    /// In nanoseconds, above zero. It begins with a line.
    var interval: Int64
    /// The most lines in the interval; at least 1.
    var burst: Int

    init(interval: Int64, burst: Int) {
        self.interval = interval
        self.burst = burst
    }

    /// The limit that a job declares; nil if there is none.
    init?(_ execution: Execution) {
        guard let interval = execution.logRateLimitInterval else { return nil }
        self.init(interval: interval.wholeNanoseconds, burst: execution.logRateLimitBurst)
    }
}

/// The time window in which the lines of a job are counted. It starts with a line, and the next one
/// starts with the first line after its end, as in journald (journald.conf(5),
/// RateLimitIntervalSec=). Instants are of CLOCK_MONOTONIC, in nanoseconds.
struct LineWindow: Hashable {
    private let began: Int64
    private let burst: Int
    private var passed = 0
    /// The instant from which on another window counts, in nanoseconds.
    let end: Int64

    /// A window that starts now, with the first line.
    init(_ limit: LineLimit, at now: Int64) {
        began = now
        burst = limit.burst
        let (end, overflow) = now.addingReportingOverflow(limit.interval)
        self.end = overflow ? .max : end
    }

    /// The same window with another limit, or a new one if it is over under that limit.
    init(_ before: LineWindow, under limit: LineLimit, at now: Int64) {
        self.init(limit, at: before.began)
        if now < end { passed = before.passed } else { self.init(limit, at: now) }
    }

    /// Whether one more line is within the limit. If so it is counted.
    mutating func admit() -> Bool {
        guard passed < burst else { return false }
        passed += 1
        return true
    }
}

/// The windows of all jobs that have written something recently.
struct LineLimits {
    private var windows: [Job.Name: LineWindow] = [:]
    /// The number of windows at which those that are over are removed.
    private var sweepAt = 1024

    /// How many windows are kept, with those that are over and not yet removed.
    var count: Int { windows.count }

    /// The window in which a line that a job writes now is counted.
    func window(of job: Job.Name, _ limit: LineLimit, at now: Int64) -> LineWindow {
        windows[job].map { LineWindow($0, under: limit, at: now) } ?? LineWindow(limit, at: now)
    }

    /// Stores a window in which lines were counted.
    /// - Complexity: O(1) amortised.
    mutating func keep(_ window: LineWindow, of job: Job.Name, at now: Int64) {
        windows[job] = window
        guard windows.count >= sweepAt else { return }
        windows = windows.filter { $0.value.end > now }
        sweepAt = max(1024, 2 * windows.count)
    }
}
