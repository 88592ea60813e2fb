// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet
import TimerRunnerProtocol

extension FleetJob {
    /// What the fleet must know of a job; nil for a job of this machine alone, and for a schedule
    /// that no configuration gives to a fleet.
    init?(_ job: Job) {
        guard let fleet = job.fleet else { return nil }
        let schedule: Schedule
        switch job.schedule {
        case .every(let span): schedule = .every(span)
        case .wall(let wall): schedule = .wall(wall)
        case .after, .onBoot, .onDemand: return nil
        }
        self.init(job.name, definition: Self.hash(of: job, fleet), schedule: schedule)
        template = fleet.template
        if case .every = schedule, job.count == .wall { basis = .wall }
        labels = fleet.labels
        prefer = fleet.prefer
        takeoverDelay = fleet.takeoverDelay
        policy.onMissed = job.policy.onMissed
        policy.startingDeadline = job.policy.startingDeadline
        policy.concurrency = job.policy.concurrency
        policy.retry = job.policy.retry
        retriesOfLost = fleet.onLost.retries(job.policy.retry)
        endsIsolated = fleet.onIsolation == .stop
        skipsAway = fleet.onFleetAway == .skip
        success = job.execution.success
        skipExitCodes = job.execution.skipExitCodes
    }

    /// The dates themselves and not the names of their lists, so that machines whose files differ do
    /// not share the job.
    private static func parts(of rules: FiringRules) -> [String] {
        rules.except.map { "except \($0.days.texts)" }
            + rules.onlyOn.map { "only-on \($0.days.texts)" }
            + (rules.everyNth.map { ["every \($0.number) from \($0.start)"] } ?? [])
    }

    /// Distinguishes versions of a definition on all machines. The rules of a time zone are not part
    /// of it: machines with other versions of them still share the job.
    private static func hash(of job: Job, _ fleet: FleetPolicy) -> String {
        var parts = [String(Definition(job).fingerprint, radix: 16)]
        switch job.schedule {
        case .every(let span):
            parts.append("every \(span.wholeNanoseconds)")
            if job.count == .wall { parts.append("count wall") }
        case .wall(let schedule):
            parts += schedule.sources.map { source in
                switch source {
                case .calendar(let spec, let zone): "calendar \(spec) \(zone.name)"
                case .cron(let spec, let zone): "cron \(spec) \(zone.name)"
                case .at(let instant): "at \(instant.microsecondsSinceEpoch)"
                }
            }
            parts.append("gap \(schedule.gap?.rawValue ?? "-")")
            parts.append("overlap \(schedule.overlap?.rawValue ?? "-")")
            if let rules = schedule.rules?.wrappedValue { parts += Self.parts(of: rules) }
        case .after, .onBoot, .onDemand: break
        }
        let policy = job.policy
        let retry = policy.retry
        parts += [
            "on \(fleet.labels.sorted())", "prefer \(fleet.prefer)",
            "takeover \(fleet.takeoverDelay.wholeNanoseconds)", "lost \(fleet.onLost.rawValue)",
            "isolation \(fleet.onIsolation.rawValue)", "away \(fleet.onFleetAway.rawValue)",
            "missed \(policy.onMissed.rawValue)", "concurrency \(policy.concurrency.rawValue)",
            "deadline \(policy.startingDeadline?.wholeNanoseconds ?? -1)",
            "retry \(retry.retries) \(retry.delay.wholeNanoseconds) \(retry.backoff) \(retry.delayMax.wholeNanoseconds)",
            "success \(job.execution.success.exitCodes.sorted())",
        ]
        // Only what is set, so that other jobs have the same definition as in earlier versions.
        let signals = job.execution.success.signals.sorted()
        if !signals.isEmpty { parts.append("signals \(signals)") }
        let skips = job.execution.skipExitCodes.sorted()
        if !skips.isEmpty { parts.append("skip \(skips)") }
        if let template = fleet.template { parts.append("each \(template)") }
        return String(FNV1a.hash(Array(parts.joined(separator: "\n").utf8)), radix: 16)
    }
}
