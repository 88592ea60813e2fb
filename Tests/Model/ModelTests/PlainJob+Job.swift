// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension Schedule {
    /// The duration of a slow run.
    var plainSpan: Int64 {
        switch self {
        case .every(let span), .after(let span), .onBoot(let span): span.wholeNanoseconds
        case .wall, .onDemand: 60 * Unit.second
        }
    }
}

// MARK: - The set of jobs, as the configuration parser would create it

extension Job {
    /// The job for a plain description.
    init(_ plain: PlainJob) {
        var policy = Policy()
        policy.onMissed = [.runOnce, .skip, .runAll][Int(plain.onMissed.rawValue)]
        policy.startingDeadline = plain.deadline.map { .nanoseconds($0) }
        policy.onResume = plain.onResume.map {
            [.keepRemaining, .nextSlot, .fireIfDue, .restart][Int($0.rawValue)]
        }
        policy.concurrency = [.forbid, .queue, .replace, .allow][Int(plain.concurrency.rawValue)]
        policy.concurrencyMax = plain.concurrencyMax
        policy.slots = plain.slots.map {
            RunSlot.Use(Machine.slotNames[$0.slot], weight: $0.weight)
        }
        policy.onBusySlot = plain.skipsBusy ? .skip : .wait
        policy.accuracy = .nanoseconds(plain.accuracy)
        policy.randomDelay = .nanoseconds(plain.randomDelay)
        policy.catchUpDelay = .nanoseconds(plain.catchUpDelay)
        policy.randomOffset = .nanoseconds(plain.randomOffset)
        if IncidentChecker.isWatched(plain.name) {
            policy.notify = Machine.notifiers.map(\.name)
        }
        policy.lateAfter = plain.lateAfter.map { .nanoseconds($0) }
        policy.longAfter = plain.longAfter.map { .nanoseconds($0) }
        policy.staleAfter = plain.staleAfter.map { .nanoseconds($0) }
        policy.pausedAfter = plain.pausedAfter.map { .nanoseconds($0) }
        policy.retry.retries = plain.retries
        policy.retry.delay = .nanoseconds(plain.retryDelay)
        policy.retry.backoff = Double(plain.backoffHalves) / 2
        policy.retry.delayMax = .nanoseconds(plain.retryMax)
        var execution = Execution()
        switch plain.two {
        case .failure: break
        case .success: execution.success.exitCodes = [0, 2]
        case .skip: execution.skipExitCodes = [2]
        }
        if let condition = plain.condition {
            var wanted = TimerCore.Condition()
            wanted.mounted = [.init("/mnt/\(condition.number)")]
            if condition.waitMax > 0 {
                wanted.otherwise = .wait
                wanted.waitMax = .nanoseconds(condition.waitMax)
            }
            execution.condition = wanted
        }
        let schedule: Schedule =
            switch plain.kind {
            case .every: .every(.nanoseconds(plain.span))
            case .after: .after(.nanoseconds(plain.span))
            case .onBoot: .onBoot(.nanoseconds(plain.span))
            case .slots: .wall(WallPattern.all[plain.pattern].schedule)
            case .at:
                .wall(
                    WallSchedule(
                        plain.instants.map {
                            .at(WallInstant(microsecondsSinceEpoch: $0 / Unit.microsecond))
                        }))
            }
        self.init(
            name: Machine.allNames[plain.name], command: .arguments(["true"]), schedule: schedule,
            first: plain.first.map { .nanoseconds($0) },
            count: [.active, .uptime, .boottime, .wall][Int(plain.basis.rawValue)],
            paused: plain.paused, policy: policy, execution: execution,
            renamedFrom: plain.renamedFrom.map { Machine.allNames[$0] })
        if plain.restartsAtEnd { from = .end }
    }
}

/// Daily occurrences that are so simple that the checker needs no calendar: a constant distance
/// apart, from a certain time after midnight UTC on.
struct WallPattern {
    let schedule: WallSchedule
    let span: Int64
    let phase: Int64

    static let all: [WallPattern] = [
        calendar("*:*:0/20", 20, 0), cron("* * * * *", 60, 0), cron("*/5 * * * *", 300, 0),
        calendar("*:0/10:05", 600, 5), cron("7,27,47 * * * *", 1200, 420),
        cron("17 * * * *", 3600, 1020), cron("30 */2 * * *", 7200, 1800),
        cron("15 6 * * *", 86_400, 22_500),
    ].compactMap(\.self)

    private static func cron(_ text: String, _ span: Int64, _ phase: Int64) -> WallPattern? {
        guard let spec = try? CronSpec(text) else { return nil }
        return WallPattern(
            schedule: WallSchedule([.cron(spec, .utc)]), span: span * Unit.second,
            phase: phase * Unit.second)
    }

    private static func calendar(_ text: String, _ span: Int64, _ phase: Int64) -> WallPattern? {
        guard let spec = try? CalendarSpec(text) else { return nil }
        return WallPattern(
            schedule: WallSchedule([.calendar(spec, .utc)]), span: span * Unit.second,
            phase: phase * Unit.second)
    }
}
