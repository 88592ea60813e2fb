// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The jobs of a configuration in the order of its files, some of which are not from a reading but
/// kept from the configuration in use.
struct JobPieces: Sendable {
    private enum Piece {
        case read(ArraySlice<Job>)
        case kept([Job.Name])
    }

    private var pieces: [Piece] = []

    mutating func read(_ jobs: ArraySlice<Job>) { pieces.append(.read(jobs)) }

    mutating func keep(_ names: [Job.Name]) { pieces.append(.kept(names)) }

    /// All jobs, with the kept ones in their places.
    ///
    /// - Parameters:
    ///   - kept: the kept jobs that are in use, in the order of their names here.
    ///   - eachJob: called after each of these, so that the caller can pause.
    /// - Complexity: O(*n*) in the number of jobs.
    func jobs(keeping kept: [Job], eachJob: () -> Void = {}) -> [Job] {
        var all: [Job] = []
        all.reserveCapacity(kept.count)
        var next = 0
        for piece in pieces {
            switch piece {
            case .read(let jobs): all += jobs
            case .kept(let names):
                for name in names where next < kept.count && kept[next].name == name {
                    all.append(kept[next])
                    next += 1
                    eachJob()
                }
            }
        }
        return all
    }
}
