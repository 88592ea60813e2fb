// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// When the configuration is read, and what waits for it.
extension ServerLoop {
    /// Has the configuration read again. Until the scheduler has finished its reload, runs are also started by the
    /// former definitions.
    mutating func refresh() {
        isStale = true
        lastOfFormer = nil
        definitions.keepFormer()
    }

    mutating func forgetFormer() {
        // Not before what takes their place is there.
        if isStale || isReading {
            lastOfFormer = readings + (isStale ? 1 : 0)
        } else {
            reader.free(definitions.forgetFormer())
        }
    }

    /// Starts the runs that waited for their definitions, or says why they cannot be started.
    mutating func startWaiting() throws(Closing) {
        guard !waiting.isEmpty else { return }
        let orders = waiting.takeAll()
        var requests: [RunRequest] = []
        var commands: [WireRequest] = []
        for one in orders {
            if let definition = definitions.definition(for: one.order) {
                requests.append(RunRequest(one.order, definition))
                commands += one.commands
            } else if one.reading <= readings {
                refuse(one.order)
                commands += one.commands
            } else {
                waiting.keep(one)
                if !mustCheck { isStale = true }
            }
        }
        try start(requests[...])
        for one in commands { try command(one) }
    }

    /// Begins to read the configuration, if that is due and not under way.
    mutating func beginReading() {
        guard isStale || mustCheck, !isReading else { return }
        isChecking = !isStale
        isStale = false
        mustCheck = false
        isReading = true
        readings += 1
        reader.begin(beside: definitions, isCheck: isChecking)
    }

    /// Uses what was read. If it could not be read, the definitions stay as they are, and the error is the reason that is
    /// given for runs whose definitions are not known.
    mutating func finish(_ reading: DefinitionReader.Reading) {
        switch reading {
        case .success(let read):
            guard definitions.go(by: read) else {
                return reader.begin(beside: definitions, isCheck: isChecking, with: read)
            }
            reader.free(read)
            let rules = settings.isTaken()
            runner.limit(to: rules.activeMax)
            runner.allow(rules.allowedUsers)
            unreadable = nil
        case .failure(let error): unreadable = error.description
        }
        isReading = false
        defer { isChecking = false }
        if let last = lastOfFormer, last <= readings {
            lastOfFormer = nil
            reader.free(definitions.forgetFormer())
        }
        do throws(Closing) {
            try startWaiting()
        } catch {
            settings.say("closed a connection that \(error.why)")
            connection = nil
        }
    }

    /// Waits until no run waits for its definition.
    mutating func finishReadings() {
        while !waiting.isEmpty {
            beginReading()
            finish(reader.wait())
        }
    }

    private func refuse(_ order: RunOrder) {
        let failure =
            if let unreadable {
                Spawner.failure(EINVAL, "read the configuration: \(unreadable)")
            } else if !definitions.contains(order.run.firing.job) {
                Spawner.failure(ENOENT, "find the job in the configuration as it is now")
            } else {
                Spawner.failure(
                    ESTALE, "find the job as it fired in the configuration, which was changed since"
                )
            }
        _ = outbound.take(
            .ended(order.run, RunEnd(failure.outcome, at: RunnerClock.wall())))
    }
}
