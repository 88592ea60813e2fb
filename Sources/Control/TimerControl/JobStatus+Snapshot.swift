// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension JobStatus {
    /// The API's form of the snapshot of a job.
    public init(_ snapshot: JobSnapshot) {
        let job = snapshot.job
        self.job = job.name.description
        description = job.description
        state = Self.state(of: snapshot)
        switch job.command {
        case .arguments(let arguments): command = arguments
        case .shell(let line): shell = line
        }
        switch job.schedule {
        case .every(let span):
            everyUsec = span.wholeMicroseconds
            if job.from == .end { from = job.from.rawValue }
        case .after(let span): afterUsec = span.wholeMicroseconds
        case .onBoot(let span): onBootUsec = span.wholeMicroseconds
        case .onDemand: onDemand = true
        case .wall: break
        }
        follows = snapshot.chain.map { chain in
            chain.follows.causes.map { FollowStatus($0, chain) }
        }
        if !snapshot.phase.isPaused { followsAt = snapshot.chain?.due?.rfc3339Micros }
        if !snapshot.followers.isEmpty { followers = snapshot.followers.map(\.description) }
        let next = snapshot.nextRun
        self.next = next?.rfc3339Micros
        if let wait = snapshot.nextAttempt {
            nextAttempt = (snapshot.at.wall + wait).rfc3339Micros
            nextAttemptUsec = wait.wholeMicroseconds
        }
        remainingUsec = snapshot.remaining?.wholeMicroseconds
        if snapshot.skips > 0 {
            remainingUsec = next.map { ($0 - snapshot.at.wall).wholeMicroseconds }
        }
        elapsedUsec = snapshot.accrued.wholeMicroseconds
        activeUsec = snapshot.active.wholeMicroseconds
        firings = snapshot.firings
        if case .paused(let pause) = snapshot.phase { paused = PauseStatus(pause) }
        notBefore = job.validity?.notBefore?.rfc3339Micros
        notAfter = job.validity?.notAfter?.rfc3339Micros
        let window = job.window.map { WindowStatus($0, at: snapshot.at.wall) }
        self.window = window
        running = snapshot.live.map { run in
            var status = RunStatus(
                run, of: job.name, waitingFor: snapshot.awaitedSlots[run.id], at: snapshot.at)
            if !run.isRequested, !snapshot.phase.isPaused { status.wait(for: window) }
            return status
        }
        last = snapshot.lastRun.map { RunStatus($0, of: job.name) }
        checkpoint = snapshot.checkpoint.rfc3339Micros
        if job.schedule.counts { count = job.count.rawValue }
        if snapshot.maxLoss > .zero { uncertainUsec = snapshot.maxLoss.wholeMicroseconds }
        if job.isOneOff { oneOff = true }
        if snapshot.skips > 0 { skips = snapshot.skips }
        skipped = snapshot.lastSkip.map { SkipStatus($0) }
        if !snapshot.incidents.isEmpty { incidents = snapshot.incidents.map { IncidentStatus($0) } }
        if let limit = job.limit { show(limit, snapshot.tally) }
        if job.fleet != nil { show(snapshot.fleet) }
        policy = PolicyStatus(job.policy)
        condition = job.execution.condition.map { ConditionStatus($0) }
        if !job.execution.runArguments.isEmpty { runArguments = job.execution.runArguments }
        if case .wall(let schedule) = job.schedule {
            show(schedule)
            showDates(of: schedule, snapshot)
        }
    }
}

extension JobStatus {
    private mutating func show(_ limit: RunLimit, _ tally: RunTally) {
        maxRuns = limit.runs
        maxSuccesses = limit.successes
        if maxRuns != nil { countedRuns = tally.runs }
        if maxSuccesses != nil { countedSuccesses = tally.successes }
    }

    /// Shows what the fleet knows of the job, with its runs on other machines.
    private mutating func show(_ view: FleetJobView?) {
        fleet = FleetJobStatus(view)
        guard let view else { return }
        let own = Set(running.map(\.id))
        running += view.live.filter { $0.outcome == nil && !own.contains($0.run.description) }
            .map { RunStatus($0) }
        guard let end = view.last, end.outcome != nil, last?.id != end.run.description else {
            return
        }
        // Instants sort as their texts do, because all have the same number of digits.
        if (end.ended?.rfc3339Micros ?? "") > (last?.ended ?? "") { last = RunStatus(end) }
    }

    /// The word for the state of the job.
    private static func state(of snapshot: JobSnapshot) -> String {
        switch snapshot.phase {
        case .armed, .finished:
            let isRetrying = snapshot.live.contains(where: \.isRetry)
            let isRunning = snapshot.live.contains(where: \.isStarted)
            return isRetrying && !isRunning ? "retrying" : snapshot.phase.word
        case .paused, .stopped: return snapshot.phase.word
        }
    }

    private mutating func showDates(of schedule: WallSchedule, _ snapshot: JobSnapshot) {
        guard let rules = schedule.rules?.wrappedValue else { return }
        func names(_ lists: [DateList]) -> [String]? {
            lists.isEmpty ? nil : lists.map(\.name.description)
        }
        except = names(rules.except)
        onlyOn = names(rules.onlyOn)
        everyNth = rules.everyNth?.number
        countedFrom = rules.everyNth.map { CivilDate(daysSinceEpoch: $0.start).text }
        excluded = schedule.excluded(after: snapshot.at.wall - snapshot.offset).map {
            ExcludedStatus(
                scheduled: ($0.at + snapshot.offset).rfc3339Micros, reason: $0.reason)
        }
    }

    private mutating func show(_ schedule: WallSchedule) {
        dstGap = schedule.gap?.rawValue
        dstOverlap = schedule.overlap?.rawValue
        for source in schedule.sources {
            switch source {
            case .calendar(let spec, let zone):
                calendar = (calendar ?? []) + [spec.description]
                if spec.zoneName == nil { timezone = zone.name }
            case .cron(let spec, let zone):
                cron = (cron ?? []) + [spec.description]
                timezone = zone.name
            case .at(let instant): at = instant.rfc3339Micros
            }
        }
    }
}

extension PauseStatus {
    /// Whether it is what a hold of the machine is for the job, which only the end of the hold ends.
    public var isOfHold: Bool { by == Initiator.hold.description }

    /// The hold of a machine, which has the terms of a pause.
    public init(_ hold: MachineHold) { self.init(hold.pause(by: hold.by)) }

    public init(_ pause: Pause) {
        self.init(
            since: pause.since.rfc3339Micros, by: pause.by.description, note: pause.note,
            until: pause.until?.rfc3339Micros, withRun: pause.withRun ? true : nil)
    }
}

extension Schedule {
    /// Whether the schedule counts time, and does not follow the wall clock.
    fileprivate var counts: Bool {
        switch self {
        case .every, .after, .onBoot: true
        case .wall, .onDemand: false
        }
    }
}

extension SkipStatus {
    init(_ skip: LastSkip) {
        scheduled = skip.scheduled.rfc3339Micros
        skippedCount = skip.count
        reason = skip.reason.word
        text = RunWords.skip(reason)
        at = skip.at.rfc3339Micros
    }
}

extension PolicyStatus {
    /// Nil if all values are the defaults.
    init?(_ policy: Policy) {
        let plain = Policy()
        guard policy != plain else { return nil }
        if policy.onMissed != plain.onMissed { onMissed = policy.onMissed.rawValue }
        startingDeadlineUsec = policy.startingDeadline?.wholeMicroseconds
        onResume = policy.onResume?.rawValue
        if policy.concurrency != plain.concurrency { concurrency = policy.concurrency.rawValue }
        if policy.concurrency == .allow { concurrencyMax = policy.concurrencyMax }
        if !policy.slots.isEmpty { slotUses = policy.slots.map { SlotUse($0) } }
        if policy.onBusySlot != plain.onBusySlot { onBusySlot = policy.onBusySlot.rawValue }
        if policy.accuracy > .zero { accuracyUsec = policy.accuracy.wholeMicroseconds }
        if policy.randomDelay > .zero { randomDelayUsec = policy.randomDelay.wholeMicroseconds }
        if policy.catchUpDelay > .zero {
            catchUpDelayUsec = policy.catchUpDelay.wholeMicroseconds
        }
        if policy.randomOffset > .zero { randomOffsetUsec = policy.randomOffset.wholeMicroseconds }
        if policy.retry.retries > 0 { retries = policy.retry.retries }
        if policy.historyRuns != plain.historyRuns { historyRuns = policy.historyRuns }
    }
}

extension IncidentStatus {
    public init(_ incident: IncidentRecord) {
        self.init(
            failedCount: incident.count > 0 ? incident.count : nil, kind: incident.id.kind.rawValue,
            notifier: incident.id.notifier.description, since: incident.since.rfc3339Micros)
    }
}
