// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// Tries to start a run again if something was used up: descriptors, memory, the processes of a user
/// or of the service, the space for credentials. Usually it is free again in a moment, when another
/// run ends. Nothing of the job was executed, so the run still starts at most once.
extension RunnerThread {
    /// Lets a run wait that could not start, if that may help. Nothing is left of it if the runner
    /// shuts down, as of one that waits: another runner may start it.
    mutating func isTriedAgain(_ request: RunRequest, after failure: Spawner.Failure) -> Bool {
        guard failure.isTransient else { return false }
        guard !isShutDown else {
            retries.remove(request.id)
            parts.registry.remove(request.id)
            return true
        }
        // Each run that ends has descriptors of this process.
        let isFreedByEnd = failure.code == EMFILE && children.hasActive
        guard retries.add(request, isEndless: isFreedByEnd, at: RunnerClock.awake()) else {
            return false
        }
        parts.registry.remove(request.id)
        parts.mailbox.keepStart(of: Preparation.cost(of: request))
        return true
    }

    /// The same for a run whose process could not execute the program, and has ended.
    mutating func isTriedAgain(_ serial: UInt64) -> Bool {
        guard let child = children[serial], isShutDown || child.termination.isRunning,
            child.process.reaped != nil, case .failed(let failure, let request) = child.setUp,
            isTriedAgain(request, after: failure)
        else { return false }
        children.endRun(of: serial)
        if let group = child.controlGroup { removeGroup(group, of: child, serial, wasEnded: true) }
        credentials?.remove(child.id)
        drop(serial)
        return true
    }

    /// The outcome of a run that could not start and is not tried again.
    func outcomeAfterRetries(of run: Run.ID, _ failure: Spawner.Failure) -> RunOutcome {
        guard failure.isTransient, retries.contains(run),
            case .spawnFailed(let code, let what) = failure.outcome
        else { return failure.outcome }
        return .spawnFailed(
            errno: code, what: "\(what), for \(Retries.max / 1_000_000_000) seconds")
    }

    /// Starts the runs whose time to be tried again has come.
    mutating func startRetries(at now: Int64) {
        for request in retries.takeDue(at: now) {
            parts.mailbox.finishStart(of: Preparation.cost(of: request))
            guard let command = parts.prepareAgain(request) else { continue }
            parts.mailbox.beginStart(command)
            execute(command)
        }
    }
}
