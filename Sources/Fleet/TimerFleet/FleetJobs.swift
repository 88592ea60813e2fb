// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The jobs of the fleet that this machine is configured with.
struct FleetJobs {
    private var jobs: [Job.Name: FleetJob] = [:]
    /// The hashes of their definitions, as the key of the machine has them.
    private(set) var definitions: [Job.Name: String] = [:]
    /// The jobs that this machine runs for itself, by their templates.
    private var instances: [Job.Name: Job.Name] = [:]
    /// Whether a job ends its runs on a machine that lost the store.
    private(set) var endIsolated = false
    /// Those whose new definition must be written, because a user reloaded it.
    private var redefined: Set<Job.Name> = []

    /// The definition of a job; nil: this machine is not configured with it.
    subscript(name: Job.Name) -> FleetJob? { jobs[name] }

    var names: Dictionary<Job.Name, FleetJob>.Keys { jobs.keys }

    /// In any order.
    var all: Dictionary<Job.Name, FleetJob>.Values { jobs.values }

    /// The configuration was read.
    ///
    /// - Parameter isReload: whether a user wants what has changed to be so in the whole fleet.
    mutating func configure(_ new: [FleetJob], isReload: Bool) {
        if isReload { redefined.formUnion(new.filter { jobs[$0.name] != $0 }.map(\.name)) }
        jobs = Dictionary(uniqueKeysWithValues: new.map { ($0.name, $0) })
        definitions = jobs.mapValues(\.definition)
        instances = [:]
        for job in new { if let template = job.template { instances[template] = job.name } }
        endIsolated = new.contains(where: \.endsIsolated)
        redefined.formIntersection(jobs.keys)
    }

    /// The job that this machine runs for itself by this template; nil: it has no such template.
    func instance(of template: Job.Name) -> Job.Name? { instances[template] }

    /// Whether it is the name of a template.
    func isTemplate(_ name: Job.Name) -> Bool { instances[name] != nil }

    /// Whether the definition of a job must be written.
    func isRedefined(_ name: Job.Name) -> Bool { redefined.contains(name) }

    /// The store has the definition of this machine.
    mutating func isDefined(_ name: Job.Name) { redefined.remove(name) }
}
