// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The rules about jobs that follow others.
extension Decoder {
    /// A job can only follow others that are there, on this machine alone, and never itself over
    /// others.
    /// - Complexity: O(*n*) in the number of jobs, and of what they follow.
    func leaveOutWithWrongFollows(_ found: inout RuleFaults) {
        guard !isSingle, !followsPlaces.isEmpty else { return }
        let known = Set(places.keys).union(surroundings?.jobNames ?? [])
        let shared = Set(fleetPlaces.keys)
        var followed = surroundings?.followed ?? [:]
        for job in found.jobs {
            followed[job.name] = job.follows?.causes.map(\.job)
        }
        var lacksTables = false
        leaveOut(&found, at: followsPlaces) { job in
            for cause in job.follows?.causes ?? [] {
                if cause.job == job.name { return "follows: names the job itself" }
                if templatePlaces[cause.job.description] != nil {
                    return
                        "follows: \"\(cause.job)\" is a template; name the job of one of its instances"
                }
                guard known.contains(cause.job.description) else {
                    lacksTables = true
                    return "follows: "
                        + Self.noTable("job", cause.job.description, among: known)
                }
                if shared.contains(cause.job) {
                    return
                        "follows: \"\(cause.job)\" is a job of a fleet, whose runs end on any machine; a job can "
                        + "only follow jobs of this machine alone"
                }
            }
            guard let circle = Self.circle(through: job.name, followed) else { return nil }
            return "follows: the jobs follow each other in a circle: "
                + circle.map(\.description).joined(separator: ", ") + "; remove one of them"
        }
        if lacksTables { found.lacksTables = true }
    }

    /// The jobs from this one back to itself, each following the next; nil if there is no such way.
    /// - Complexity: O(*n*) in what the jobs follow.
    private static func circle(
        through job: Job.Name, _ followed: [Job.Name: [Job.Name]]
    ) -> [Job.Name]? {
        var came: [Job.Name: Job.Name] = [:]
        var open = [job]
        while let one = open.popLast() {
            for next in followed[one] ?? [] {
                if next == job {
                    var way = [one]
                    while let last = way.last, last != job, let before = came[last] {
                        way.append(before)
                    }
                    return way.reversed() + [job]
                }
                guard came[next] == nil else { continue }
                came[next] = one
                open.append(next)
            }
        }
        return nil
    }
}
