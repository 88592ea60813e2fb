// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

/// Which jobs of a list are shown, and in which order.
struct ListFilter: ParsableArguments {
    enum Order: String, ExpressibleByArgument, CaseIterable {
        case name, next, last, state
    }

    /// The words of the column STATE.
    enum State: String, ExpressibleByArgument, CaseIterable {
        case armed, running, waiting, retrying, paused, stopped, finished

        /// The place in this list.
        var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    @Option(
        help: ArgumentHelp(
            "Sort by this (default: the order of the configuration).", valueName: "key"))
    var sort: Order?

    @Option(help: "Only jobs in this state; may be given more than once.")
    var state: [State] = []

    @Flag(help: "Only jobs whose last run failed.")
    var failed = false

    @Flag(help: "Only paused jobs; the same as --state paused.")
    var paused = false

    @OptionGroup var names: NamePatterns

    @OptionGroup var pauses: PauseFilter

    /// The states that are shown; empty: all.
    var states: Set<State> { Set(state + (paused ? [.paused] : [])) }

    /// Whether no option excludes a job.
    var isAll: Bool {
        states.isEmpty && !failed && names.isEmpty && pauses.isEmpty
    }

    /// The selected jobs in their order. Jobs without a value to sort by come last, and jobs with
    /// equal values keep the order of the configuration.
    /// - Complexity: O(*n* log *n*).
    func apply(to jobs: [JobTable.Row]) -> [JobTable.Row] {
        let found = isAll ? jobs : jobs.filter(admits)
        switch sort {
        case nil: return found
        case .name: return Self.sorted(found) { $0.job }
        case .next: return Self.sorted(found) { Self.instant($0.nextStart) }
        case .last: return Self.sorted(found, isDescending: true) { Self.instant($0.lastBegan) }
        case .state:
            let rank = Dictionary(
                uniqueKeysWithValues: Self.urgency.enumerated().map { ($1, $0) })
            return Self.sorted(found) { $0.hasFailed ? -1 : rank[$0.stateWord] ?? rank.count }
        }
    }

    private static func instant(_ text: String?) -> WallInstant? {
        text.flatMap { WallInstant(rfc3339: $0) }
    }

    /// The order of `--sort state`: the states that need attention come first.
    private static let urgency = [
        "retrying", "running", "waiting", "paused", "armed", "stopped", "finished",
    ]

    private func admits(_ job: JobTable.Row) -> Bool {
        let hasState = states.isEmpty || states.contains { $0.rawValue == job.stateWord }
        return hasState && (!failed || job.hasFailed) && names.admit(job.job)
            && pauses.admits(job)
    }

    private static func sorted<Key: Comparable>(
        _ jobs: [JobTable.Row], isDescending: Bool = false, by key: (JobTable.Row) -> Key?
    ) -> [JobTable.Row] {
        let keyed = jobs.enumerated().map { (key: key($1), place: $0, job: $1) }
        return keyed.sorted { left, right in
            switch (left.key, right.key) {
            case (let one?, let other?) where one != other:
                isDescending ? one > other : one < other
            case (.some, nil): true
            case (nil, .some): false
            default: left.place < right.place
            }
        }.map(\.job)
    }
}
