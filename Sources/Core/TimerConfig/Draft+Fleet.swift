// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What a job with `fleet` cannot have: the machines of a fleet decide together when it runs, by
/// rules that are fewer than those of one machine.
extension Draft {
    /// The keys that have no meaning for a job of a fleet, with the reason.
    private static let foreignKeys: [(key: String, reason: String)] = [
        ("after", "it needs every, calendar or cron"),
        ("on-boot", "it needs every, calendar or cron"),
        ("at", "it needs every, calendar or cron"),
        ("on-demand", "it needs every, calendar or cron"),
        ("follows", "only jobs of one machine alone follow each other"),
        ("first", "the first run is one interval after the fleet knows the job"),
        ("accuracy", "the machines agree on the instant of each run"),
        ("random-delay", "the machines agree on the instant of each run"),
        ("catch-up-delay", "the machines agree on the instant of each run"),
        ("random-offset", "the machines agree on the instant of each run"),
        ("concurrency-max", "runs on several machines are not counted"),
        ("paused", "a pause belongs to the fleet; use `timerctl pause`"),
        ("late-after", "one machine does not know whether another one started a run"),
        ("stale-after", "one machine does not know whether a run on another one succeeded"),
        ("paused-after", "a pause belongs to the fleet"),
        ("run-environment", "the machine that runs it does not get variables of a request"),
        ("run-environment-any", "the machine that runs it does not get variables of a request"),
        ("window", "the machines agree on the instant of each run"),
        ("outside-window", "the machines agree on the instant of each run"),
        ("stop-at-window-end", "the machines agree on the instant of each run"),
        ("not-before", "the machines agree on the instant of each run"),
        ("not-after", "the machines agree on the instant of each run"),
        ("max-runs", "no machine counts the runs of all"),
        ("max-successes", "no machine counts the runs of all"),
        ("run-arguments", "the machine that runs it does not get arguments of a request"),
        ("condition", "a fleet decides where a run starts before that machine could be asked"),
        ("renamed-from", "the fleet keeps the state of a job by its name"),
    ]

    /// The names of these keys.
    static let foreignNames = Set(foreignKeys.map(\.key))

    /// The keys that have no meaning for a job that each machine runs for itself.
    private static let keysOfOne: [(key: String, reason: String)] = [
        ("prefer", "each machine runs it"), ("takeover-delay", "each machine runs it"),
        ("on-lost", "no other machine runs it in place of one that is gone"),
        ("on-isolation", "no other machine runs it in place of one that is cut off"),
    ]

    /// What is wrong with the keys of a job's own table if it has `fleet`.
    func fleetFaults(among entries: [TomlEntry]) -> [Fault] {
        func entry(_ key: String) -> TomlEntry? { entries.first { $0.key == key } }
        guard let fleetMark else { return [] }
        let word = isOnEachMachine ? "each" : "one"
        let foreign = Self.foreignKeys + (isOnEachMachine ? Self.keysOfOne : [])
        var faults = foreign.compactMap { key, reason in
            entry(key).map {
                Fault($0.mark, "\(key) does not go with fleet = \"\(word)\": \(reason)")
            }
        }
        func refuse(_ key: String, if isWrong: Bool, _ message: String) {
            if isWrong { faults.append(Fault(entry(key)?.node.mark ?? fleetMark, message)) }
        }
        refuse(
            "from", if: from != .start && entry("from") != nil,
            "from: a job of a fleet counts from run to run; use from = \"start\"")
        refuse(
            "count",
            if: every != nil && ![.active, .wall].contains(count) && entry("count") != nil,
            "count: in a fleet it is \"active\", the time in which a machine of the fleet is "
                + "connected, or \"wall\", all time")
        refuse(
            "concurrency",
            if: [.queue, .replace].contains(policy.concurrency) && entry("concurrency") != nil,
            "concurrency: in a fleet it is \"forbid\" or \"allow\"")
        let resume = every != nil ? Policy.Resume.keepRemaining : .nextSlot
        refuse(
            "on-resume",
            if: policy.onResume.map { $0 != resume } ?? false && entry("on-resume") != nil,
            "on-resume: in a fleet it is \"\(resume.rawValue)\" for this schedule")
        return faults + scheduleFaults(entries, at: fleetMark)
    }

    /// Machines can be in different zones, and a schedule must mean the same on all of them.
    private func scheduleFaults(_ entries: [TomlEntry], at mark: SourceMark) -> [Fault] {
        var faults: [Fault] = []
        if timezone == nil, !refused.contains("timezone"), !namesAllZones,
            !(calendar.isEmpty && cron.isEmpty)
        {
            faults.append(
                Fault(
                    mark,
                    "timezone is missing: the machines of a fleet may be in different zones; "
                        + "for example timezone = \"UTC\""))
        }
        if let line = cron.first(where: \.spec.spec.isReboot) {
            faults.append(
                Fault(
                    line.mark, "@reboot does not go with fleet: each machine has its own")
            )
        }
        if let fine = calendar.first(where: { !$0.spec.isInWholeMilliseconds }) {
            faults.append(
                Fault(fine.mark, "in a fleet a calendar event has at most milliseconds"))
        }
        return faults
    }

    /// Makes the job one of a fleet. Values of `[defaults]` that it cannot have do not apply to it.
    func share(_ job: inout Job) {
        var fleet = fleet
        if isOnEachMachine {
            fleet.template = job.name
            (fleet.prefer, fleet.onLost, fleet.onIsolation) = ([], .leave, .keep)
        }
        job.fleet = fleet
        var policy = job.policy
        policy.accuracy = .zero
        policy.randomDelay = .zero
        policy.catchUpDelay = .zero
        policy.randomOffset = .zero
        policy.onResume = nil
        policy.concurrency = policy.concurrency == .allow ? .allow : .forbid
        policy.concurrencyMax = nil
        policy.lateAfter = nil
        policy.staleAfter = nil
        policy.pausedAfter = nil
        job.policy = policy
        job.execution.runVariables = []
        job.execution.runArguments = []
        job.execution.condition = nil
        job.count = job.count == .wall ? .wall : .active
        job.from = .start
        job.first = nil
        job.paused = false
    }
}
