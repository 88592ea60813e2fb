// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// The runs that could not start because something was used up. Each is tried again, at first soon
/// and then less often, until it starts or `max` is over. It stays here while it is tried, so that
/// the time counts from the first failure.
struct Retries {
    /// For how long a run is tried again, and how soon: at first after the shorter time, and then
    /// each time after twice the time, in nanoseconds.
    static let max: Int64 = 5_000_000_000
    static let delays: ClosedRange<Int64> = 50_000_000...1_000_000_000

    private struct Retry {
        var request: RunRequest
        /// When it could not start for the first time, by CLOCK_MONOTONIC.
        var since: Int64
        /// How long it waits this time, in nanoseconds; the next time longer.
        var delay: Int64
        /// When it is tried again; nil while it is being tried.
        var at: Int64?
    }

    private var runs: [Run.ID: Retry] = [:]
    /// When the next of them is tried again, by CLOCK_MONOTONIC; nil: none waits.
    private(set) var next: Int64?

    /// Whether a run is tried again, or waits for that.
    func contains(_ run: Run.ID) -> Bool { runs[run] != nil }

    /// Lets a run wait that could not start just now.
    ///
    /// - Parameter isEndless: whether it is certain that what it needs will be free some time.
    /// - Returns: false if it was tried for long enough.
    mutating func add(_ request: RunRequest, isEndless: Bool, at now: Int64) -> Bool {
        var retry =
            runs[request.id]
            ?? Retry(request: request, since: now, delay: Self.delays.lowerBound / 2)
        guard isEndless || now - retry.since < Self.max else { return false }
        retry.delay = min(2 * retry.delay, Self.delays.upperBound)
        let at = Swift.max(now, request.notBefore.nanoseconds) + retry.delay
        retry.at = at
        runs[request.id] = retry
        next = min(next ?? at, at)
        return true
    }

    /// The runs to try again now, in the order in which they were requested.
    mutating func takeDue(at now: Int64) -> [RunRequest] {
        guard let next, now >= next else { return [] }
        let due = runs.values.filter { $0.at.map { $0 <= now } == true }
        for retry in due { runs[retry.request.id]?.at = nil }
        self.next = runs.values.compactMap(\.at).min()
        return due.sorted { $0.since < $1.since }.map(\.request)
    }

    /// Removes a run that waits to be tried again, because it was cancelled; nil if it does not wait.
    mutating func cancel(_ run: Run.ID) -> RunRequest? {
        guard let retry = runs[run], retry.at != nil else { return nil }
        runs[run] = nil
        return retry.request
    }

    /// Forgets a run, which has started or ended.
    mutating func remove(_ run: Run.ID) { if !runs.isEmpty { runs[run] = nil } }

    mutating func removeAll() { runs = [:] }
}
