// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A configuration of which only the changed files were parsed. The jobs of the other files do not
/// change.
public struct ConfigChange: Sendable {
    /// The jobs of the files that were not parsed.
    public let kept: [Job.Name]
    /// The files of all jobs, as they are with the change.
    public let origins: ConfigOrigins
    private let pieces: JobPieces
    private let notifiers: [Notifier]
    private let slots: [RunSlot]

    /// - Parameters:
    ///   - reading: a reading with `unchanged` files.
    ///   - origins: the files of the jobs in use.
    /// - Complexity: O(*n*) in the number of jobs.
    public init(_ reading: ConfigReading, over origins: ConfigOrigins) {
        var next = ConfigOrigins(of: reading)
        var kept: [Job.Name] = []
        var pieces = JobPieces()
        var rest = reading.jobSet.jobs[...]
        for share in reading.shares {
            if reading.unchanged.contains(share.file) {
                let defined = origins.jobs[share.file] ?? []
                next.jobs[share.file] = defined
                let names = defined.map(\.name)
                kept += names
                pieces.keep(names)
            } else {
                pieces.read(rest.prefix(share.jobs))
                rest = rest.dropFirst(share.jobs)
            }
        }
        self.kept = kept
        self.pieces = pieces
        self.origins = next
        notifiers = reading.jobSet.notifiers
        slots = reading.jobSet.slots
    }

    /// The whole configuration.
    ///
    /// - Parameters:
    ///   - jobs: the jobs of `kept`, in its order.
    ///   - eachJob: called after each job, so that the caller can pause.
    /// - Complexity: O(*n*) in the number of jobs.
    public func jobSet(keeping jobs: [Job], eachJob: () -> Void = {}) -> JobSet {
        JobSet(pieces.jobs(keeping: jobs, eachJob: eachJob), notifiers: notifiers, slots: slots)
    }
}
