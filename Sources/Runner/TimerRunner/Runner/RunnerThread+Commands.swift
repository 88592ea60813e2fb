// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import TimerCore
import TimerRunnerProtocol

/// Executes commands. A command for a run whose program does not run yet is kept until it does.
extension RunnerThread {
    mutating func execute(_ command: RunnerMailbox.Command) {
        switch command {
        case .start(let preparations): starts.add(preparations)
        case .lookUp(let request, let number): awaitPreparation(of: request, number)
        case .lookedUp(let run, let number, let account): didLookUp(run, number, account)
        case .read(let request, let account, let number):
            awaitPreparation(of: request, number, account)
        case .wasRead(let run, let number, let files): didReadFiles(of: run, number, files)
        case .signal(let run, let number):
            guard let serial = child(of: run, or: command) else { return }
            kill(serial, number)
        case .end(let run, let grace): end(run, grace: grace)
        case .suspend(let run):
            guard let serial = child(of: run, or: command) else { return }
            suspend(serial)
        case .resume(let run):
            guard let serial = child(of: run, or: command) else { return }
            resume(serial)
        case .barrier(let barrier): ends.add(barrier)
        case .resumeReading(let runs): for run in runs { resumeReading(run) }
        case .limit(let count):
            starts.limit(to: count)
            // This follows a reload, which allocates much memory. The scan of that memory is done
            // now, so that the next run does not wait for it.
            cspawn_prepare()
            parts.registry.prepare()
        case .shutDown(let grace): shutDown(grace)
        }
    }

    /// The child of a run whose program runs. If it does not run yet, the command is kept until it
    /// does.
    private mutating func child(
        of run: Run.ID, or command: RunnerMailbox.Command
    ) -> UInt64? {
        if let serial = children.serial(of: run) {
            guard children[serial]?.setUp.launch != nil else { return serial }
        } else if !pending.contains(run), !retries.contains(run), !starts.contains(run) {
            return nil
        }
        commands.add(command, for: run)
        parts.mailbox.keepCommands(1)
        return nil
    }

    /// Executes the commands that arrived for a run before its program ran.
    mutating func executePendingCommands(_ run: Run.ID) {
        for command in takePendingCommands(run) { execute(command) }
    }

    /// Removes the commands that arrived for a run before its program ran.
    @discardableResult
    mutating func takePendingCommands(_ run: Run.ID) -> [RunnerMailbox.Command] {
        let kept = commands.take(for: run)
        if !kept.isEmpty { parts.mailbox.keepCommands(-kept.count) }
        return kept
    }

    /// Cancels a run that has not started, and reports it as stopped.
    mutating func cancel(_ run: Run.ID) {
        var end = RunnerClock.wall()
        if let cancelled = starts.remove(run) {
            end = Self.wall(notBefore: cancelled.request.notBefore)
            parts.mailbox.finishStart(cancelled)
        } else if let request = pending.remove(run) ?? retries.cancel(run) {
            parts.mailbox.finishStart(of: Preparation.cost(of: request))
        } else {
            return
        }
        retries.remove(run)
        takePendingCommands(run)
        events.report(.ended(run, RunEnd(.stopped, at: end)))
    }

    mutating func shutDown(_ grace: Duration) {
        starts.close()
        commands.removeAll()
        pending.removeAll()
        retries.removeAll()
        for serial in children.activeSerials {
            reap(of: serial)
            end(serial, .stopped, grace: grace)
        }
        shutDownLeftovers(grace: grace)
    }
}
