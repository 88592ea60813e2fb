// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore

/// The fields of log entries; timerd(8) describes them.
extension Facts {
    /// A field, with its name in the journal.
    struct Field {
        var name: String
        /// Nil: the entry does not have this field.
        var value: Logger.MetadataValue?
    }

    static func metadata(_ fields: [Field]) -> Fields {
        var metadata: Fields = [:]
        for field in fields { metadata[field.name] = field.value }
        return metadata
    }

    static func start(
        _ ending: PreviousExit, _ jobs: Int, _ counting: Int, _ maxLoss: Duration
    ) -> [Field] {
        [
            .text("TIMERD_PREVIOUS_EXIT", ending.word), .number("TIMERD_JOBS", jobs),
            .number("TIMERD_COUNTING", counting), .maxLoss(maxLoss),
        ]
    }

    static func recovery(
        _ accrued: Duration, _ credited: Duration, _ maxLoss: Duration, _ basis: TimeBasis
    ) -> [Field] {
        [
            .text("TIMERD_COUNT", basis.rawValue), .elapsed(accrued),
            .duration("TIMERD_CREDITED_USEC", credited), .maxLoss(maxLoss),
        ]
    }

    static func firing(_ firing: Firing) -> [Field] {
        [
            .text("TIMERD_SCHEDULED", firing.id.scheduled.rfc3339Micros),
            .number("TIMERD_MISSED", firing.missed),
            .duration("TIMERD_ACTIVE_USEC", firing.active),
        ]
            + (firing.cause.chain.map {
                [
                    .text("TIMERD_CAUSE_RUN", $0.run.description),
                    .text("TIMERD_CAUSE_RESULT", $0.result.word),
                ]
            } ?? [])
            + (firing.cause.arguments.isEmpty
                ? [] : [.text("TIMERD_ARGUMENTS", firing.cause.arguments)])
    }

    static func skip(_ firing: Firing, _ reason: Notice.SkipReason) -> [Field] {
        let fields = self.firing(firing) + [.text("TIMERD_REASON", reason.word)]
        switch reason {
        case .stillRunning(let run), .queueFull(let run): return fields + [.blockedBy(run)]
        case .slotBusy(let slot): return fields + [.text("TIMERD_SLOT", slot)]
        case .concurrencyMax, .missed, .catchUpMax, .deadline, .clockSet, .byOrder,
            .outsideWindow:
            return fields
        }
    }

    static func incident(_ one: JobNotification) -> [Field] {
        let kinds = one.kind == .recovery ? one.recoveredFrom : [one.kind]
        return [
            .text("TIMERD_NOTIFIER", one.notifier),
            .text("TIMERD_INCIDENT", kinds.map(\.rawValue).joined(separator: " ")),
            Field(name: "TIMERD_SINCE", value: one.since.map { "\($0.rfc3339Micros)" }),
            .run(one.run),
        ]
    }

    /// The same fields that systemd writes for its own services.
    static func end(_ outcome: RunOutcome, _ usage: RunUsage) -> [Field] {
        let exit = outcome.exit
        return [
            .text("TIMERD_OUTCOME", outcome), .duration("JOB_DURATION_USEC", usage.elapsed),
            .text("CPU_USAGE_NSEC", (usage.user + usage.system).wholeNanoseconds),
            Field(name: "EXIT_CODE", value: exit.map { "\($0.code)" }),
            Field(name: "EXIT_STATUS", value: exit.map { "\($0.status)" }),
        ]
    }
}

extension Facts.Field {
    static func text(_ name: String, _ value: some CustomStringConvertible & Sendable) -> Self {
        Self(name: name, value: "\(value)")
    }

    static func number(_ name: String, _ value: Int) -> Self {
        Self(name: name, value: "\(value)")
    }

    /// In microseconds, as `_USEC` in the name says.
    static func duration(_ name: String, _ value: Duration) -> Self {
        Self(name: name, value: "\(value.wholeMicroseconds)")
    }

    static func run(_ run: Run.ID?) -> Self {
        Self(name: "TIMERD_RUN_ID", value: run.map { "\($0)" })
    }

    /// The run for which another one waits, or because of which it is skipped.
    static func blockedBy(_ run: Run.ID) -> Self { .text("TIMERD_BLOCKED_BY", run) }

    /// Who requested it: a user, or what else the agenda names.
    static func by(_ initiator: Initiator) -> Self { .text("TIMERD_BY", initiator) }

    static func late(_ span: Duration) -> Self { .duration("TIMERD_LATE_USEC", span) }

    static func elapsed(_ span: Duration) -> Self { .duration("TIMERD_ELAPSED_USEC", span) }

    static func maxLoss(_ span: Duration) -> Self { .duration("TIMERD_LOST_USEC_MAX", span) }

    /// The time until the next run; nil if there is none.
    static func remaining(_ span: Duration?) -> Self {
        Self(name: "TIMERD_REMAINING_USEC", value: span.map { "\($0.wholeMicroseconds)" })
    }
}
