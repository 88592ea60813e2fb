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
        readings.reload()
        definitions.keepFormer()
    }

    mutating func forgetFormer() {
        if readings.forgetFormer() { reader.free(definitions.forgetFormer()) }
    }

    /// Starts to read the configuration, if that is due and not already in progress.
    mutating func startReading() {
        recheck()
        if let isCheck = readings.begin() { reader.start(beside: definitions, isCheck: isCheck) }
    }

    /// Reads the files once more for runs that wait because those may have been incomplete.
    private mutating func recheck() {
        guard waiting.recheckAt != nil, !readings.isReading else { return }
        let mustCheck = waiting.mustRecheck(
            at: RunnerClock.awake(), step: settings.limits.settleStep,
            hasChanged: settings.hasChanged)
        if mustCheck { readings.check() }
    }

    /// Applies what was read. If the configuration could not be read, the definitions do not
    /// change, and runs whose definitions are unknown fail with that error.
    ///
    /// - Parameter settleTimeMax: how long a run may wait for files that may be incomplete.
    mutating func finish(_ reading: DefinitionReader.Reading, settleTimeMax: Duration? = nil) {
        switch reading {
        case .success(let read):
            guard definitions.apply(read) else {
                return reader.start(
                    beside: definitions, isCheck: readings.isChecking, with: read)
            }
            reader.free(read)
            let rules = settings.didApply()
            runner.limit(to: rules.activeMax)
            let warning = self.rules.apply(
                rules, placesMax: runner.placesMax, openFiles: RunPlaces.openFiles)
            if let warning { settings.log(warning) }
            runner.allow(rules.allowedUsers)
        case .failure(let error): rules.fail(error.description)
        }
        if readings.apply() { reader.free(definitions.forgetFormer()) }
        sendWaiting()
        do throws(Closing) {
            try startWaiting(settleTimeMax: settleTimeMax ?? settings.limits.settleTimeMax)
        } catch {
            close(error)
        }
        answerIfPrepared()
        readings.didApply()
    }

    // MARK: - Runs that wait

    /// Starts the runs that waited for their definitions, or refuses them with the reason.
    private mutating func startWaiting(settleTimeMax: Duration) throws(Closing) {
        guard !waiting.isEmpty else { return }
        var requests: [RunRequest] = []
        var commands: [WireRequest] = []
        for one in waiting.drain() {
            if let definition = definitions.definition(for: one.request) {
                if let request = one.checkRequest {
                    begin(request, definition)
                } else {
                    requests.append(RunRequest(one.request, definition))
                }
                commands += one.commands
            } else if one.reading <= readings.latest {
                guard !keepIfIncomplete(one, settleTimeMax) else { continue }
                refuse(one)
                commands += one.commands
            } else {
                waiting.keep(one)
                readings.readOnceMore()
            }
        }
        try start(requests[...])
        for one in commands { try command(one) }
    }

    /// Whether the files may have been read while they were being written, so that a job that is
    /// missing in them is no deleted one. Then the run is kept until they are read once more. It
    /// starts only if they have its job by then.
    private mutating func keepIfIncomplete(
        _ one: WaitingRequests.Waiting, _ longest: Duration
    ) -> Bool {
        let limits = settings.limits
        return waiting.keep(
            one, until: readings.latest + 1, rest: limits.settleTime - settings.unchangedFor(),
            longest: longest, step: limits.settleStep, at: RunnerClock.awake())
    }

    private func refuse(_ one: WaitingRequests.Waiting) {
        let request = one.request
        let failure = rules.refusal(isKnown: definitions.contains(request.run.firing.job))
        if let check = one.checkRequest {
            return answer(check, Condition.Answer(failure.outcome))
        }
        _ = outbound.enqueue(
            .ended(request.run, RunEnd(failure.outcome, at: RunnerClock.wall())))
    }

    /// Waits until no run waits for its definition. The next scheduler does not wait for a user who
    /// goes on writing.
    mutating func finishReadings() {
        while !waiting.isEmpty {
            if let at = waiting.recheckAt, !readings.isReading, !readings.isNeeded {
                usleep(UInt32(clamping: max(0, at - RunnerClock.awake()) / 1000 + 1))
            }
            startReading()
            guard readings.isReading else { continue }
            finish(reader.wait(), settleTimeMax: settings.limits.settleTime)
        }
    }

    // MARK: - What a scheduler that starts wants to know

    /// Reads the configuration for a new connection, unless the definitions in use are up to date.
    /// - Returns: the number of the reading after which runs start at once.
    mutating func prepare() -> UInt64 {
        if definitions.isEmpty {
            readings.read()
        } else if settings.hasChanged() {
            readings.check()
        }
        return readings.covering
    }

    /// Answers whether the runs of the scheduler can start at once, when the reading for its
    /// connection is over.
    func answerIfPrepared() {
        if connection?.mustAnswer(after: readings.over) == true {
            outbound.barrierReached(Wire.preparedToken)
        }
    }
}
