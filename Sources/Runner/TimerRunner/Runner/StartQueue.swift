// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// The runs that wait to be started. They start in their order, while the limit of active runs is
/// not reached and there are descriptors for one more.
///
/// Messages have places of their own, so that a receiver that does not answer takes none of the
/// jobs. They are not urgent: they start when no run can. The commands of conditions have places of
/// their own too: the run that waits for the answer has one of the jobs already.
struct StartQueue {
    /// How many runs are started before events of other runs are handled. A start costs more with
    /// more open descriptors, so the descriptors of runs that ended should be closed in between.
    static let startsPerIteration = 32
    /// How many runs that send messages may be active at once.
    static let activeMessagesMax = 4
    /// How many commands of conditions may be active at once.
    static let activeChecksMax = 8

    /// How many children there are.
    struct Occupancy: Hashable {
        /// The runs of jobs that are active, and those that send messages.
        var runs: Int
        var messages: Int
        /// All of these, and those that have ended and whose output is still read.
        var places: Int
        /// The commands of conditions that are active.
        var checks = 0
    }

    private var runs: ArraySlice<Preparation> = []
    private var messages: ArraySlice<Preparation> = []
    private var checks: ArraySlice<Preparation> = []
    private var activeMax = Int.max
    /// How many children there may be, because of the limit of open files.
    private let placesMax: Int
    private var burst = StartBurst()
    /// False once the runner shuts down.
    private(set) var isOpen = true

    init(placesMax: Int = .max) { self.placesMax = placesMax }

    /// From now on, only so many runs of jobs are active at once.
    mutating func limit(to activeMax: Int) { self.activeMax = activeMax }

    /// Adds runs, which are all of jobs, all messages or all checks. After `close` they are ignored.
    mutating func add(_ preparations: [Preparation]) {
        guard isOpen else { return }
        guard let first = preparations.first else { return }
        self[keyPath: Self.lane(of: first.request.id)] += preparations
    }

    /// Adds a run that was prepared by itself.
    mutating func add(_ preparation: Preparation) {
        self[keyPath: Self.lane(of: preparation.request.id)].append(preparation)
    }

    /// Those that a run waits among.
    private static func lane(
        of run: Run.ID
    ) -> WritableKeyPath<Self, ArraySlice<Preparation>> {
        run.isMessage ? \.messages : run.isCheck ? \.checks : \.runs
    }

    /// Whether one of them may start.
    func hasNext(beside active: Occupancy) -> Bool {
        mayStart(beside: active) || mayCheck(active) || maySend(active)
    }

    /// Removes the next one that may start.
    /// - Parameter started: how many were started in this loop iteration.
    mutating func next(after started: Int, beside active: Occupancy) -> Preparation? {
        if mayStart(beside: active) {
            return started < Self.startsPerIteration ? runs.popFirst() : nil
        }
        if mayCheck(active) { return checks.popFirst() }
        return maySend(active) ? messages.popFirst() : nil
    }

    private func mayStart(beside active: Occupancy) -> Bool {
        !runs.isEmpty && active.runs < activeMax && active.places < placesMax
    }

    private func mayCheck(_ active: Occupancy) -> Bool {
        !checks.isEmpty && active.checks < Self.activeChecksMax
    }

    private func maySend(_ active: Occupancy) -> Bool {
        !messages.isEmpty && active.messages < Self.activeMessagesMax
    }

    /// Counts the runs that start in this loop iteration.
    /// - Returns: whether a burst of starts began or ended.
    mutating func noteBurst(at now: Int64) -> StartBurst.Change? {
        burst.note(starts: min(runs.count, Self.startsPerIteration), at: now)
    }

    /// - Complexity: O(*n*) in the number of waiting runs.
    func contains(_ run: Run.ID) -> Bool {
        self[keyPath: Self.lane(of: run)].contains { $0.request.id == run }
    }

    /// Removes a run that waits; nil if it does not.
    /// - Complexity: O(*n*) in the number of waiting runs.
    mutating func remove(_ run: Run.ID) -> Preparation? {
        let lane = Self.lane(of: run)
        return self[keyPath: lane].firstIndex { $0.request.id == run }
            .map { self[keyPath: lane].remove(at: $0) }
    }

    /// Removes all of them and accepts no more. A run that was never started has no record, and the
    /// next runner starts it.
    mutating func close() {
        isOpen = false
        runs = []
        messages = []
        checks = []
    }
}
