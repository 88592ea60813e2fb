// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a reload would do to each job, with the accrued time it would go on from.
public struct ReloadPreview: Hashable, Sendable {
    /// One job of it.
    public struct Line: Hashable, Sendable {
        /// Its name.
        public var job: Job.Name
        /// What it has accrued since its last grid point; what is kept for its name, if it is removed.
        public var accrued: Duration

        /// A line as described.
        public init(job: Job.Name, accrued: Duration) {
            self.job = job
            self.accrued = accrued
        }
    }

    /// Jobs that are as they were, timers and all.
    public var kept: [Line] = []
    /// Jobs whose definition changed.
    public var changed: [Line] = []
    /// Jobs that are new.
    public var added: [Line] = []
    /// Jobs that are gone.
    public var removed: [Line] = []

    /// A reload that changes nothing.
    public init() {}
}
