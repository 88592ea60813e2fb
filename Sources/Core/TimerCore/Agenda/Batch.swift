// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The consequences of one event, in the order in which they are executed: first the runs that are
/// due are recorded and started, then the timers are set, and then the notices are logged.
struct Batch {
    var runs: [Run] = []
    var start: [Run] = []
    /// The checks of conditions of runs that are in `runs`, or were recorded before.
    var checks: [ConditionCheck] = []
    /// The notifications, written with the runs and records, or before the runs start; each with the
    /// number of `ends` that were decided before.
    private var watched: [(place: Int, action: Action)] = []
    var records: [JobRecord] = []
    /// Requests to end runs, and rows to close, each followed by its notifications.
    var ends: [Action] = []
    var timers: [Action] = []
    var notices: [Action] = []
    var fired: Set<Int> = []

    var actions: [Action] {
        let kept: [Action] =
            if !runs.isEmpty {
                [.begin(runs, start: start, records: records)]
            } else if !records.isEmpty {
                [.save(records, durable: false)]
            } else {
                []
            }
        // These runs were recorded before, so their rows exist already.
        let started: [Action] =
            (runs.isEmpty && !start.isEmpty ? [.start(start)] : [])
            + (checks.isEmpty ? [] : [.check(checks)])
        let effects = isMixed ? decided + started : watched.map(\.action) + started + ends
        return kept + effects + timers + notices
    }

    /// Adds notifications that are not about an end.
    mutating func watch(_ actions: [Action]) {
        watched += actions.map { (ends.count, $0) }
    }

    /// Whether there are notifications of both sorts. They can be about the same incident, which is
    /// stored as the last of them says.
    private var isMixed: Bool {
        !watched.isEmpty && ends.contains { if case .notify = $0 { true } else { false } }
    }

    /// The ends and all notifications, in the order of the decisions.
    var decided: [Action] {
        var actions: [Action] = []
        var rest = watched[...]
        for (index, end) in ends.enumerated() {
            while let next = rest.first, next.place <= index {
                actions.append(next.action)
                rest.removeFirst()
            }
            actions.append(end)
        }
        return actions + rest.map(\.action)
    }
}
