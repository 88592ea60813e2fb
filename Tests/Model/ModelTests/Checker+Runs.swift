// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Checker {
    /// Handles a firing: it is skipped by request or because of an active run, or it is recorded.
    func begin(
        _ job: Int, _ label: Int64, missed: Int, isCatchUp: Bool, isMissed: Bool = false
    ) {
        if states[job].skips > 0 {
            states[job].skips -= 1
            return skip(job, label, missed + 1, Seen.Reason.byOrder)
        }
        let reason = place(
            job, label, missed: missed, isCatchUp: isCatchUp, isMissed: isMissed)
        if let reason {
            return skip(job, label, missed + 1, reason)
        }
        tokens.append(
            Seen(kind: .fired, job: job, label: label, attempt: 1, value: Int64(missed)))
    }

    /// Records a firing and starts it, or lets it wait. Returns the reason if it is skipped.
    func place(
        _ job: Int, _ label: Int64, missed: Int, isCatchUp: Bool, isMissed: Bool = false,
        isRequested: Bool = false, isForced: Bool = false
    ) -> Int? {
        let spec = states[job].spec
        // A missed run that waits for its delay keeps it; others come after it, or are one with it.
        let waitsForMissed =
            spec.concurrency != .allow && states[job].runs.contains(where: \.isDelayedCatchUp)
        if waitsForMissed, isMissed, !isCatchUp { return Seen.Reason.queueFull }
        let mustBeFree = spec.skipsBusy && startsNow(job, isCatchUp: isCatchUp)
        if !states[job].runs.isEmpty, !isCatchUp {
            let others = states[job].runs.filter { !$0.isDelayed }
            switch spec.concurrency {
            case .forbid: if !others.isEmpty { return Seen.Reason.stillRunning }
            case .queue:
                if states[job].runs.contains(where: { $0.wait == .turn }) {
                    return Seen.Reason.queueFull
                }
            case .replace: break
            case .allow:
                if others.count >= spec.concurrencyMax ?? .max { return Seen.Reason.concurrencyMax }
            }
        }
        if mustBeFree, isSlotBusy(spec) { return Seen.Reason.slotBusy }
        let place = spec.concurrency == .replace && !isCatchUp ? replace(job) : nil
        // A new firing replaces a waiting retry, if runs may not be active at the same time.
        if spec.concurrency == .forbid, !(waitsForMissed && isCatchUp),
            states[job].runs.allSatisfy(\.isDelayed)
        {
            cancelPending(job, .replaced)
        }
        let isFirst = states[job].runs.isEmpty
        let number = add(
            job, label, missed: missed, isMissed: isMissed, isRequested: isRequested,
            isForced: isForced)
        if let place { slots.insert(number, states[job].spec.slots, at: place) }
        if spec.concurrency == .allow ? !isFull(job) : isFirst {
            if isMissed, spec.catchUpDelay > 0, spec.kind != .onBoot,
                let index = index(of: number, job)
            {
                states[job].runs[index].wait = .catchUp(awake + catchUpDelay(job, label))
                slots.leave(number)
            } else {
                admit(number, job)
            }
        } else {
            slots.leave(number)
        }
        return nil
    }

    /// Records a first attempt that waits for the previous run.
    func add(
        _ job: Int, _ label: Int64, missed: Int, isMissed: Bool = false, isRequested: Bool = false,
        isForced: Bool = false
    ) -> Int {
        rows.append(Seen(kind: .row, job: job, label: label, attempt: 1, value: Int64(missed)))
        numbers += 1
        states[job].runs.append(
            Attempt(
                number: numbers, job: job, name: job, label: label, attempt: 1,
                missed: Int64(missed),
                told: states[job].spec, wait: .turn, isRequested: isRequested,
                isMissed: isMissed, isForced: isForced, recorded: wall, boot: bootNumber))
        return numbers
    }

    /// Whether the maximum number of runs of the job have started or wait for capacity.
    private func isFull(_ job: Int) -> Bool {
        let spec = states[job].spec
        guard spec.concurrency == .allow, let most = spec.concurrencyMax else { return false }
        return states[job].runs.count(where: \.isStarted) >= most
    }

    /// Whether no other run of the job delays a firing that is not skipped because of one.
    private func startsNow(_ job: Int, isCatchUp: Bool = false) -> Bool {
        switch states[job].spec.concurrency {
        case .replace where isCatchUp: states[job].runs.isEmpty
        case .forbid where isCatchUp:
            states[job].runs.allSatisfy { $0.isDelayed && !$0.isDelayedCatchUp }
        case .forbid, .replace: states[job].runs.allSatisfy(\.isDelayed)
        case .queue: states[job].runs.isEmpty
        case .allow: !isFull(job)
        }
    }

    func isSlotBusy(_ spec: PlainJob) -> Bool {
        spec.skipsBusy && !slots.areFree(spec.slots, for: nil)
    }

    /// Closes the waiting runs, and asks the active ones to end.
    /// - Returns: the place in the queues of the slots that the new run takes over.
    private func replace(_ job: Int) -> SlotChecker.Place? {
        let place = slots.place(of: states[job].runs, ifThisTakes: states[job].spec.slots)
        cancelPending(job, .replaced)
        for index in states[job].runs.indices where states[job].runs[index].endsAs == nil {
            states[job].runs[index].endsAs = .replaced
            acts.append(act(.end, states[job].runs[index]))
        }
        return place
    }

    func cancelPending(
        _ job: Int, _ outcome: PlainOutcome, where isChosen: (Attempt) -> Bool = { _ in true }
    ) {
        for run in states[job].runs where run.wait != .none && isChosen(run) {
            waiting.removeAll { $0 == run.number }
            if case .check(let number) = run.wait {
                giveUpPlace(of: run)
                takeBackCheck(number)
            }
            slots.leave(run.number)
            acts.append(act(.close, run, outcome))
        }
        states[job].runs.removeAll { $0.wait != .none && isChosen($0) }
    }

    func act(_ kind: Seen.Kind, _ run: Attempt, _ outcome: PlainOutcome? = nil) -> Seen {
        Seen(
            kind: kind, job: run.name, label: run.label, attempt: run.attempt,
            value: outcome?.rawValue ?? 0)
    }

    func index(of number: Int, _ job: Int) -> Int? {
        states[job].runs.firstIndex { $0.number == number }
    }

    /// Starts the run if there is capacity, or queues it: first come, first served.
    func admit(_ number: Int, _ job: Int) {
        guard let index = index(of: number, job) else { return }
        let uses = states[job].runs[index].slots
        guard slots.areFree(uses, for: number) else {
            slots.wait(number, uses)
            states[job].runs[index].wait = .slot
            return
        }
        guard places < runsMax, waiting.isEmpty, !isShutDown else {
            slots.wait(number, uses)
            waitForPlace(index, job)
            return
        }
        startOrCheck(index, job)
    }

    /// A run with a condition that was checked before is not behind those that came later.
    private func waitForPlace(_ index: Int, _ job: Int) {
        states[job].runs[index].wait = .place
        if states[job].runs[index].order == 0 || states[job].runs[index].since == nil {
            lastOrder += 1
            states[job].runs[index].order = lastOrder
        }
        let order = states[job].runs[index].order
        let place = waiting.firstIndex { number in
            states.contains { $0.runs.contains { $0.number == number && $0.order > order } }
        }
        waiting.insert(states[job].runs[index].number, at: place ?? waiting.count)
    }

    /// A run that has its place and its slots starts, or its condition is checked first.
    private func startOrCheck(_ index: Int, _ job: Int) {
        guard states[job].runs[index].mustBeChecked else { return start(index, job) }
        checkCount += 1
        places += 1
        slots.take(states[job].runs[index], isChecked: true)
        states[job].runs[index].isOutdated = false
        states[job].runs[index].wait = .check(checkCount)
        states[job].runs[index].since = states[job].runs[index].since ?? awake
        if states[job].runs[index].order == 0 {
            lastOrder += 1
            states[job].runs[index].order = lastOrder
        }
        var check = act(.check, states[job].runs[index])
        check.value = checkCount
        checks.append(check)
    }

    private func giveUpPlace(of run: Attempt) {
        places -= 1
        slots.giveBack(run)
    }

    private func start(_ index: Int, _ job: Int) {
        places += 1
        states[job].runs[index].wait = .none
        states[job].runs[index].isBegun = true
        states[job].runs[index].boot = bootNumber
        slots.take(states[job].runs[index])
        starts.append(act(.start, states[job].runs[index]))
    }

    /// Gives free capacity to the run that has waited longest. A run of a paused job waits for the
    /// end of the pause instead, unless a user requested it.
    func fillPlaces() {
        while !isShutDown, places < runsMax, !waiting.isEmpty {
            let number = waiting.removeFirst()
            guard let job = jobSet.first(where: { index(of: number, $0) != nil }),
                let index = index(of: number, job)
            else { continue }
            // Its slot was free when it began to wait for capacity. Another run can have taken the
            // slot since then: one that replaced a run whose condition was being checked.
            guard slots.areFree(states[job].runs[index].slots, for: number) else {
                states[job].runs[index].wait = .slot
                continue
            }
            startWaiting(index, job)
        }
    }

    private func startWaiting(_ index: Int, _ job: Int) {
        let run = states[job].runs[index]
        if states[job].phase == .paused, !run.isRequested || run.attempt > 1 {
            states[job].runs[index].wait = .turn
            slots.leave(run.number)
        } else if !expire(index, job) {
            startOrCheck(index, job)
        }
    }

    /// Starts the runs that wait for slots and can have them, in the order in which they began to wait.
    func fillSlots() {
        while !isShutDown, let number = slots.next(isWaiting: { self.waitsForSlot($0) != nil }),
            let (index, job) = waitsForSlot(number)
        {
            if places < runsMax, waiting.isEmpty {
                startWaiting(index, job)
            } else {
                waitForPlace(index, job)
            }
        }
    }

    private func waitsForSlot(_ number: Int) -> (index: Int, job: Int)? {
        for job in jobSet {
            guard let index = index(of: number, job) else { continue }
            return states[job].runs[index].wait == .slot ? (index, job) : nil
        }
        return nil
    }

    /// Closes a first attempt that waited past its starting deadline.
    private func expire(_ index: Int, _ job: Int) -> Bool {
        let run = states[job].runs[index]
        guard run.attempt == 1, let told = run.told, let deadline = told.deadline,
            wall - run.label > deadline + told.accuracy + told.randomDelay
                + (run.isMissed ? told.catchUpDelay : 0)
        else { return false }
        states[job].runs.remove(at: index)
        if run.isChecked { giveUpPlace(of: run) }
        slots.leave(run.number)
        acts.append(act(.close, run, .lostDeadline))
        skip(job, run.label, Int(run.missed) + 1, Seen.Reason.deadline)
        return true
    }

    /// Starts the waiting runs of the job that may start: retries whose time has come, and the
    /// oldest run that waits for the previous run, if no other is active.
    func release(_ job: Int) {
        guard !isShutDown, states[job].isPresent else { return }
        for run in states[job].runs {
            guard case .condition(let at) = run.wait, at <= awake, mayBeChecked(run, job),
                let index = index(of: run.number, job)
            else { continue }
            if !expire(index, job) { admit(run.number, job) }
        }
        guard states[job].phase != .paused else { return }
        for index in states[job].runs.indices {
            guard case .catchUp(let at) = states[job].runs[index].wait, at <= awake else {
                continue
            }
            states[job].runs[index].wait = .turn
        }
        for run in states[job].runs {
            guard case .retry(let at) = run.wait, at <= awake else { continue }
            if isFull(job), let index = index(of: run.number, job) {
                states[job].runs[index].wait = .turn
            } else {
                admit(run.number, job)
            }
        }
        while let index = states[job].runs.firstIndex(where: { $0.wait == .turn }),
            states[job].spec.concurrency == .allow
                ? !isFull(job) : states[job].runs.allSatisfy({ $0.wait == .turn })
        {
            if !expire(index, job) { admit(states[job].runs[index].number, job) }
        }
    }

    func end(_ name: Int, _ label: Int64, _ attempt: Int, _ told: PlainOutcome) {
        func isIt(_ run: Attempt) -> Bool {
            run.isBegun && run.name == name && run.label == label && run.attempt == attempt
        }
        if let index = orphans.firstIndex(where: isIt) {
            let run = orphans.remove(at: index)
            places -= 1
            slots.giveBack(run)
            let outcome = run.endsAs ?? told.recorded(for: run.told)
            acts.append(act(.close, run, outcome))
            fillPlaces()
            return
        }
        guard let job = states.indices.first(where: { states[$0].runs.contains(where: isIt) }),
            let index = states[job].runs.firstIndex(where: isIt)
        else { return }
        let run = states[job].runs.remove(at: index)
        places -= 1
        slots.giveBack(run)
        noteEnd(of: run, run.endsAs ?? told.recorded(for: run.told), job)
    }

    /// Closes a run that is removed from the runs of its job, and records a retry.
    private func noteEnd(of run: Attempt, _ outcome: PlainOutcome, _ job: Int) {
        let label = run.label
        acts.append(act(.close, run, outcome))
        if let spec = run.told, outcome.isRetried(spec), run.attempt <= spec.retries,
            states[job].phase != .stopped
        {
            numbers += 1
            var next = run
            next.number = numbers
            next.name = job
            next.attempt += 1
            next.wait = .retry(awake + spec.retryDelay(after: run.attempt))
            next.recorded = wall
            next.boot = bootNumber
            next.isBegun = false
            next.since = nil
            next.answers = 0
            next.order = 0
            next.endsAs = nil
            states[job].runs.append(next)
            rows.append(
                Seen(
                    kind: .row, job: job, label: label, attempt: next.attempt, value: run.missed))
        }
        fillPlaces()
        release(job)
    }

    // MARK: - Conditions

    /// Whether a run that waits for its condition is asked again in time: not in a pause, unless a user
    /// requested it.
    func mayBeChecked(_ run: Attempt, _ job: Int) -> Bool {
        states[job].phase != .paused || run.isRequested && run.attempt == 1
    }

    /// Nothing follows from the answers to the checks of this job that are still to come.
    func takeBackChecks(_ job: Int) {
        for index in states[job].runs.indices where states[job].runs[index].isChecked {
            giveUpPlace(of: states[job].runs[index])
            states[job].runs[index].wait = .condition(awake)
        }
    }

    /// Nothing is asked of a run that is cancelled in the event in which it was to be checked.
    private func takeBackCheck(_ number: Int64) {
        guard let index = checks.firstIndex(where: { $0.value == number }) else { return }
        checks.remove(at: index)
        checkCount -= 1
        for later in index..<checks.count { checks[later].value -= 1 }
        for job in states.indices {
            for run in states[job].runs.indices {
                if case .check(let other) = states[job].runs[run].wait, other > number {
                    states[job].runs[run].wait = .check(other - 1)
                }
            }
        }
    }

    /// What waits for its condition is checked at once, and what is being checked after a no.
    func noteMounts() {
        for job in jobSet {
            for index in states[job].runs.indices where states[job].runs[index].awaitsCondition {
                if states[job].runs[index].isChecked {
                    states[job].runs[index].isOutdated = true
                } else {
                    states[job].runs[index].wait = .condition(awake)
                }
            }
        }
    }

    /// Handles an answer; it may be one that nothing waits for any more.
    func take(_ answer: PlainAnswer, _ number: Int64) {
        guard
            let job = jobSet.first(where: { job in
                states[job].runs.contains { $0.wait == .check(number) }
            }), let index = states[job].runs.firstIndex(where: { $0.wait == .check(number) })
        else { return }
        let run = states[job].runs[index]
        switch answer {
        case .yes:
            if !mayBeChecked(run, job) {
                giveUpPlace(of: run)
                slots.leave(run.number)
                states[job].runs[index].wait = .turn
            } else if !expire(index, job) {
                giveUpPlace(of: run)
                start(index, job)
            }
        case .no:
            giveUpPlace(of: run)
            let waitMax = run.told?.condition?.waitMax ?? 0
            if let since = run.since, waitMax > 0, awake < since + waitMax {
                let pause = min(60, Int64(1) << min(run.answers, 6)) * Unit.second
                let delay = run.isOutdated ? 0 : pause
                states[job].runs[index].isOutdated = false
                states[job].runs[index].answers += 1
                states[job].runs[index].wait = .condition(min(awake + delay, since + waitMax))
                return fillPlaces()
            }
            slots.leave(run.number)
            states[job].runs.remove(at: index)
            return noteEnd(of: run, .skipped, job)
        case .failed:
            giveUpPlace(of: run)
            slots.leave(run.number)
            states[job].runs.remove(at: index)
            return noteEnd(of: run, .spawnFailed, job)
        }
        fillPlaces()
        release(job)
    }

    // MARK: - A timer of the daemon expires

    /// Fires everything that is due. The order of jobs that are due at one reading of the clocks is
    /// not defined, so it is taken from the observations.
    ///
    /// - Parameter isAhead: whether the instant is a moment ahead. Then a pause and a job with a
    ///   run or with slots may wait for the instant itself; nothing else may.
    func wake(_ seen: ArraySlice<Seen>, isAhead: Bool = false) {
        var isDueJob = 0
        for job in jobSet where isDue(job) || isPauseOver(job) { isDueJob |= 1 << job }
        var told = 0
        for one in seen where isToken(one) {
            // This skips the observations of the previous step of the job.
            if told < tokens.count {
                told += 1
                continue
            }
            let job = one.job
            // A run that was checked again now, or waited behind one, is too late: that comes after all
            // firings.
            if one.reason == Seen.Reason.deadline,
                states[job].runs.contains(where: { $0.wait != .none && $0.label == one.label })
            {
                continue
            }
            if isPauseOver(job) {
                unpause(job, byItself: true, seen)
            } else if states[job].isPresent, isDue(job) {
                fire(job)
            } else {
                continue
            }
            isDueJob &= ~(1 << job)
            told += 1
        }
        if isDueJob != 0 {
            for job in jobSet where isDueJob & (1 << job) != 0 {
                if isAhead,
                    states[job].phase == .paused || !states[job].runs.isEmpty
                        || !states[job].spec.slots.isEmpty || states[job].spec.condition != nil
                {
                    continue
                }
                fail(.missed, "job \(job) is due and was passed over")
            }
        }
        releaseRetries(seen)
    }

    private func isToken(_ one: Seen) -> Bool {
        one.kind == .fired || one.kind == .skipped || one.kind == .resumed
    }

    private func isPauseOver(_ job: Int) -> Bool {
        guard states[job].phase == .paused, let until = states[job].pausedUntil else {
            return false
        }
        return until <= wall
    }

    /// Starts the retries whose time has come, in the order of their times. For equal times the
    /// order is not defined, so it is taken from the observations.
    private func releaseRetries(_ seen: ArraySlice<Seen>) {
        func place(_ job: Int) -> Int {
            seen.firstIndex {
                $0.kind == .check && $0.job == job
                    || $0.kind == .start && $0.job == job
                        && ($0.attempt > 1 || states[job].runs.contains(where: \.isDelayedCatchUp))
            } ?? .max
        }
        var due: [(at: Int64, job: Int)] = []
        for job in jobSet {
            for run in states[job].runs {
                switch run.wait {
                case .retry(let at) where at <= awake && states[job].phase != .paused,
                    .catchUp(let at) where at <= awake && states[job].phase != .paused:
                    due.append((at, job))
                case .condition(let at) where at <= awake && mayBeChecked(run, job):
                    due.append((at, job))
                default: break
                }
            }
        }
        if due.count > 1 {
            due.sort { ($0.at, place($0.job), $0.job) < ($1.at, place($1.job), $1.job) }
        }
        for one in due { release(one.job) }
    }
}
