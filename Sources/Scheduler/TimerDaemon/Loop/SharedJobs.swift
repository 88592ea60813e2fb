// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

/// The jobs that a fleet shares, as far as this machine knows them. What the fleet says of a job
/// replaces what it said before.
struct SharedJobs {
    /// The fleet that shares some of the jobs, and the name of this machine in it; nil without one.
    private(set) var fleet: (driver: FleetDriver, machine: MachineName)?
    /// The jobs as the fleet knows them.
    private var views: [Job.Name: FleetJobView] = [:]
    /// The jobs that each machine runs for itself, by their templates.
    private var instances: [Job.Name: Job.Name] = [:]
    /// The jobs that the fleet paused together with their active runs; nil until it is known.
    private var runsPaused: Set<Job.Name>?

    /// Notes which fleet shares the jobs.
    mutating func join(_ fleet: FleetDriver, as machine: MachineName) {
        self.fleet = (fleet, machine)
    }

    /// What the fleet knows of a job; nil if that is nothing.
    func view(of job: Job.Name) -> FleetJobView? { views[job] }

    /// The job of this machine that was made from a template; nil if this is no template.
    func instance(of template: Job.Name) -> Job.Name? { instances[template] }

    /// Notes which jobs are made from templates.
    ///
    /// - Complexity: O(*n*) in the number of jobs.
    mutating func noteTemplates(of jobs: some Sequence<Job>) {
        instances = [:]
        for job in jobs {
            if let template = job.fleet?.template { instances[template] = job.name }
        }
    }

    /// Notes the jobs as the fleet knows them now.
    ///
    /// - Returns: the jobs that it paused together with their active runs, if the agenda must know
    ///   that; nil otherwise.
    /// - Complexity: O(*n*) in the jobs of the fleet.
    mutating func note(_ views: [Job.Name: FleetJobView]) -> Set<Job.Name>? {
        self.views = views
        // Without a connection it is not known whether the pauses have ended.
        guard views.isEmpty || views.values.contains(where: { !$0.isStale }) else { return nil }
        let paused = Set(views.lazy.filter { $1.pause?.withRun == true }.map(\.key))
        // Runs that start during the pause are suspended as well.
        guard paused != runsPaused || !paused.isEmpty else { return nil }
        runsPaused = paused
        return paused
    }
}
