// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// Reads the configuration, and holds the runs that wait for it.
extension ServerLoop {
    /// Schedules a reload of the configuration. Until the scheduler has finished its own reload,
    /// runs are also started with the previous definitions.
    mutating func refresh() {
        isStale = true
        lastOfFormer = nil
        definitions.keepFormer()
    }

    mutating func forgetFormer() {
        // The previous definitions are kept until the new ones are read.
        if isStale || isReading {
            lastOfFormer = readings + (isStale ? 1 : 0)
        } else {
            reader.free(definitions.forgetFormer())
        }
    }

    /// Starts the runs that waited for their definitions, or refuses them with the reason.
    mutating func startWaiting() throws(Closing) {
        guard !waiting.isEmpty else { return }
        let orders = waiting.takeAll()
        recheckAt = nil
        var requests: [RunRequest] = []
        var commands: [WireRequest] = []
        for one in orders {
            if let definition = definitions.definition(for: one.order) {
                requests.append(RunRequest(one.order, definition))
                commands += one.commands
            } else if one.reading <= readings {
                guard !isIncomplete(for: one) else { continue }
                refuse(one.order)
                commands += one.commands
            } else {
                waiting.keep(one)
                // What was only checked is checked again: the scheduler has not requested a reload.
                if isChecking { mustCheck = true } else if !mustCheck { isStale = true }
            }
        }
        try start(requests[...])
        for one in commands { try command(one) }
    }

    /// Whether the files may have been read while they were being written, so that a job that is
    /// missing in them is no deleted one. Then the run is kept until they are read once more. It
    /// starts only if they have its job by then.
    private mutating func isIncomplete(for one: WaitingOrders.Waiting) -> Bool {
        let now = RunnerClock.awake()
        var one = one
        let since = one.missingSince ?? now
        one.missingSince = since
        // The next scheduler does not wait for a user who goes on writing.
        let limits = settings.limits
        let most = isFinishing ? limits.settleTime : limits.settleTimeMax
        let rest = limits.settleTime - settings.unchangedFor()
        guard rest > .zero, now - since < most.wholeNanoseconds else { return false }
        one.reading = readings + 1
        waiting.keep(one)
        recheckAt = now + min(rest, limits.settleStep).wholeNanoseconds
        settledAt = now + rest.wholeNanoseconds
        return true
    }

    /// Reads the files once more for runs that wait because those may have been incomplete: when they
    /// have changed again, or have not changed for long enough.
    private mutating func recheck() {
        let now = RunnerClock.awake()
        guard let at = recheckAt, now >= at, !isReading else { return }
        if now >= settledAt || settings.hasChanged() {
            recheckAt = nil
            mustCheck = true
        } else {
            recheckAt = min(settledAt, now + settings.limits.settleStep.wholeNanoseconds)
        }
    }

    /// Starts to read the configuration, if that is due and not already in progress.
    mutating func startReading() {
        recheck()
        guard isStale || mustCheck, !isReading else { return }
        isChecking = !isStale
        isStale = false
        mustCheck = false
        isReading = true
        readings += 1
        reader.start(beside: definitions, isCheck: isChecking)
    }

    /// Applies what was read. If the configuration could not be read, the definitions do not
    /// change, and runs whose definitions are unknown fail with that error.
    mutating func finish(_ reading: DefinitionReader.Reading) {
        switch reading {
        case .success(let read):
            guard definitions.apply(read) else {
                return reader.start(beside: definitions, isCheck: isChecking, with: read)
            }
            reader.free(read)
            let rules = settings.didApply()
            runner.limit(to: rules.activeMax)
            warnOfPlaces(rules.activeMax)
            runner.allow(rules.allowedUsers)
            notifiers = rules.notifiers
            unreadable = nil
        case .failure(let error): unreadable = error.description
        }
        isReading = false
        defer { isChecking = false }
        if let last = lastOfFormer, last <= readings {
            lastOfFormer = nil
            reader.free(definitions.forgetFormer())
        }
        sendWaiting()
        do throws(Closing) {
            try startWaiting()
        } catch {
            settings.log("closed a connection that \(error.why)")
            connection = nil
        }
        answerIfPrepared()
    }

    /// Warns if fewer runs can be active than the configuration allows. The others wait, and the reason would not be
    /// seen anywhere.
    private mutating func warnOfPlaces(_ activeMax: Int) {
        guard activeMax != Int.max, runner.placesMax < activeMax else {
            warnedActiveMax = nil
            return
        }
        guard warnedActiveMax != activeMax else { return }
        warnedActiveMax = activeMax
        settings.log(
            "the limit of open files, \(RunPlaces.openFiles), is enough for \(runner.placesMax) runs at a time, and "
                + "max-concurrent is \(activeMax): further runs wait; raise LimitNOFILE= of timerd-runner.service, "
                + "or ulimit -n where the runner is started, or lower max-concurrent")
    }

    /// Waits until no run waits for its definition.
    mutating func finishReadings() {
        isFinishing = true
        defer { isFinishing = false }
        while !waiting.isEmpty {
            if let at = recheckAt, !isReading, !isStale, !mustCheck {
                usleep(UInt32(clamping: max(0, at - RunnerClock.awake()) / 1000 + 1))
            }
            startReading()
            guard isReading else { continue }
            finish(reader.wait())
        }
    }

    private func refuse(_ order: RunOrder) {
        let failure =
            if let unreadable {
                Spawner.failure(EINVAL, "read the configuration: \(unreadable)")
            } else if !definitions.contains(order.run.firing.job) {
                Spawner.failure(ENOENT, "find the job in the current configuration")
            } else {
                Spawner.failure(
                    ESTALE,
                    "find the definition with which the job fired; the configuration has changed since"
                )
            }
        _ = outbound.take(
            .ended(order.run, RunEnd(failure.outcome, at: RunnerClock.wall())))
    }
}
