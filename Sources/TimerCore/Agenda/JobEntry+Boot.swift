// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a job that is due once in each boot of the machine still has to do in this one. `on-boot` and `@reboot` go by
/// the same rule: due is a job that was there at the daemon's first start in the boot.
enum BootFiring {
    /// Nothing: it fired in this boot already, or was not there at the daemon's first start in it.
    case over
    /// The boot is new to the job. It began so long ago.
    case begins(ago: Duration)
    /// Its saved state says that it has not fired in this boot.
    case waits
}

/// A start of the daemon, as far as it matters to jobs that are due once in each boot.
struct Start {
    /// Whether no daemon started in this boot before.
    var isFirstOfBoot: Bool
    /// How long ago the boot began.
    var sinceBoot: Duration
}

extension Recollection {
    /// The start of the daemon that restores the saved state. The boot began after the last heartbeat of the previous
    /// one: in a container the clocks are those of the machine, which was switched on long ago.
    func start(at now: Now) -> Start {
        let last = previous.map { lastSign(of: $0) }
        let before = last.flatMap { $0.bootID == now.bootID ? nil : $0.wall }
        return Start(
            isFirstOfBoot: previous?.began.bootID != now.bootID,
            sinceBoot: Credit.sinceBoot(.boottime, notBefore: before, at: now))
    }
}

extension BootFiring {
    /// - Parameters:
    ///   - record: the saved state of the job; nil if it is new.
    ///   - start: the start of the daemon the job is there at; nil if it is added by a reload.
    init(after record: JobRecord?, at start: Start?, _ now: Now) {
        guard let start else {
            self = .over
            return
        }
        guard let record, record.removed == nil else {
            self = start.isFirstOfBoot ? .begins(ago: start.sinceBoot) : .over
            return
        }
        guard record.at.bootID == now.bootID else {
            self = .begins(ago: start.sinceBoot)
            return
        }
        self = record.isDueThisBoot ? .waits : .over
    }
}

extension Schedule {
    /// Whether it counts the time since the boot.
    var isSinceBoot: Bool { if case .onBoot = self { true } else { false } }

    /// Whether it is due once in each boot, beside what else it may be due at.
    var isOncePerBoot: Bool {
        switch self {
        case .onBoot: true
        case .wall(let schedule): schedule.isAtReboot
        case .every, .after: false
        }
    }
}

extension JobEntry {
    /// Makes the firing due that the job has once in each boot, if this boot's is still to come.
    mutating func follow(_ boot: BootFiring, at now: Now) {
        guard job.schedule.isOncePerBoot, phase != .stopped else { return }
        switch boot {
        case .over: return
        case .waits:
            isDueThisBoot = true
            // That of a schedule by the wall clock was the next one behind what was dealt with.
            if !job.schedule.isSinceBoot { occurrence = seen + .microseconds(1) }
        case .begins(let ago):
            isDueThisBoot = true
            if phase == .finished { phase = .armed }
            guard job.schedule.isSinceBoot else {
                seen = min(seen, now.wall - .microseconds(1))
                occurrence = now.wall
                return
            }
            // At the first start in a boot nothing is missed: what should have fired before the daemon could fires
            // now.
            let due = dueTarget ?? .zero
            let counted = phase == .armed ? min(ago, due) : .zero
            ledger = Ledger(active: active(at: now), accrued: counted)
            uncertain = .zero
            countedAfterPause = min(countedAfterPause, due)
        }
    }

    /// A job that has nothing more to do in this boot waits for the next one.
    mutating func finishUnlessDueThisBoot(at now: Now) {
        guard job.schedule.isSinceBoot, phase == .armed, !isDueThisBoot else { return }
        phase = .finished
        ledger.close(at: counted(at: now))
    }

    /// The occurrences have to be found anew. That of the boot is none of the calendar: it stays.
    mutating func dropOccurrence() {
        if !isDueThisBoot { occurrence = nil }
    }
}
