// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// The runs whose users are looked up and whose files are read, on other threads. Each of the two
/// has `Spawner.timeout`; after that the run is prepared with a failure. A run can be cancelled and
/// requested again meanwhile, so only an answer to its latest request counts.
struct PendingPreparations {
    private enum Step {
        case lookUp
        /// The files are read for this user.
        case files(Account)
    }

    private struct Entry {
        var request: RunRequest
        var number: RunnerMailbox.RequestNumber
        var step: Step
        /// When the step takes too long, by CLOCK_MONOTONIC.
        var until: Int64

        /// The preparation of the run if the step takes too long.
        var expired: Preparation {
            let limit = "within \(Spawner.timeout.components.seconds) seconds"
            switch step {
            case .lookUp:
                let what = "look up \(AccountLookUps.Key(request)) \(limit)"
                return Preparation(request, .failure(Spawner.failure(ETIMEDOUT, what)))
            case .files(let account):
                let what = "read \(RunFiles(request)?.description ?? "") \(limit)"
                return Preparation(
                    request, .success(account), files: .failure(Spawner.failure(ETIMEDOUT, what)))
            }
        }
    }

    private var entries: [Run.ID: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    func contains(_ run: Run.ID) -> Bool { entries[run] != nil }

    /// Waits for the user of a run, or, if that is known, for its files.
    mutating func add(
        _ request: RunRequest, _ number: RunnerMailbox.RequestNumber, _ account: Account? = nil,
        at now: Int64
    ) {
        entries[request.id] = Entry(
            request: request, number: number, step: account.map { .files($0) } ?? .lookUp,
            until: now + Spawner.timeout.wholeNanoseconds)
    }

    /// The user of a run was looked up.
    /// - Returns: the run, if it can start or fail now; nil if its files are read next, or if nothing
    ///   waits for this answer.
    mutating func didLookUp(
        _ run: Run.ID, _ number: RunnerMailbox.RequestNumber,
        _ account: Result<Account, Spawner.Failure>, at now: Int64
    ) -> Preparation? {
        guard let entry = entries[run], entry.number == number, case .lookUp = entry.step else {
            return nil
        }
        if case .success(let found) = account, RunFiles(entry.request) != nil {
            add(entry.request, number, found, at: now)
            return nil
        }
        entries[run] = nil
        return Preparation(entry.request, account)
    }

    /// The files of a run were read.
    /// - Returns: the run, which can start or fail now; nil if nothing waits for these files.
    mutating func didReadFiles(
        of run: Run.ID, _ number: RunnerMailbox.RequestNumber, _ files: Preparation.Files
    ) -> Preparation? {
        guard let entry = entries[run], entry.number == number, case .files(let user) = entry.step
        else { return nil }
        entries[run] = nil
        return Preparation(entry.request, .success(user), files: files)
    }

    /// Removes the runs for which one of the two takes too long, and returns them with the failure.
    /// - Complexity: O(*n*) in the number of runs.
    mutating func expire(at now: Int64) -> [Preparation] {
        guard !entries.isEmpty else { return [] }
        let late = entries.values.filter { now >= $0.until }
        for entry in late { entries[entry.request.id] = nil }
        return late.map(\.expired)
    }

    /// Removes a run that was cancelled; nil if it is not among them.
    mutating func remove(_ run: Run.ID) -> RunRequest? { entries.removeValue(forKey: run)?.request }

    mutating func removeAll() { entries = [:] }
}
