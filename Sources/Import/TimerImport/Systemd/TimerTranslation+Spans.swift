// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension TimerTranslation {
    /// The spans of these keys, the shortest first.
    private func sorted(_ keys: String...) -> [(span: Duration, index: Int)] {
        keys.flatMap { spans[$0] ?? [] }.sorted { $0.span < $1.span }
    }

    mutating func monotonicPlans() -> [Plan] {
        let intervals = sorted("OnUnitActiveSec", "OnUnitInactiveSec")
        guard let interval = intervals.first else { return oncePlans() }
        for other in intervals.dropFirst() {
            unit.mark(
                other.index,
                .lost(
                    "a job has one interval, and the shortest one counts, at \(unit[interval.index].place)"
                ))
        }
        let starts = sorted("OnBootSec", "OnStartupSec", "OnActiveSec")
        for other in starts.dropFirst() {
            unit.mark(other.index, .lost("a job has one first run, which is the earliest"))
        }
        return intervalPlans(interval, first: starts.first)
    }

    private func intervalPlans(
        _ interval: (span: Duration, index: Int), first: (span: Duration, index: Int)?
    ) -> [Plan] {
        var keys = [TomlEntry("every", .span(interval.span))]
        if unit[interval.index].key == "OnUnitInactiveSec" {
            keys.append(TomlEntry("from", .string("end")))
        }
        if let first { keys.append(TomlEntry("first", .span(first.span))) }
        keys.append(TomlEntry("count", .string(count)))
        var plan = Plan(
            suffix: calendars.isEmpty ? "" : "-every", place: unit[interval.index].place,
            keys: keys)
        guard let first else {
            plan.notes.append(
                "systemd begins to count only when something else has started the service; the job first runs one interval after it is added"
            )
            return [plan]
        }
        guard isLikeSystemd, unit[first.index].key != "OnActiveSec" else {
            plan.notes.append(
                "after each boot, systemd starts the interval again from zero; the job continues with the time that was left (--like-systemd adds a job that runs after each boot)"
            )
            return [plan]
        }
        return [plan, bootPlan(first)]
    }

    private func bootPlan(_ start: (span: Duration, index: Int)) -> Plan {
        Plan(
            suffix: "-boot", place: unit[start.index].place,
            keys: [TomlEntry("on-boot", .span(start.span))],
            notes: [
                "the time also counts while the machine is suspended, and the first run is after the next boot; systemd starts it at once if that time of this boot is over"
            ])
    }

    /// Timers that elapse once, after the boot or after they were started.
    private func oncePlans() -> [Plan] {
        let boots = sorted("OnBootSec", "OnStartupSec")
        let starts = sorted("OnActiveSec")
        return boots.map(bootPlan)
            + starts.map { start in
                if isLikeSystemd { return bootPlan(start) }
                return Plan(
                    suffix: "-after", place: unit[start.index].place,
                    keys: [
                        TomlEntry("after", .span(max(start.span, Self.intervalMin))),
                        TomlEntry("count", .string(count)),
                    ],
                    notes: [
                        "systemd starts to count each time the timer is started, such as at a boot; the job runs once (--like-systemd makes it on-boot)"
                    ])
            }
    }
}
