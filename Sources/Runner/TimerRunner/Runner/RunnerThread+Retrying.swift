// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Tries to start a run again if something was used up: descriptors, memory, the processes of a user or of the service,
/// the space for credentials. Usually it is free again in a moment, when another run ends. Nothing of the job was
/// executed, so the run still starts at most once.
extension RunnerThread {
    /// For how long a run is tried again, and how soon: at first after the shorter time, and then each time after twice
    /// the time, in nanoseconds.
    static let retryMax: Int64 = 5_000_000_000
    private static let retryDelays: ClosedRange<Int64> = 50_000_000...1_000_000_000

    /// A run that could not start for a reason that may pass.
    struct Retry {
        var request: RunRequest
        /// When it could not start for the first time.
        var since: Int64
        /// How long it waits this time, in nanoseconds; the next time longer.
        var delay: Int64
        /// When it is tried again; nil while it is being tried.
        var at: Int64?
    }

    /// Lets a run wait that could not start, if that may help. Nothing is left of it if the runner shuts down, as of
    /// one that waits: another runner may start it.
    mutating func isTriedAgain(_ request: RunRequest, after failure: Spawner.Failure) -> Bool {
        guard failure.isTransient else { return false }
        guard !isShutDown else {
            retries[request.id] = nil
            registry.remove(request.id)
            return true
        }
        let now = RunnerClock.awake()
        var retry =
            retries[request.id]
            ?? Retry(request: request, since: now, delay: Self.retryDelays.lowerBound / 2)
        // Each run that ends has descriptors of this process.
        let isFreedByEnd = failure.code == EMFILE && !serials.isEmpty
        guard isFreedByEnd || now - retry.since < Self.retryMax else { return false }
        retry.delay = min(2 * retry.delay, Self.retryDelays.upperBound)
        let at = max(now, request.notBefore.nanoseconds) + retry.delay
        retry.at = at
        retries[request.id] = retry
        registry.remove(request.id)
        retryAt = min(retryAt ?? at, at)
        mailbox.keepStart(of: Preparation.cost(of: request))
        return true
    }

    /// The same for a run whose process could not execute the program, and has ended.
    mutating func isTriedAgain(_ serial: UInt64) -> Bool {
        guard let child = children[serial], isShutDown || child.isRunning, child.reaped != nil,
            let failure = child.failure, isTriedAgain(failure.request, after: failure.reason)
        else { return false }
        serials[child.id] = nil
        activeMessages.remove(child.id)
        if let group = child.controlGroup { removeGroup(group, of: child, serial, wasEnded: true) }
        credentials?.remove(child.id)
        drop(serial)
        return true
    }

    /// The outcome of a run that could not start and is not tried again.
    func outcomeAfterRetries(of run: Run.ID, _ failure: Spawner.Failure) -> RunOutcome {
        guard failure.isTransient, retries[run] != nil,
            case .spawnFailed(let code, let what) = failure.outcome
        else { return failure.outcome }
        return .spawnFailed(
            errno: code, what: "\(what), for \(Self.retryMax / 1_000_000_000) seconds")
    }

    /// Starts the runs whose time to be tried again has come.
    mutating func startRetries(at now: Int64) {
        guard let at = retryAt, now >= at else { return }
        retryAt = nil
        let due = retries.filter { $0.value.at.map { $0 <= now } == true }
        // In the order in which they were requested.
        for (run, retry) in due.sorted(by: { $0.value.since < $1.value.since }) {
            retries[run]?.at = nil
            mailbox.finishStart(of: Preparation.cost(of: retry.request))
            guard let command = prepareAgain(retry.request) else { continue }
            mailbox.beginStart(command)
            execute(command)
        }
        retryAt = retries.values.compactMap(\.at).min()
    }

    /// Cancels a run that waits to be tried again. False if it does not.
    mutating func cancelRetry(_ run: Run.ID) -> Bool {
        guard let retry = retries[run], retry.at != nil else { return false }
        mailbox.finishStart(of: Preparation.cost(of: retry.request))
        retries[run] = nil
        return true
    }
}
