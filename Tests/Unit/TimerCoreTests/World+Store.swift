// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The store of the world, and its processes: what the actions of the agenda write and start.
extension World {
    /// The store writes the waiting actions in their order, followed by the consequences.
    mutating func restoreStore() {
        while !unwritten.isEmpty {
            let (action, event, at) = unwritten.removeFirst()
            agenda.storedThrough = event
            let isLate = now.awake - at > .seconds(1)
            switch action {
            case .begin(let runs, let start, let records) where isLate:
                write(.begin(runs, start: [], records: records))
                released.formUnion(start.map(\.id))
                if !start.isEmpty { handle(.recorded(start)) }
            case .start(let runs) where isLate:
                released.formUnion(runs.map(\.id))
                handle(.recorded(runs))
            default: write(action)
            }
            if agenda.isHolding { handle(.stored) }
        }
        isStoreDown = false
        agenda.storedThrough = .max
        if agenda.isHolding { handle(.stored) }
    }

    /// Nothing is written from now on until `restoreStore`.
    mutating func breakStore() {
        isStoreDown = true
        agenda.storedThrough = agenda.eventNumber
    }

    mutating func perform(_ action: Action) {
        if isStoreDown {
            switch action {
            case .begin, .start, .startReleased, .check, .withdraw, .close, .save, .storeJobSet,
                .notify:
                return unwritten.append((action, agenda.eventNumber, now.awake))
            default: break
            }
        }
        write(action)
    }

    /// Checks that no firing is skipped because of a run that is not recorded yet.
    private func judge(_ firing: Firing, _ reason: Notice.SkipReason) {
        switch reason {
        case .stillRunning(let run), .queueFull(let run):
            let other = show(firing.id.job).live.first { $0.id == run }
            #expect(other.map { !agenda.isUnrecorded($0) } ?? true, "\(run) is not on record")
        case .concurrencyMax, .missed, .catchUpMax, .deadline, .clockSet, .byOrder, .slotBusy,
            .outsideWindow:
            break
        }
    }

    private mutating func write(_ action: Action) {
        switch action {
        case .signal(_, let name): signals.append(name)
        case .arm(let job, let instant):
            timers[job] = instant
            wallTimers[job] = nil
        case .armAt(let job, let instant):
            wallTimers[job] = instant
            timers[job] = nil
        case .disarm(let job):
            timers[job] = nil
            wallTimers[job] = nil
        case .armRetry(let job, let instant): retryTimers[job] = instant
        case .disarmRetry(let job): retryTimers[job] = nil
        case .end(let run, _): asked.append(run)
        case .suspend(let run): suspended.insert(run)
        case .resume(let run): suspended.remove(run)
        case .begin(let runs, let start, let records):
            for run in runs {
                #expect(openRuns[run.id] == nil && closed[run.id] == nil, "\(run.id) twice")
                openRuns[run.id] = (run, false, boot)
                recorded[run.id] = now.wall
                owners[run.id] = run.id.firing.job
            }
            keep(records)
            begin(start)
        case .start(let runs): begin(runs)
        case .startReleased(let runs):
            for run in runs { #expect(released.contains(run.id), "\(run.id) is not released") }
            begin(runs)
        case .check(let wanted):
            for check in wanted {
                #expect(openRuns[check.run.id]?.begun == false, "\(check.run.id) has no row")
                #expect(!released.contains(check.run.id), "\(check.run.id) is released")
            }
            checks += wanted
        case .withdraw(let runs):
            for run in runs {
                #expect(openRuns[run]?.begun == false, "\(run) was started")
                released.remove(run)
            }
        case .close(let summary):
            let (run, outcome, failed) = (summary.id, summary.outcome, summary.failed)
            #expect(closed[run] == nil, "\(run) is closed twice")
            closed[run] = outcome
            verdicts[run] = failed
            lastRuns[owners[run] ?? run.firing.job] = RunSummary(
                id: run, ended: summary.ended, outcome: outcome, failed: failed)
            if summary.result == .success {
                lastSuccesses[owners[run] ?? run.firing.job] = summary.ended
            }
            openRuns[run] = nil
        case .save(let records, _): keep(records)
        case .storeJobSet(let change, _):
            for renaming in change.renamed { rename(renaming) }
            if let renewal = change.renewal { renew(renewal, except: change.records) }
            keep(change.records)
            for job in change.erased { records[job] = nil }
            switch change.hold {
            case .set(let new) where canSave: hold = new
            case .ended where canSave: hold = nil
            case .set, .ended, nil: break
            }
        case .log(let notice):
            if case .skipped(let firing, let reason) = notice {
                judge(firing, reason)
                keep(firing, reason)
            }
            notices.append(notice)
        case .answer(let answer): answers.append(answer)
        case .notify(let notifications, let changes):
            outbox += notifications
            for change in changes {
                switch change {
                case .set(let incident): incidents[incident.id] = incident
                case .remove(let id):
                    #expect(incidents[id] != nil, "\(id) is over twice")
                    incidents[id] = nil
                }
            }
        case .armIncidents(let instant): incidentTimer = instant
        case .armHold(let instant): holdTimer = instant
        case .decline: break
        }
    }

    private mutating func rename(_ renaming: Renaming) {
        guard canSave else { return }
        records[renaming.from] = nil
        lastRuns[renaming.to] = lastRuns.removeValue(forKey: renaming.from)
        for (run, owner) in owners where owner == renaming.from { owners[run] = renaming.to }
        lastSuccesses[renaming.to] = lastSuccesses.removeValue(forKey: renaming.from)
        lastSkips[renaming.to] = lastSkips.removeValue(forKey: renaming.from)
        for incident in incidents.values where incident.id.job == renaming.from {
            incidents[incident.id] = nil
            let renamed = incident.renamed(renaming.to)
            incidents[renamed.id] = renamed
        }
        for run in renaming.waiting {
            let new = run.renamed(renaming.to)
            guard let open = openRuns.removeValue(forKey: run) else {
                Issue.record("\(run) is renamed without a row")
                continue
            }
            openRuns[new] = open
            openRuns[new]?.0.id = new
            openRuns[new]?.0.firing.id = new.firing
            owners[new] = renaming.to
            recorded[new] = recorded.removeValue(forKey: run)
        }
    }

    /// A renewal must be the same as writing the record of each job that it is to spare.
    private mutating func renew(_ renewal: RecordRenewal, except others: [JobRecord]) {
        guard canSave else { return }
        renewal.apply(to: &records)
        let named = Set(others.map(\.job))
        for slot in agenda.entries.order {
            let record = agenda.entries[slot]?.record(
                at: renewal.at, ahead: .zero, instance: renewal.instance)
            guard let record, !named.contains(record.job) else { continue }
            #expect(records[record.job] == record, "by the renewal")
        }
    }

    private mutating func keep(_ saved: [JobRecord]) {
        guard canSave else { return }
        for record in saved { records[record.job] = record }
    }

    /// A firing that was too late for its deadline is stored as a run only.
    private mutating func keep(_ firing: Firing, _ reason: Notice.SkipReason) {
        guard canSave, reason != .deadline else { return }
        lastSkips[firing.id.job] = LastSkip(
            scheduled: firing.id.scheduled, count: firing.missed + 1, reason: reason.kind,
            at: now.wall)
    }

    private mutating func begin(_ runs: [Run]) {
        for run in runs {
            #expect(openRuns[run.id] != nil, "\(run.id) starts without a row")
            openRuns[run.id]?.begun = true
            openRuns[run.id]?.2 = boot
            started.append(run)
        }
    }
}
