// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The state of a run between the moment it is recorded and its end. `RunState.after` contains all
/// transitions, and docs/ARCHITECTURE.md has a diagram of them.
public enum RunState: Hashable, Sendable {
    /// It is recorded and has not been started.
    case waiting(Wait)
    /// Its start was decided. It is not known yet whether its process runs; even its row may not be
    /// written yet.
    case starting
    /// Its process has been running since this time of the wall clock.
    case running(since: WallInstant)
    /// It is being ended, and this outcome is recorded however it ends. The time is nil if it is
    /// not known whether its process started.
    case stopping(RunOutcome, since: WallInstant?)
    /// It is ended as soon as its process runs, because its row was not written yet when the end
    /// was requested.
    case stoppingAtStart(RunOutcome)
    /// It ended, or was cancelled before it started.
    case ended(RunOutcome)

    /// What a recorded run can wait for.
    public enum Wait: Hashable, Sendable {
        /// The limit `max-concurrent`.
        case capacity
        /// A slot of the job is taken, or an earlier run waits for it.
        case slot
        /// The end of the previous run of the job, or the end of a pause.
        case previousRun
        /// The end of the delay before a retry, or the end of a pause.
        case retryDelay(until: AwakeInstant)
        /// The end of its delay, because it was missed and is caught up, or the end of a pause.
        case catchUpDelay(until: AwakeInstant)
        /// The answer of the runner whether its condition is met. It has its slots and its place of
        /// `max-concurrent`.
        case check
        /// Its condition, which was not met: it is asked again at this instant.
        case condition(until: AwakeInstant)
    }
}

/// An event that can change the state of a run.
enum RunTransition {
    /// It has to wait, also if it waited for something else before.
    case wait(RunState.Wait)
    /// It is started, as decided at the event with this number.
    case start(event: UInt64)
    /// Its process started. The report may be late or repeated.
    case begin(at: WallInstant)
    /// It has to end, with this outcome. A run that may not be recorded yet cannot be ended yet.
    case stop(RunOutcome, isRecorded: Bool)
    /// Its process ended, or could not be started.
    case end(RunOutcome)
    /// It is cancelled before it started.
    case cancel(RunOutcome)
}

extension RunState {
    /// The state after this transition; nil if the transition is not possible in this state. Then
    /// nothing changes.
    func after(_ transition: RunTransition) -> RunState? {
        switch (self, transition) {
        case (.waiting, .wait(let wait)): .waiting(wait)
        case (.waiting, .start): .starting
        case (.waiting, .cancel(let outcome)): .ended(outcome)
        case (.waiting, .begin), (.waiting, .stop), (.waiting, .end): nil

        // A run whose row was written late has not started yet: now it starts, waits, or is too
        // late.
        case (.starting, .wait(let wait)): .waiting(wait)
        case (.starting, .start): .starting
        case (.starting, .cancel(let outcome)): .ended(outcome)
        case (.starting, .begin(let instant)): .running(since: instant)
        case (.starting, .stop(let outcome, isRecorded: true)): .stopping(outcome, since: nil)
        case (.starting, .stop(let outcome, isRecorded: false)): .stoppingAtStart(outcome)
        case (.starting, .end(let outcome)): .ended(outcome)

        case (.running, .begin(let instant)): .running(since: instant)
        case (.running(let since), .stop(let outcome, _)): .stopping(outcome, since: since)
        case (.running, .end(let outcome)): .ended(outcome)
        case (.running, .wait), (.running, .start), (.running, .cancel): nil

        case (.stopping(let outcome, _), .begin(let instant)),
            (.stoppingAtStart(let outcome), .begin(let instant)):
            .stopping(outcome, since: instant)
        case (.stopping(let outcome, _), .end), (.stopping(let outcome, _), .cancel),
            (.stoppingAtStart(let outcome), .end), (.stoppingAtStart(let outcome), .cancel):
            .ended(outcome)
        case (.stopping, .wait), (.stopping, .start), (.stopping, .stop),
            (.stoppingAtStart, .wait), (.stoppingAtStart, .start), (.stoppingAtStart, .stop):
            nil

        case (.ended, .wait), (.ended, .start), (.ended, .begin), (.ended, .stop), (.ended, .end),
            (.ended, .cancel):
            nil
        }
    }

    /// When its process started; nil while that is not known.
    var began: WallInstant? {
        switch self {
        case .running(let since): since
        case .stopping(_, let since): since
        case .waiting, .starting, .stoppingAtStart, .ended: nil
        }
    }

    /// Whether it counts for `max-concurrent`: it was started and has not ended, or is about to start
    /// and its condition is being checked.
    var takesPlace: Bool {
        switch self {
        case .waiting(.check), .starting, .running, .stopping, .stoppingAtStart: true
        case .waiting, .ended: false
        }
    }

    /// Whether its condition is being checked, or it waits for that to be met.
    var awaitsCondition: Bool {
        switch self {
        case .waiting(.check), .waiting(.condition): true
        case .waiting(.capacity), .waiting(.slot), .waiting(.previousRun), .waiting(.retryDelay),
            .waiting(.catchUpDelay), .starting, .running, .stopping, .stoppingAtStart, .ended:
            false
        }
    }

    /// Whether it has to end and has not ended yet.
    var isStopping: Bool {
        switch self {
        case .stopping, .stoppingAtStart: true
        case .waiting, .starting, .running, .ended: false
        }
    }
}

/// A run that has not ended.
public struct ActiveRun: Hashable, Sendable {
    /// The identity. A started run keeps it when its job is renamed.
    public internal(set) var id: Run.ID
    /// The state, which changes only as `RunState.after` says.
    public internal(set) var state: RunState
    /// The firing it is an attempt at, with the current name of the job. The identity of a started
    /// run keeps the old name.
    public internal(set) var firing: Firing
    /// The job as it was when it fired, with its current name. Nil for a run of an earlier instance
    /// whose job is not in the configuration.
    var job: Boxed<Job>?
    /// The number of the event that recorded or started it; 0 if an earlier instance did.
    var event: UInt64 = 0
    /// Its place in the order of those that wait for `max-concurrent`; 0 before it has one.
    var ticket: UInt64 = 0
    /// The checks of its condition; nil before the first one.
    private var boxedCondition: Boxed<ConditionWait>?

    init(_ run: Run, _ state: RunState, event: UInt64 = 0) {
        id = run.id
        firing = run.firing
        job = run.boxedJob
        self.state = state
        self.event = event
    }

    init(id: Run.ID, firing: Firing, job: Boxed<Job>?, _ state: RunState) {
        self.id = id
        self.firing = firing
        self.job = job
        self.state = state
    }

    /// What it waits for; nil once it was started.
    public var wait: RunState.Wait? {
        if case .waiting(let wait) = state { wait } else { nil }
    }

    /// The checks of its condition; nil before the first one.
    public internal(set) var condition: ConditionWait? {
        get { boxedCondition?.wrappedValue }
        set { boxedCondition = newValue.map { Boxed(wrappedValue: $0) } }
    }

    /// Whether it was started and has not ended, so that it may have a process.
    var isActive: Bool { wait == nil && state.takesPlace }

    /// When its process started, on the wall clock; nil while that is not known.
    public var began: WallInstant? { state.began }

    /// Gives it its place in the order of those that wait for `max-concurrent`: behind all others. A run
    /// that has a condition keeps it while it waits for that.
    mutating func takeTicket(after last: inout UInt64) {
        switch state {
        case .waiting(.capacity) where ticket > 0 && condition != nil: return
        case .waiting(.check) where ticket > 0: return
        case .waiting(.capacity), .waiting(.check):
            last += 1
            ticket = last
        case .waiting(.slot), .waiting(.previousRun), .waiting(.retryDelay),
            .waiting(.catchUpDelay), .waiting(.condition), .starting, .running, .stopping,
            .stoppingAtStart, .ended:
            return
        }
    }

    /// Whether it waits for its delay: of a retry, or of a missed run that is caught up.
    public var isDelayed: Bool { startsAt != nil }

    /// Whether it is a retry whose delay has not passed.
    public var isRetry: Bool { if case .waiting(.retryDelay) = state { true } else { false } }

    /// When it may start, if it waits for its delay.
    var startsAt: AwakeInstant? {
        switch state {
        case .waiting(.retryDelay(let until)), .waiting(.catchUpDelay(let until)): until
        case .waiting, .starting, .running, .stopping, .stoppingAtStart, .ended: nil
        }
    }

    /// Whether it was started, or waits only for slots, `max-concurrent` or its condition.
    public var isStarted: Bool {
        switch state {
        case .waiting(.capacity), .waiting(.slot), .waiting(.check), .waiting(.condition),
            .starting, .running, .stopping, .stoppingAtStart:
            true
        case .waiting(.previousRun), .waiting(.retryDelay), .waiting(.catchUpDelay), .ended: false
        }
    }
}
