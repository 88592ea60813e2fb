// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
import TimerJSON

extension Job {
    /// The values of its keys that differ from the built-in ones, by the names of the keys, in the form
    /// of the configuration: `2h`, `disk, network`. What the values of variables and the standard
    /// input are is not among them, because they may be secrets: variables are their names, and
    /// the input is a number of bytes.
    ///
    /// Left out are the keys that say when the job runs and what must be true then: the daemon keeps
    /// their meaning and not their text.
    public var settings: [String: String] {
        let (draft, standard) = (Draft(showing: self), Draft())
        var settings: [String: String] = [:]
        for key in JobKey.all {
            let shown = key.shown(draft)
            if shown != key.shown(standard) { settings[key.name] = shown }
        }
        return settings
    }
}

extension Key where Target == Draft {
    /// What is shown of its value; nil if there is none, or none that can be written.
    fileprivate func shown(_ draft: Draft) -> String? {
        if let summary { return summary(draft) }
        return value(draft)?.plainText
    }
}

extension Draft {
    /// The values from which a job was made, as far as it has them.
    fileprivate init(showing job: Job) {
        description = job.description
        count = job.count
        from = job.from
        first = job.first
        paused = job.paused
        environment = job.environment
        workingDirectory = job.workingDirectory
        policy = job.policy
        execution = job.execution
        let isOwn = { (name: String) in RunVariables.fault(inOwnName: name) == nil }
        execution.runVariables = job.execution.runVariables.filter(isOwn)
        otherRunVariables = job.execution.runVariables.filter { !isOwn($0) }
        hasDurationHistogram = job.hasDurationHistogram
        maxRuns = job.limit?.runs
        maxSuccesses = job.limit?.successes
        show(job.execution.priorities)
        let mark = SourceMark(line: 1, column: 1)
        concurrencyMax = job.policy.concurrencyMax.map { Marked($0, mark) }
        skipExitCodes = Marked(job.execution.skipExitCodes, mark)
        renamedFrom = job.renamedFrom.map { Marked($0, mark) }
        if case .wall(let schedule) = job.schedule { show(schedule, mark) }
        guard let fleet = job.fleet else { return }
        self.fleet = fleet
        fleetMark = mark
        isOnEachMachine = fleet.template != nil
    }

    private mutating func show(_ priorities: Priorities) {
        switch priorities.io {
        case .standard: break
        case .realtime(let level): (ioClass, ioPriority) = (.realtime, level)
        case .bestEffort(let level): (ioClass, ioPriority) = (.bestEffort, level)
        case .idle: ioClass = .idle
        }
        switch priorities.cpu {
        case .other: break
        case .batch: cpuPolicy = .batch
        case .idle: cpuPolicy = .idle
        case .fifo(let priority): (cpuPolicy, cpuPriority) = (.fifo, priority)
        case .rr(let priority): (cpuPolicy, cpuPriority) = (.rr, priority)
        }
    }

    private mutating func show(_ schedule: WallSchedule, _ mark: SourceMark) {
        gap = schedule.gap
        overlap = schedule.overlap
        guard let rules = schedule.rules?.wrappedValue else { return }
        everyNth = rules.everyNth?.number
        if !rules.except.isEmpty { dateUse.except = Marked(rules.except.map(\.name), mark) }
        if !rules.onlyOn.isEmpty { dateUse.onlyOn = Marked(rules.onlyOn.map(\.name), mark) }
    }
}

extension JSONValue {
    /// The value without quotes and brackets.
    fileprivate var plainText: String {
        switch self {
        case .string(let text): text
        case .array(let values): values.map(\.plainText).joined(separator: ", ")
        case .object(let members):
            members.map { "\($0.0) \($0.1.plainText)" }.joined(separator: ", ")
        case .integer, .number, .boolean, .null: line
        }
    }
}
