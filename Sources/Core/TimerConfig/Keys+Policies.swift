// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension Draft {
    /// The keys about when runs start, wait, or are skipped.
    static let policies: [JobKey] = [
        JobKey(
            \.policy.onMissed, "on-missed", .words, "What happens with runs that were missed."),
        JobKey(
            \.policy.startingDeadline, "starting-deadline",
            // Each run starts a moment after it is due. With a shorter deadline, a job might never
            // run.
            .spanOrNone.atLeast(
                .seconds(1),
                "so that the job might never run: no run starts at the very instant it is due"),
            "How late a run may start."),
        JobKey(
            \.policy.onResume, "on-resume", .words, "What happens when the job is resumed."),
        JobKey(
            \.policy.concurrency, "concurrency", .words,
            "What happens if a run becomes due while the previous one has not ended."),
        JobKey(
            \.concurrencyMax, "concurrency-max", .integer(1...DaemonSettings.concurrentMax),
            "With concurrency = \"allow\": how many runs of the job can be active at the same time."
        ),
        JobKey(
            \.policy.startDurability, "start-durability", .words,
            "How the start of a run is recorded before its program begins: on the disk, or only written, so that after a power failure a run of the last second can start again."
        ),
        JobKey(
            // The most that are counted without delaying a firing.
            \.policy.historyRuns, "history-runs", .integer(1...1_000_000),
            "How many of the newest finished runs are kept: of those that succeeded, and as many that failed."
        ),
        JobKey(
            \.policy.accuracy, "accuracy", .span,
            "How much later a run may start to share a wake-up."),
        JobKey(
            \.policy.randomDelay, "random-delay", .span,
            "The maximum of a random delay that is chosen for each run."),
        JobKey(
            \.policy.catchUpDelay, "catch-up-delay", .span,
            "The maximum of a random delay after which a missed run is caught up."),
        JobKey(
            \.policy.randomOffset, "random-offset", .span,
            "The maximum of a random delay of all runs, which is always the same on one machine."),
        JobKey(
            \.policy.retry.retries, "retries", .integer(0...1000),
            "How often a failed run is retried."),
        JobKey(
            \.policy.retry.delay, "retry-delay", .span,
            "How long after the end of a failed run it is retried."),
        JobKey(
            \.policy.retry.backoff, "retry-backoff", .number(1...100),
            "By which factor each delay is longer than the one before it."),
        JobKey(
            \.policy.retry.delayMax, "retry-max-delay", .span,
            "The maximum delay before a retry."),
    ]
}
