// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension JobKey {
    /// The keys about when runs start, wait, or are skipped.
    static let policies: [JobKey] = [
        JobKey(
            "on-missed", .words(of: Policy.Missed.self),
            "What happens with runs that were missed.",
            standard: .string(Policy().onMissed.rawValue)
        ) { node, draft throws(Fault) in
            draft.policy.onMissed = try node.word()
        },
        JobKey(
            "starting-deadline", .spanOrNone,
            "How late a run may start.", standard: .string("none")
        ) { node, draft throws(Fault) in
            draft.policy.startingDeadline = try node.spanOrNone()
            // Each run starts a moment after it is due. With a shorter deadline, a job might never
            // run.
            if let deadline = draft.policy.startingDeadline, deadline < .seconds(1) {
                throw Fault(
                    node.mark,
                    "is shorter than 1 s, so that the job might never run: no run starts at the very instant "
                        + "it is due; at least 1 s, or \"none\"")
            }
        },
        JobKey(
            "on-resume", .words(of: Policy.Resume.self),
            "What happens when the job is resumed."
        ) { node, draft throws(Fault) in
            draft.policy.onResume = try node.word()
        },
        JobKey(
            "concurrency", .words(of: Policy.Concurrency.self),
            "What happens if a run becomes due while the previous one has not ended.",
            standard: .string(Policy().concurrency.rawValue)
        ) { node, draft throws(Fault) in
            draft.policy.concurrency = try node.word()
        },
        JobKey(
            "concurrency-max", .integer(1...DaemonSettings.concurrentMax),
            "With concurrency = \"allow\": how many runs of the job can be active at the same time."
        ) { node, draft throws(Fault) in
            draft.concurrencyMax = (
                try node.integer(in: 1...DaemonSettings.concurrentMax), node.mark
            )
        },
        JobKey(
            "start-durability", .words(of: Policy.StartDurability.self),
            "How the start of a run is recorded before its program begins: on the disk, or only written, so that after a power failure a run of the last second can start again.",
            standard: .string(Policy().startDurability.rawValue)
        ) { node, draft throws(Fault) in
            draft.policy.startDurability = try node.word()
        },
        JobKey(
            "history-runs", .integer(1...1_000_000),
            "How many of the newest finished runs are kept: of those that succeeded, and as many that failed.",
            standard: .integer(Int64(Policy.historyRunsDefault))
        ) { node, draft throws(Fault) in
            // The most that are counted without delaying a firing.
            draft.policy.historyRuns = try node.integer(in: 1...1_000_000)
        },
        JobKey(
            "accuracy", .span,
            "How much later a run may start to share a wake-up.", standard: .string("0s")
        ) { node, draft throws(Fault) in
            draft.policy.accuracy = try node.span()
        },
        JobKey(
            "random-delay", .span,
            "The maximum of a random delay that is chosen for each run.", standard: .string("0s")
        ) { node, draft throws(Fault) in
            draft.policy.randomDelay = try node.span()
        },
        JobKey(
            "random-offset", .span,
            "The maximum of a random delay of all runs, which is always the same on one machine.",
            standard: .string("0s")
        ) { node, draft throws(Fault) in
            draft.policy.randomOffset = try node.span()
        },
        JobKey(
            "retries", .integer(0...1000),
            "How often a failed run is retried.", standard: .integer(Int64(Policy().retry.retries))
        ) { node, draft throws(Fault) in
            draft.policy.retry.retries = try node.integer(in: 0...1000)
        },
        JobKey(
            "retry-delay", .span,
            "How long after the end of a failed run it is retried.", standard: .string("10s")
        ) { node, draft throws(Fault) in
            draft.policy.retry.delay = try node.span()
        },
        JobKey(
            "retry-backoff", .number(1...100),
            "By which factor each delay is longer than the one before it.",
            standard: .number(Policy().retry.backoff)
        ) { node, draft throws(Fault) in
            draft.policy.retry.backoff = try node.number(in: 1...100)
        },
        JobKey(
            "retry-max-delay", .span,
            "The maximum delay before a retry.", standard: .string("10min")
        ) { node, draft throws(Fault) in
            draft.policy.retry.delayMax = try node.span()
        },
    ]
}
