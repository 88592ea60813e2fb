// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What could prevent the next run, although nothing does so now.
extension Explanation {
    mutating func explainHindrances(of job: JobStatus) {
        if let skips = job.skips {
            add(
                .skipNext,
                "The next \(skips == 1 ? "run" : "\(skips) runs") will be skipped (skip-next); "
                    + "`timerctl skip-next \(job.job) 0` cancels that.")
        }
        explainConcurrency(of: job)
        explainTakenSlots(of: job)
        switch job.count {
        case "active" where job.fleet != nil:
            add(.timeBasis, "Its time does not count while timerd runs on no machine of the fleet.")
        case "active":
            add(
                .timeBasis,
                "Its time does not count while the daemon is down or the machine is asleep or off."
            )
        case "uptime":
            add(.timeBasis, "Its time does not count while the machine is asleep or off.")
        case "boottime" where job.onBootUsec != nil:
            add(.timeBasis, "Its time starts again with each boot of the machine.")
        case "boottime": add(.timeBasis, "Its time does not count while the machine is off.")
        default: break
        }
        if let deadline = job.policy?.startingDeadlineUsec {
            add(
                .startingDeadline,
                "A run that cannot start within \(span(deadline)) is skipped (starting-deadline)."
            )
        }
        if reply.activeRuns >= reply.maxConcurrent,
            !job.running.contains(where: { $0.waits == "capacity" })
        {
            add(
                .maxConcurrent,
                "The limit of \(plural(reply.maxConcurrent, "active run")) is reached (max-concurrent): it would wait."
            )
        }
    }

    /// Says which slots of the job a run would have to wait for now.
    private mutating func explainTakenSlots(of job: JobStatus) {
        guard !job.running.contains(where: { $0.waits == nil || $0.waits == "slot" }) else {
            return
        }
        let isSkipped = job.policy?.onBusySlot == "skip"
        for use in job.policy?.slotUses ?? [] {
            guard let slot = reply.slots?.first(where: { $0.slot == use.slot }),
                slot.taken + use.weight > slot.max || !slot.waiting.isEmpty
            else { continue }
            add(
                .slotTaken,
                "The slot \(slot.slot) (\(slot.max)) is taken\(holders(of: slot, by: " by ")): a run that becomes due now "
                    + (isSkipped ? "is skipped (on-busy-slot = \"skip\")." : "waits for it."))
        }
    }

    /// What happens when the job becomes due while its runs have not ended.
    private mutating func explainConcurrency(of job: JobStatus) {
        // Such a job only becomes due when none of its runs is left.
        if job.from != nil { return }
        let concurrency = job.policy?.concurrency ?? "forbid"
        if concurrency == "allow" {
            guard let most = job.policy?.concurrencyMax else { return }
            return add(
                .concurrencyMax,
                "At most \(plural(most, "run")) of it may be active at once (concurrency-max): a run beyond that is "
                    + "skipped.")
        }
        if job.running.contains(where: { !$0.isDelayed }) {
            switch concurrency {
            case "queue":
                add(
                    .concurrency,
                    "A run that becomes due while another is running waits for it; a second one is skipped."
                )
            case "replace":
                add(.concurrency, "A run that becomes due while another is running replaces it.")
            default:
                add(
                    .concurrency,
                    "A run that becomes due while another is running is skipped (concurrency = \"forbid\")."
                )
            }
        } else if let delayed = job.running.first(where: \.isDelayed) {
            let it = delayed.waits == "retry-delay" ? "that attempt" : "that run"
            add(
                .concurrency,
                concurrency == "queue"
                    ? "A run that becomes due before \(it) has ended waits for it (concurrency = \"queue\")."
                    : "A run that becomes due before \(it) replaces it (concurrency = \"\(concurrency)\")."
            )
        }
    }
}

extension RunStatus {
    /// Whether it waits for its delay, so that a newer run may replace it.
    fileprivate var isDelayed: Bool { waits == "retry-delay" || waits == "catch-up-delay" }
}
