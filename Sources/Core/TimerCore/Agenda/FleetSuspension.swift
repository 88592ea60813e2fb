// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The runs that are suspended because the fleet paused their jobs together with them.
///
/// Until the fleet is known, an earlier instance of the daemon may have suspended any run of a
/// shared job, so at first all of them are resumed that are not to be suspended.
struct FleetSuspension: Sendable {
    /// Nil until the fleet is known.
    private var runs: Set<Run.ID>?

    /// Whether the fleet has said which runs are suspended.
    var isKnown: Bool { runs != nil }

    /// Changes which runs are suspended.
    ///
    /// - Parameters:
    ///   - wanted: the active runs that are suspended from now on.
    ///   - shared: the active runs of all shared jobs; they matter only until the fleet is known.
    /// - Returns: the runs to resume, some of which may have ended, and those to suspend; each in the
    ///   order of their names.
    mutating func change(
        to wanted: Set<Run.ID>, ofAll shared: [Run.ID]
    ) -> (resumed: [Run.ID], suspended: [Run.ID]) {
        let former = runs ?? Set(shared)
        let suspended = wanted.subtracting(runs ?? [])
        runs = wanted
        return (Self.sorted(former.subtracting(wanted)), Self.sorted(suspended))
    }

    /// Forgets runs of a job that is not shared any more.
    /// - Returns: those of them that are suspended, and are to be resumed.
    mutating func release(_ some: [Run.ID]) -> [Run.ID] {
        let suspended = some.filter { runs?.contains($0) == true }
        runs?.subtract(suspended)
        return suspended
    }

    private static func sorted(_ runs: Set<Run.ID>) -> [Run.ID] {
        runs.sorted { $0.description < $1.description }
    }
}
