// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is remembered about telling people about one job. Only jobs with `notify` have it.
///
/// It decides nothing about the schedule. It is told what happened (`tell`), and asked after each
/// change of the job what is wrong by now (`check`). All results are notifications and changes of
/// incidents, which are written together.
struct JobWatch: Hashable, Sendable {
    /// The incidents of the job, in the order in which they began.
    private(set) var incidents: [IncidentRecord]
    /// From when on the time without a success counts, unless a run succeeded later.
    private var watchedSince: WallInstant
    /// Since when the time without a success does not count, because the job is not armed; nil
    /// while it is.
    private var inactiveSince: WallInstant?
    /// When active runs were due and when they started, by a clock that cannot be set.
    private var runTimes: [Run.ID: RunTimes] = [:]

    private struct RunTimes: Hashable {
        var due: BootInstant
        var began: BootInstant?
    }

    /// - Parameters:
    ///   - incidents: those that were stored.
    ///   - since: from when on the time without a success counts.
    ///   - inactiveSince: since when it does not; nil if it does.
    init(incidents: [IncidentRecord], watchedSince: WallInstant, inactiveSince: WallInstant?) {
        self.incidents = incidents
        self.watchedSince = watchedSince
        self.inactiveSince = inactiveSince
    }

    /// The job, as far as it matters to people, after an event.
    struct Facts {
        var job: Job
        var phase: Phase
        var lastSuccess: WallInstant?
        /// The runs that have not ended.
        var runs: [ActiveRun]
        /// The notifiers that the job names, as far as they are configured.
        var notifiers: [Notifier]
        var now: Now
    }

    /// Something that happened to a run of the job.
    enum Happening {
        /// A run is about to start.
        case started(Run.ID)
        /// A run ended; whether the same firing is tried again, and whether the run had written
        /// output.
        case ended(RunSummary, willRetry: Bool, hasOutput: Bool)
        /// A firing was skipped.
        case skipped(Firing, Notice.SkipReason)
    }

    /// What follows from an event.
    struct Result {
        var notifications: [JobNotification] = []
        var changes: [IncidentChange] = []
        /// When something may be wrong although nothing happens; nil: never.
        var next: WallInstant?

        var isEmpty: Bool { notifications.isEmpty && changes.isEmpty }
    }

    /// The instant to store, from which the time without a success counts.
    func watchedSince(lastSuccess: WallInstant?, at now: WallInstant) -> WallInstant {
        let anchor = max(watchedSince, lastSuccess ?? watchedSince)
        guard let inactiveSince else { return watchedSince }
        // The time while the job is not armed does not count.
        let pause = now - max(inactiveSince, anchor)
        return pause > .zero ? anchor + pause : anchor
    }

    /// The incidents that people were told about.
    var told: [IncidentRecord] { incidents.filter { $0.notified != nil } }

    /// The job has another name.
    mutating func rename(_ name: Job.Name) {
        incidents = incidents.map { $0.renamed(name) }
    }

    // MARK: - What happened

    /// Handles what happened to a run, and then everything that follows from time.
    mutating func tell(_ happening: Happening?, _ facts: Facts) -> Result {
        var result = Result()
        var over = Over()
        dropOthers(facts, into: &result)
        switch happening {
        case .started(let run): noteStart(run, facts, &over, into: &result)
        case .ended(let run, let willRetry, let hasOutput):
            noteEnd(
                run, facts, willRetry: willRetry, hasOutput: hasOutput, &over, into: &result)
        case .skipped(let firing, let reason):
            for notifier in facts.notifiers where notifier.on.contains(.skipped) {
                bump(.skipped, notifier, facts, into: &result) {
                    $0.run = Run.ID(firing: firing.id)
                    $0.skipReason = reason.word
                }
            }
        case nil: break
        }
        checkTimes(happening, facts, &over, into: &result)
        tellRecoveries(over, facts, into: &result)
        repeatOpen(facts, into: &result)
        result.next = next(facts)
        return result
    }

    /// The incidents that ended well by one event, of each notifier. One message tells all of them.
    private struct Over {
        var incidents: [Notifier.Name: [IncidentRecord]] = [:]
        var run: RunSummary?
    }

    private func noteStartIsTold(_ notifier: Notifier, _ job: Job) -> Bool {
        guard notifier.on.contains(.start) else { return false }
        // Services drop more than five pings in a minute; the ends matter more.
        if notifier.transport.isPing, case .every(let span) = job.schedule {
            return span >= Self.pingedStartMin
        }
        return true
    }

    /// Of a job with a shorter interval the starts of runs are not pinged.
    static let pingedStartMin: Duration = .seconds(30)

    private mutating func noteStart(
        _ run: Run.ID, _ facts: Facts, _ over: inout Over, into result: inout Result
    ) {
        for notifier in facts.notifiers {
            if noteStartIsTold(notifier, facts.job) {
                var one = notification(.start, notifier, facts)
                one.run = run
                result.notifications.append(one)
            }
            end(.skipped, notifier, isWell: true, &over, into: &result)
        }
    }

    private mutating func noteEnd(
        _ run: RunSummary, _ facts: Facts, willRetry: Bool, hasOutput: Bool, _ over: inout Over,
        into result: inout Result
    ) {
        runTimes[run.id] = nil
        over.run = run
        // A retry follows a failed attempt, so the firing failed if a newer run replaced the retry.
        let isFinal = run.failed && !willRetry
        let hasFailed = isFinal || (run.outcome == .replaced && run.id.attempt > 1)
        for notifier in facts.notifiers {
            let count = result.notifications.count
            if notifier.transport.isPing {
                notePing(run, notifier, facts, willRetry: willRetry, into: &result)
            } else if run.result == .success {
                end(.failure, notifier, isWell: true, &over, into: &result)
                end(.lost, notifier, isWell: true, &over, into: &result)
                if notifier.on.contains(.success) {
                    result.notifications.append(notification(.success, notifier, facts, run))
                }
            } else if hasFailed {
                noteFailure(run, notifier, facts, into: &result)
            }
            if hasOutput, notifier.on.contains(.output), result.notifications.count == count {
                result.notifications.append(notification(.output, notifier, facts, run))
            }
        }
    }

    private func notePing(
        _ run: RunSummary, _ notifier: Notifier, _ facts: Facts, willRetry: Bool,
        into result: inout Result
    ) {
        let kind: NotificationKind
        if run.failed {
            kind = .failure
        } else if run.result == .success {
            kind = .success
        } else {
            return
        }
        guard notifier.on.contains(kind) else { return }
        var one = notification(kind, notifier, facts, run)
        one.willRetry = willRetry
        result.notifications.append(one)
    }

    private mutating func noteFailure(
        _ run: RunSummary, _ notifier: Notifier, _ facts: Facts, into result: inout Result
    ) {
        let kind: NotificationKind
        if notifier.on.contains(.failure) {
            kind = .failure
        } else if case .lost = run.outcome, notifier.on.contains(.lost) {
            kind = .lost
        } else if run.outcome == .lost(.deadline), notifier.on.contains(.skipped) {
            kind = .skipped
        } else {
            return
        }
        bump(kind, notifier, facts, into: &result) {
            $0.run = run.id
            $0.outcome = run.outcome
            $0.usage = run.usage
            if kind == .skipped { $0.skipReason = Notice.SkipReason.deadline.word }
        }
    }

    // MARK: - What is wrong by now

    private mutating func checkTimes(
        _ happening: Happening?, _ facts: Facts, _ over: inout Over, into result: inout Result
    ) {
        noteRunTimes(facts)
        followPhase(facts)
        let ended: RunSummary? = if case .ended(let run, _, _) = happening { run } else { nil }
        let hasBegun = ended?.began != nil || facts.runs.contains { $0.began != nil }
        check(
            .late, isWrong: lateRun(facts), canBegin: !facts.phase.isPaused, isWell: hasBegun,
            facts, &over, into: &result)
        check(
            .long, isWrong: longRun(facts), canBegin: true, isWell: ended?.failed != true, facts,
            &over, into: &result)
        checkStale(ended, facts, &over, into: &result)
        let pause = pauseIsLong(facts)
        check(
            .pausedLong, isWrong: pause.map { ($0, nil) }, canBegin: true, isWell: true, facts,
            &over, into: &result)
    }

    /// Begins the incidents of one kind, or ends them.
    ///
    /// - Parameters:
    ///   - isWrong: since when something is wrong, and which run; nil if nothing is.
    ///   - canBegin: whether an incident can begin now.
    ///   - isWell: whether people are told that it is over, if it is.
    private mutating func check(
        _ kind: NotificationKind, isWrong: (since: WallInstant, run: Run.ID?)?, canBegin: Bool,
        isWell: Bool, _ facts: Facts, _ over: inout Over, into result: inout Result
    ) {
        for notifier in facts.notifiers where notifier.on.contains(kind) {
            guard let isWrong else {
                end(kind, notifier, isWell: isWell, &over, into: &result)
                continue
            }
            guard canBegin, index(of: kind, notifier.name) == nil else { continue }
            let incident = IncidentRecord(
                id: .init(job: facts.job.name, notifier: notifier.name, kind: kind),
                since: isWrong.since, count: 0, notified: facts.now.wall)
            incidents.append(incident)
            result.changes.append(.set(incident))
            var one = notification(kind, notifier, facts)
            one.run = isWrong.run
            one.since = isWrong.since
            result.notifications.append(one)
        }
    }

    private mutating func checkStale(
        _ ended: RunSummary?, _ facts: Facts, _ over: inout Over, into result: inout Result
    ) {
        let isOpen = incidents.contains { $0.id.kind == .stale }
        let due = staleAt(facts)
        // While the job is not armed, an incident stays as it is.
        guard facts.phase == .armed || isOpen && ended?.result == .success else { return }
        let isStale = due.map { $0 <= facts.now.wall } ?? false
        let since = incidents.first { $0.id.kind == .stale }?.since
        let hasSucceeded =
            ended?.result == .success
            || (facts.lastSuccess.map { success in since.map { success >= $0 } ?? false } ?? false)
        check(
            .stale, isWrong: isStale ? due.map { ($0, nil) } : nil, canBegin: true,
            isWell: hasSucceeded, facts, &over, into: &result)
    }

    /// The times of the runs are remembered by the clock that counts from the boot: they stay right
    /// when the wall clock is set.
    private mutating func noteRunTimes(_ facts: Facts) {
        let policy = facts.job.policy
        guard policy.lateAfter != nil || policy.longAfter != nil else { return runTimes = [:] }
        var times: [Run.ID: RunTimes] = [:]
        for run in facts.runs {
            var time =
                runTimes[run.id]
                ?? RunTimes(due: facts.now.boot(of: run.id.firing.scheduled), began: nil)
            if let began = run.began {
                time.began = time.began ?? facts.now.boot(of: began)
            }
            times[run.id] = time
        }
        runTimes = times
    }

    private mutating func followPhase(_ facts: Facts) {
        let now = facts.now.wall
        if facts.phase == .armed {
            watchedSince = watchedSince(lastSuccess: facts.lastSuccess, at: now)
            inactiveSince = nil
        } else if inactiveSince == nil {
            inactiveSince = now
        }
    }

    /// When a run is late that has not started; nil for a run that cannot be late.
    private func lateAt(_ run: ActiveRun, _ facts: Facts) -> WallInstant? {
        let policy = facts.job.policy
        guard let span = policy.lateAfter, run.began == nil, run.id.attempt == 1,
            let due = runTimes[run.id]?.due
        else { return nil }
        return facts.now.wall(of: due) + span + policy.accuracy + policy.randomDelay
    }

    private func lateRun(_ facts: Facts) -> (WallInstant, Run.ID?)? {
        for run in facts.runs {
            if let at = lateAt(run, facts), at <= facts.now.wall { return (at, run.id) }
        }
        return nil
    }

    private func longAt(_ run: ActiveRun, _ facts: Facts) -> WallInstant? {
        guard let span = facts.job.policy.longAfter, let began = runTimes[run.id]?.began else {
            return nil
        }
        return facts.now.wall(of: began) + span
    }

    private func longRun(_ facts: Facts) -> (WallInstant, Run.ID?)? {
        for run in facts.runs {
            if let at = longAt(run, facts), at <= facts.now.wall { return (at, run.id) }
        }
        return nil
    }

    /// When the job is stale if no run succeeds until then.
    private func staleAt(_ facts: Facts) -> WallInstant? {
        guard let span = facts.job.policy.staleAfter else { return nil }
        return max(watchedSince, facts.lastSuccess ?? watchedSince) + span
    }

    private func pauseIsLong(_ facts: Facts) -> WallInstant? {
        guard let at = pausedLongAt(facts), at <= facts.now.wall else { return nil }
        return at
    }

    private func pausedLongAt(_ facts: Facts) -> WallInstant? {
        guard let span = facts.job.policy.pausedAfter, case .paused(let pause) = facts.phase else {
            return nil
        }
        return pause.since + span
    }

    /// When one of the times above is reached. An incident that is open cannot begin again.
    private func next(_ facts: Facts) -> WallInstant? {
        var instants: [WallInstant] = []
        func isAwaited(_ kind: NotificationKind) -> Bool {
            facts.notifiers.contains {
                $0.on.contains(kind) && index(of: kind, $0.name) == nil
            }
        }
        if isAwaited(.late), !facts.phase.isPaused {
            instants += facts.runs.compactMap { lateAt($0, facts) }
        }
        if isAwaited(.long) { instants += facts.runs.compactMap { longAt($0, facts) } }
        if isAwaited(.stale), facts.phase == .armed, let at = staleAt(facts) {
            instants.append(at)
        }
        if isAwaited(.pausedLong), let at = pausedLongAt(facts) { instants.append(at) }
        for notifier in facts.notifiers {
            guard let span = notifier.repeatInterval else { continue }
            for incident in incidents
            where incident.id.notifier == notifier.name && isRepeated(incident, facts) {
                if let notified = incident.notified { instants.append(notified + span) }
            }
        }
        return instants.min()
    }

    // MARK: - Incidents

    private func index(of kind: NotificationKind, _ notifier: Notifier.Name) -> Int? {
        incidents.firstIndex { $0.id.kind == kind && $0.id.notifier == notifier }
    }

    /// Removes the incidents that the configuration does not ask for any more.
    private mutating func dropOthers(_ facts: Facts, into result: inout Result) {
        guard !incidents.isEmpty else { return }
        incidents.removeAll { incident in
            let isKept = facts.notifiers.contains {
                $0.name == incident.id.notifier && $0.on.contains(incident.id.kind)
            }
            if !isKept { result.changes.append(.remove(incident.id)) }
            return !isKept
        }
    }

    /// Counts one more failed firing, lost run or skipped firing.
    private mutating func bump(
        _ kind: NotificationKind, _ notifier: Notifier, _ facts: Facts, into result: inout Result,
        _ fill: (inout JobNotification) -> Void
    ) {
        let place: Int
        if let index = index(of: kind, notifier.name) {
            place = index
        } else {
            place = incidents.count
            incidents.append(
                IncidentRecord(
                    id: .init(job: facts.job.name, notifier: notifier.name, kind: kind),
                    since: facts.now.wall, count: 0))
        }
        incidents[place].count += 1
        let needed = kind == .failure ? notifier.after : 1
        if incidents[place].notified == nil, incidents[place].count >= needed {
            incidents[place].notified = facts.now.wall
            var one = notification(kind, notifier, facts)
            one.failedInARow = incidents[place].count
            one.since = incidents[place].since
            fill(&one)
            result.notifications.append(one)
        }
        result.changes.append(.set(incidents[place]))
    }

    private mutating func end(
        _ kind: NotificationKind, _ notifier: Notifier, isWell: Bool, _ over: inout Over,
        into result: inout Result
    ) {
        guard let index = index(of: kind, notifier.name) else { return }
        let incident = incidents.remove(at: index)
        result.changes.append(.remove(incident.id))
        guard isWell, incident.notified != nil else { return }
        over.incidents[notifier.name, default: []].append(incident)
    }

    private func tellRecoveries(_ over: Over, _ facts: Facts, into result: inout Result) {
        for notifier in facts.notifiers where notifier.on.contains(.recovery) {
            guard let ended = over.incidents[notifier.name], !ended.isEmpty else { continue }
            var one =
                over.run.map { notification(.recovery, notifier, facts, $0) }
                ?? notification(.recovery, notifier, facts)
            one.since = ended.map(\.since).min()
            one.failedInARow = ended.first { $0.id.kind == .failure }?.count ?? 0
            one.recoveredFrom = ended.map(\.id.kind)
            result.notifications.append(one)
        }
    }

    /// Whether an incident is told again while it is open: of a job that is paused or stopped, it
    /// is not known whether it would still be late or stale.
    private func isRepeated(_ incident: IncidentRecord, _ facts: Facts) -> Bool {
        switch incident.id.kind {
        case .late: !facts.phase.isPaused
        case .stale: facts.phase == .armed
        default: true
        }
    }

    private mutating func repeatOpen(_ facts: Facts, into result: inout Result) {
        for notifier in facts.notifiers {
            guard let span = notifier.repeatInterval else { continue }
            for index in incidents.indices
            where incidents[index].id.notifier == notifier.name
                && isRepeated(incidents[index], facts)
            {
                guard let notified = incidents[index].notified else { continue }
                // If the clock was set back, the time counts from now on.
                let isAhead = notified > facts.now.wall
                guard isAhead || facts.now.wall - notified >= span else { continue }
                incidents[index].notified = facts.now.wall
                result.changes.append(.set(incidents[index]))
                guard !isAhead else { continue }
                var one = notification(incidents[index].id.kind, notifier, facts)
                one.failedInARow = incidents[index].count
                one.since = incidents[index].since
                one.isRepeat = true
                result.notifications.append(one)
            }
        }
    }

    private func notification(
        _ kind: NotificationKind, _ notifier: Notifier, _ facts: Facts, _ run: RunSummary? = nil
    ) -> JobNotification {
        JobNotification(
            notifier: notifier.name, kind: kind, job: facts.job.name, run: run?.id,
            at: facts.now.wall, outcome: run?.outcome, usage: run?.usage)
    }
}

extension Now {
    /// The reading of CLOCK_BOOTTIME at a time of the wall clock that is not later than now, by the
    /// wall clock as it is set now.
    fileprivate func boot(of instant: WallInstant) -> BootInstant {
        // Fifty years are longer than any limit that matters, and cannot overflow.
        let ago = min(max(.zero, wall - instant), .seconds(50 * 31_557_600))
        return BootInstant(nanoseconds: boot.nanoseconds - ago.wholeNanoseconds)
    }

    fileprivate func wall(of instant: BootInstant) -> WallInstant { wall - (boot - instant) }
}
