// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore

extension Loop {
    /// What metrics are made of, as far as this queue knows it.
    package struct Measures: Sendable {
        package var at: Now
        package var since: WallInstant
        /// Those of the jobs that have metrics of their own.
        package var jobs: [JobMeasures]
        /// How many others there are.
        package var omitted: Int
        /// Of all jobs.
        package var states: StateCounts
        package var counts: AgendaCounts
        package var live: Int
        package var liveMax: Int
        package var waitingForCapacity: Int
        package var waitingForSlots: Int
        /// The runs that wait for their condition, or whose condition is being checked.
        package var waitingForCondition: Int
        /// Whether the machine is held.
        package var isHeld: Bool
        /// How many jobs are not as the configuration says, because of an error.
        package var rejected: Int
        package var isConfigAccepted: Bool
        package var configAccepted: WallInstant
    }
}

/// Measures that are being gathered.
final class MeasureWork: LongWork {
    /// How many jobs are only counted in a portion. To count one takes a few nanoseconds.
    private static let countedPerPortion = 4096

    private let jobsMax: Int
    private let done: @Sendable (Loop.Measures) -> Void
    private var jobs: [JobMeasures] = []
    private var states = StateCounts()
    /// How many jobs were counted.
    private var counted = 0

    init(jobsMax: Int, done: @escaping @Sendable (Loop.Measures) -> Void) {
        self.jobsMax = jobsMax
        self.done = done
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        let now = loop.steadyNow()
        let left = jobsMax - counted
        let wanted = left > 0 ? min(left, Loop.jobsPerPortion) : Self.countedPerPortion
        if left > 0 { jobs += loop.agenda.measures(from: counted, count: wanted, at: now) }
        let count = loop.agenda.countStates(from: counted, count: wanted, into: &states)
        counted += count
        guard count < wanted else { return .more }
        done(measures(of: loop, at: now))
        return .finished
    }

    func restart() { (jobs, states, counted) = ([], StateCounts(), 0) }

    private func measures(of loop: isolated Loop, at now: Now) -> Loop.Measures {
        let agenda = loop.agenda
        return Loop.Measures(
            at: now, since: loop.parts.since, jobs: jobs, omitted: counted - jobs.count,
            states: states,
            counts: agenda.counts, live: agenda.liveRuns, liveMax: agenda.concurrentRunsMax,
            waitingForCapacity: agenda.waitingForCapacity,
            waitingForSlots: agenda.waitingForSlots,
            waitingForCondition: agenda.waitingForCondition,
            isHeld: agenda.machineHold != nil,
            rejected: loop.config.rejected.count + loop.config.outdated.count,
            isConfigAccepted: loop.config.refusal == nil, configAccepted: loop.config.accepted)
    }
}
