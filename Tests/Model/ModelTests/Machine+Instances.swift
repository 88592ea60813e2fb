// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Starts and ends of the daemon and of the machine.
extension Machine {
    func take(_ step: Step) {
        switch step {
        case .pass(let span):
            stir()
            pass(span)
        case .block(let span):
            stir()
            counts.blocks += 1
            move(span, .blocked)
        case .sleep(let span, let quiet):
            counts.sleeps += 1
            append(.passed(.asleep, span))
            asleep += span
            wall += span
            clocksJumped = true
            if !quiet { stir() }
        case .set(let span, let quiet):
            // Two changes could not be distinguished from their sum, so the reading between them is
            // observed.
            if isSet { stir() }
            isSet = true
            counts.sets += 1
            if abs(span) >= 3 * Unit.hour { counts.corrections += 1 }
            setBack += max(0, -span)
            append(.passed(.step, span))
            wall += span
            clocksJumped = true
            if !quiet { stir() }
        case .down(let death, let since, let gaps, let runsLiveOn):
            goDown(death, since, gaps, runsLiveOn: runsLiveOn)
        case .command(let verb, let job, let until, let withRun, let count):
            command(verb, job, until: until.map { wall + $0 }, withRun: withRun, count: count)
        case .checkpoint:
            counts.checkpoints += 1
            tell(.checkpoint(), .checkpoint)
        case .mount: tell(.machineChanged(.mounts), .mountsChanged)
        case .edit(let job):
            edited.removeAll { $0.name == job.name }
            edited.append(job)
        case .remove(let job): edited.removeAll { $0.name == job }
        case .reload:
            counts.reloads += 1
            reload()
        }
    }

    func load() {
        counts.loads += 1
        func isAlive(_ row: Row) -> Bool { alive.contains { $0.id == row.run.id } }
        let open = rows.sorted {
            return ($0.run.id.firing.scheduled, $0.run.id.firing.job, $0.run.id.attempt)
                < ($1.run.id.firing.scheduled, $1.run.id.firing.job, $1.run.id.attempt)
        }.map { row in
            RecoveredState.OpenRun(
                id: row.run.id, of: row.owner, firing: row.run.firing, bootID: row.boot,
                isReleased: row.isBegun,
                recorded: row.recorded, isLive: isAlive(row))
        }
        instance += 1
        began = now
        let past = RecoveredState(
            instance: instance, previous: previous, heartbeat: beat,
            records: records.compactMap(\.self),
            openRuns: open, lastRuns: lastRuns, lastSuccesses: lastSuccesses,
            incidents: Array(incidents.values))
        tell(.load(jobs)) {
            let (agenda, actions) = Agenda.load(
                jobSet(jobs), past, concurrentRunsMax: timeline.runsMax,
                seed: timeline.seed, at: now)
            self.agenda = agenda
            return actions
        }
    }

    func goDown(
        _ death: Death, _ sinceCheckpoint: Int64, _ gaps: [Gap], runsLiveOn: Bool
    ) {
        stir()
        if death == .stopped {
            counts.stops += 1
            tell(.shutdown, .shutdown)
            configure()
        } else {
            // There is one checkpoint every 25 s.
            tell(.checkpoint(), .checkpoint)
            pass(sinceCheckpoint)
            stir()
            if death == .killed { counts.kills += 1 } else { counts.powerCuts += 1 }
        }
        previous = RecoveredState.PreviousInstance(
            instance: instance, began: began, ended: death == .stopped ? now : nil)
        let liveOn = runsLiveOn && death != .powerCut
        append(.died(death, runsLiveOn: liveOn))
        if !liveOn { alive = [] }
        for index in alive.indices where alive[index].left != nil { resume(index) }
        agenda = nil
        for job in 0..<Self.names {
            timers[job] = nil
            wallTimers[job] = nil
            retryTimers[job] = nil
        }
        incidentTimer = nil
        beginnings = []
        checks = []
        // The next daemon only knows when they were recorded.
        for row in rows.indices where alive.contains(where: { $0.id == rows[row].run.id }) {
            rows[row].began = rows[row].recorded.microsecondsSinceEpoch * Unit.microsecond
        }
        if death == .powerCut {
            if case .reboot = gaps.first {} else { reboot(10 * Unit.second, isWrongBy: 0) }
        }
        for gap in gaps { take(gap) }
        load()
    }

    func take(_ gap: Gap) {
        switch gap {
        case .awake(let span):
            append(.passed(.awake, span))
            awake += span
            wall += span
        case .asleep(let span):
            append(.passed(.asleep, span))
            asleep += span
            wall += span
        case .set(let span):
            if abs(span) >= 3 * Unit.hour { counts.corrections += 1 }
            setBack += max(0, -span)
            append(.passed(.step, span))
            wall += span
        case .reboot(let span, let wrong): reboot(span, isWrongBy: wrong)
        }
    }

    func reboot(_ span: Int64, isWrongBy wrong: Int64) {
        counts.reboots += 1
        setBack += max(0, -wrong)
        alive = []
        beat = nil
        append(.passed(.off, span))
        append(.booted)
        if wrong != 0 { append(.passed(.step, wrong)) }
        wall += span + wrong
        awake = 0
        asleep = 0
        bootNumber += 1
        boot = Self.bootID(bootNumber)
        take(.awake(5 * Unit.second))
    }
}
