// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a job that fires once in each boot still has to do in this boot. `on-boot` and `@reboot`
/// follow the same rule: the job fires if it was configured at the first start of the daemon in the
/// boot.
enum BootFiring {
    /// Nothing: it has already fired in this boot, or was not configured at the first start of the
    /// daemon in it.
    case over
    /// The boot is new to the job, and started this long ago.
    case begins(ago: Duration)
    /// The saved state says that the job has not fired in this boot yet.
    case waits
}

/// The properties of a start of the daemon that matter to jobs that fire once in each boot.
struct Start {
    /// Whether this is the first start of the daemon in this boot.
    var isFirstOfBoot: Bool
    /// The age of the boot, by the clocks of the daemon.
    var sinceBoot: Duration
}

extension RecoveredState {
    /// The start of the daemon that restores the saved state. The boot cannot be earlier than the
    /// last heartbeat of the previous boot. This matters in a container, whose clocks are those of
    /// a host that was booted long ago.
    func start(at now: Now) -> Start {
        let last = previous.map { lastHeartbeat(of: $0) }
        let before = last.flatMap { $0.bootID == now.bootID ? nil : $0.wall }
        return Start(
            isFirstOfBoot: previous?.began.bootID != now.bootID,
            sinceBoot: Credit.sinceBoot(.boottime, notBefore: before, at: now))
    }
}

extension BootFiring {
    /// - Parameters:
    ///   - record: the saved state of the job; nil if it is new.
    ///   - start: the start of the daemon at which the job is loaded; nil if a reload adds the job.
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

    /// Whether it is due once in each boot, possibly in addition to other times.
    var isOncePerBoot: Bool {
        switch self {
        case .onBoot: true
        case .wall(let schedule): schedule.isAtReboot
        case .every, .after, .onDemand: false
        }
    }
}

extension JobEntry {
    /// Makes the firing of this boot due, if it has not happened yet.
    mutating func follow(_ boot: BootFiring, at now: Now) {
        guard job.schedule.isOncePerBoot, phase != .stopped else { return }
        switch boot {
        case .over: return
        case .waits:
            isDueThisBoot = true
            // The firing at boot of a schedule by the wall clock is an occurrence directly after
            // the last processed instant.
            if !job.schedule.isSinceBoot {
                progress.expect(processedThrough + .microseconds(1))
            }
        case .begins(let ago):
            isDueThisBoot = true
            if phase == .finished { phase = .armed }
            guard job.schedule.isSinceBoot else {
                progress.goBack(to: now.wall - .microseconds(1))
                progress.expect(now.wall)
                return
            }
            // At the first start in a boot nothing is missed: a firing that was due before the
            // daemon could start fires now.
            let due = dueTarget ?? .zero
            let counted = phase == .armed ? min(ago, due) : .zero
            ledger = Ledger(active: active(at: now), accrued: counted)
            maxLoss = .zero
            countedAfterPause = min(countedAfterPause, due)
        }
    }

    /// Finishes a job that has nothing more to do in this boot, until the next boot.
    mutating func finishUnlessDueThisBoot(at now: Now) {
        guard job.schedule.isSinceBoot, phase == .armed, !isDueThisBoot else { return }
        phase = .finished
        ledger.close(at: counted(at: now))
    }

    /// Discards the next occurrence, so that it is calculated again. The firing at boot is not in
    /// the calendar, so it is kept.
    mutating func dropOccurrence() {
        if !isDueThisBoot { progress.expect(nil) }
    }
}
