// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What metrics say of the jobs.
extension Loop {
    /// How many jobs are only counted before others have their turn. To count one takes a few nanoseconds.
    private static let countedPerTurn = 4096

    /// What metrics are made of, as far as this queue knows it.
    struct Measures: Sendable {
        var at: Now
        var since: WallInstant
        /// Those of the jobs that have metrics of their own.
        var jobs: [JobMeasures]
        /// How many others there are.
        var omitted: Int
        /// Of all jobs.
        var states: StateCounts
        var counts: AgendaCounts
        var live: Int
        var liveMax: Int
        var waitingForCapacity: Int
        /// How many jobs are not as the configuration says, because of an error.
        var rejected: Int
        var isConfigAccepted: Bool
        var configAccepted: WallInstant
    }

    /// Measures that are being gathered.
    struct Gathering {
        let jobsMax: Int
        let done: @Sendable (Measures) -> Void
        var jobs: [JobMeasures] = []
        var states = StateCounts()
        /// How many jobs were counted.
        var counted = 0
    }

    /// Gathers what metrics are made of, some jobs at a time, as for a list.
    ///
    /// - Parameter jobsMax: of how many jobs there is more than a part in the sums.
    func measure(jobsMax: Int, _ done: @escaping @Sendable (Measures) -> Void) {
        measurings.append(Gathering(jobsMax: jobsMax, done: done))
        measureOn()
    }

    /// Begins to gather measures, if a request waits for them and they are not being gathered.
    func measureOn() {
        guard !measurings.isEmpty, !isMeasuring else { return }
        isMeasuring = true
        measureSome()
    }

    /// Begins from the first job again, since the places of the jobs are others.
    func restartMeasuring() {
        guard let first = measurings.first else { return }
        measurings[0] = Gathering(jobsMax: first.jobsMax, done: first.done)
        measureOn()
    }

    private func measureSome() {
        guard !agenda.isReloading, var gathering = measurings.first else {
            isMeasuring = false
            return
        }
        let now = steadyNow()
        let left = gathering.jobsMax - gathering.counted
        let wanted = left > 0 ? min(left, Self.jobsPerTurn) : Self.countedPerTurn
        if left > 0 {
            gathering.jobs += agenda.measures(from: gathering.counted, count: wanted, at: now)
        }
        let count = agenda.countStates(
            from: gathering.counted, count: wanted, into: &gathering.states)
        gathering.counted += count
        measurings[0] = gathering
        guard count < wanted else { return later { $0.measureSome() } }
        measurings.removeFirst()
        gathering.done(measures(gathering, at: now))
        isMeasuring = false
        if !measurings.isEmpty { later { $0.measureOn() } }
    }

    private func measures(_ gathering: Gathering, at now: Now) -> Measures {
        Measures(
            at: now, since: since, jobs: gathering.jobs,
            omitted: gathering.counted - gathering.jobs.count, states: gathering.states,
            counts: agenda.counts, live: agenda.liveRuns, liveMax: agenda.concurrentRunsMax,
            waitingForCapacity: agenda.waitingForCapacity,
            rejected: rejected.count + outdated.count, isConfigAccepted: configRefusal == nil,
            configAccepted: configAccepted)
    }
}
