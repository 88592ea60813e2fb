// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A configuration of which only the changed files were parsed. The jobs of the other files do not
/// change.
public struct ConfigChange: Sendable {
    /// The jobs that do not change.
    public let kept: [Job.Name]
    /// The files of all jobs.
    public let origins: ConfigOrigins
    private let pieces: [Piece]
    private let notifiers: [Notifier]

    private enum Piece {
        case read(ArraySlice<Job>)
        /// The number of kept jobs that have this place.
        case kept(Int)
    }

    /// - Parameters:
    ///   - reading: a reading with `unchanged` files.
    ///   - origins: the files of the jobs in use.
    /// - Complexity: O(*n*) in the number of jobs.
    public init(_ reading: ConfigReading, over origins: ConfigOrigins) {
        var next = ConfigOrigins(of: reading)
        var kept: [Job.Name] = []
        var pieces: [Piece] = []
        var rest = reading.jobSet.jobs[...]
        for share in reading.shares {
            if reading.unchanged.contains(share.file) {
                let names = origins.jobs(of: share.file)
                next.jobs[share.file] = names
                kept += names
                pieces.append(.kept(names.count))
            } else {
                pieces.append(.read(rest.prefix(share.jobs)))
                rest = rest.dropFirst(share.jobs)
            }
        }
        self.kept = kept
        self.pieces = pieces
        self.origins = next
        notifiers = reading.jobSet.notifiers
    }

    /// The whole configuration.
    ///
    /// - Parameters:
    ///   - jobs: the jobs of `kept`, in its order.
    ///   - eachJob: called after each job, so that the caller can pause.
    /// - Complexity: O(*n*) in the number of jobs.
    public func jobSet(keeping jobs: [Job], eachJob: () -> Void = {}) -> JobSet {
        var all: [Job] = []
        all.reserveCapacity(jobs.count)
        var rest = jobs[...]
        for piece in pieces {
            switch piece {
            case .read(let read): all += read
            case .kept(let count):
                for job in rest.prefix(count) {
                    all.append(job)
                    eachJob()
                }
                rest = rest.dropFirst(count)
            }
        }
        return JobSet(all, notifiers: notifiers)
    }
}
