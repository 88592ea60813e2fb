// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
package import TimerCore

/// What is wrong with the configuration, and since when it is in use. A configuration that is refused
/// changes only the reason; one that is used replaces everything.
package struct ConfigState {
    /// The jobs that are not loaded because of an error.
    private(set) var rejected: [Rejection]
    /// The jobs that keep an earlier definition because of an error.
    private(set) var outdated: [Rejection] = []
    /// What is wrong with the configuration that was read last; nil if it is in use.
    private(set) var refusal: String?
    /// When the configuration was last read without a refusal.
    private(set) var accepted: WallInstant
    /// Called with the notifiers of each new configuration.
    private var follower: (@Sendable ([Notifier]) -> Void)?

    init(rejected: [Rejection], at instant: WallInstant) {
        self.rejected = rejected
        accepted = instant
    }

    /// Calls this with the notifiers of each new configuration.
    package mutating func followNotifiers(_ follower: @escaping @Sendable ([Notifier]) -> Void) {
        self.follower = follower
    }

    /// A configuration is used.
    mutating func use(_ new: Loop.NewJobSet, at instant: WallInstant) {
        rejected = new.rejected
        outdated = new.outdated
        refusal = new.refusal
        if refusal == nil { accepted = instant }
        follower?(new.jobSet.notifiers)
    }

    /// A configuration is refused.
    mutating func refuse(because reason: String) { refusal = reason }

    /// Why a job is not loaded, or keeps an earlier definition; nil if neither is so.
    func rejection(of job: Job.Name) -> Rejection? {
        rejected.first { $0.name == job.description } ?? reasonOutdated(job)
    }

    /// Why a job keeps an earlier definition.
    func reasonOutdated(_ job: Job.Name) -> Rejection? {
        outdated.first { $0.name == job.description }
    }
}
