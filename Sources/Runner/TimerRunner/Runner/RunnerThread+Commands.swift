// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import TimerCore
import TimerRunnerProtocol

extension RunnerThread {
    mutating func execute(_ command: RunnerMailbox.Command) {
        switch command {
        case .start(let preparations):
            guard !isShutDown else { return }
            if preparations.first?.request.message != nil {
                messages += preparations
            } else {
                waiting += preparations
            }
        case .lookUp(let request, let number): awaitPreparation(of: request, number)
        case .lookedUp(let run, let number, let account): didLookUp(run, number, account)
        case .read(let request, let account, let number):
            awaitPreparation(of: request, number, account)
        case .wasRead(let run, let number, let files): didReadFiles(of: run, number, files)
        case .signal(let run, let number):
            guard child(of: run, or: command) != nil, let serial = serials[run] else { return }
            kill(serial, number)
        case .end(let run, let grace): end(run, grace: grace)
        case .suspend(let run):
            guard child(of: run, or: command) != nil else { return }
            suspend(run)
        case .resume(let run):
            guard child(of: run, or: command) != nil else { return }
            resume(run)
        case .barrier(let done): barriers.append(done)
        case .resumeReading(let runs): for run in runs { resumeReading(run) }
        case .limit(let count):
            activeMax = count
            // This follows a reload, which allocates much memory. The scan of that memory is done
            // now, so that the next run does not wait for it.
            cspawn_prepare()
            registry.prepare()
        case .shutDown(let grace): shutDown(grace)
        }
    }

    /// The child of a run. If the program of the run does not run yet, the command is kept until it
    /// does.
    private mutating func child(of run: Run.ID, or command: RunnerMailbox.Command) -> Child? {
        let child = serials[run].flatMap { children[$0] }
        if let child, child.launch == nil { return child }
        if child != nil || reading[run] != nil || retries[run] != nil
            || waiting.contains(where: { $0.request.id == run })
            || messages.contains(where: { $0.request.id == run })
        {
            pendingCommands[run, default: []].append(command)
            mailbox.keepCommands(1)
        }
        return nil
    }

    /// Executes the commands that arrived for a run before its program ran.
    mutating func executePendingCommands(_ run: Run.ID) {
        for command in removePendingCommands(run) { execute(command) }
    }

    /// Removes the commands that arrived for a run before its program ran.
    @discardableResult
    mutating func removePendingCommands(_ run: Run.ID) -> [RunnerMailbox.Command] {
        guard !pendingCommands.isEmpty, let commands = pendingCommands.removeValue(forKey: run)
        else { return [] }
        mailbox.keepCommands(-commands.count)
        return commands
    }
}
