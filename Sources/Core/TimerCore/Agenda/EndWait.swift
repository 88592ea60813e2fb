// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What an interval that is counted from the end of a run knows of that end: whether it waits for it,
/// and whether it came during a pause.
///
/// The wait begins with a run and ends when no run is left. An end during a pause belongs to that
/// pause only.
struct EndWait: Hashable, Sendable {
    /// An end of a run during a pause, by the wall clock. A pause is identified by its start.
    private struct PausedEnd: Hashable {
        var pause: WallInstant
        var at: WallInstant
    }

    /// How long the machine had slept in this boot when the wait began; nil while nothing is waited
    /// for.
    private var sleptBefore: Duration?
    /// The last end during a pause.
    private var pausedEnd: PausedEnd?

    /// Whether the interval waits for the end of its runs.
    var isWaiting: Bool { sleptBefore != nil }

    /// Begins to wait. A wait that has begun goes on.
    ///
    /// - Parameter slept: how long the machine has slept in this boot.
    mutating func begin(slept: Duration) { sleptBefore = sleptBefore ?? slept }

    /// Ends the wait.
    /// - Returns: how long the machine had slept when it began; zero if nothing was waited for.
    @discardableResult
    mutating func end() -> Duration {
        defer { sleptBefore = nil }
        return sleptBefore ?? .zero
    }

    /// Notes an end during this pause.
    mutating func noteEnd(at instant: WallInstant, in pause: Pause) {
        pausedEnd = PausedEnd(pause: pause.since, at: instant)
    }

    /// The last end during this pause; nil if there was none.
    func end(in pause: Pause) -> WallInstant? {
        pausedEnd.flatMap { $0.pause == pause.since ? $0.at : nil }
    }
}
