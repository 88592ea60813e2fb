// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Where a run is between the moment it is recorded and its end. `RunState.after` has every step from one state to the
/// next; docs/ARCHITECTURE.md draws them.
public enum RunState: Hashable, Sendable {
    /// It is recorded and was not told to start.
    case waiting(Wait)
    /// It was told to start. Its process is not known to run: its row may not even be written yet.
    case starting
    /// Its process runs, since this time of the wall clock.
    case running(since: WallInstant)
    /// It is being ended, and this is recorded as its outcome, however it ends. Nil: it is not known to have started.
    case stopping(RunOutcome, since: WallInstant?)
    /// It is ended as soon as its process runs: when that was requested, its row was not written yet.
    case stoppingAtStart(RunOutcome)
    /// It ended, or was cancelled before it started.
    case ended(RunOutcome)

    /// What a recorded run can wait for.
    public enum Wait: Hashable, Sendable {
        /// For `max-concurrent`.
        case capacity
        /// For the end of the job's previous run, or of a pause.
        case previousRun
        /// For the delay before a further attempt to pass, or for the end of a pause.
        case retryDelay(until: AwakeInstant)
    }
}

/// What can happen to a run.
enum RunTransition {
    /// It has to wait for this.
    case wait(RunState.Wait)
    /// It is told to start, by what was decided at the event of this number.
    case start(event: UInt64)
    /// Its process started. This may be reported late, and twice.
    case begin(at: WallInstant)
    /// It has to end, with this outcome. Nothing can be ended yet if it is not known to be on record.
    case stop(RunOutcome, isRecorded: Bool)
    /// Its process ended, or could not be made.
    case end(RunOutcome)
    /// It is not made: it was never started.
    case cancel(RunOutcome)
}

extension RunState {
    /// The state after this happened; nil if it cannot happen in this state: then nothing changes.
    func after(_ transition: RunTransition) -> RunState? {
        switch (self, transition) {
        case (.waiting, .wait(let wait)): .waiting(wait)
        case (.waiting, .start): .starting
        case (.waiting, .cancel(let outcome)): .ended(outcome)
        case (.waiting, .begin), (.waiting, .stop), (.waiting, .end): nil

        // A run whose row was written late was not started after all: it starts now, or waits, or it is too late.
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

    /// Whether it counts for `max-concurrent`: it was told to start and has not ended.
    var takesPlace: Bool {
        switch self {
        case .starting, .running, .stopping, .stoppingAtStart: true
        case .waiting, .ended: false
        }
    }

    /// Whether it is to end already.
    var isStopping: Bool {
        switch self {
        case .stopping, .stoppingAtStart: true
        case .waiting, .starting, .running, .ended: false
        }
    }
}

/// A run that has not ended.
public struct ActiveRun: Hashable, Sendable {
    /// Which run.
    public internal(set) var id: Run.ID
    /// Where it is.
    public internal(set) var state: RunState
    /// What it is an attempt at. The job has its name of now, which the identity of a run that was started keeps not.
    var firing: Firing
    /// The job as it was when it fired, under its name of now. Nil for a run of a former instance whose job the
    /// configuration does not name any more.
    var job: Boxed<Job>?
    /// The number of the event that put it on record, or that told it to start; 0 if an earlier instance did.
    var event: UInt64 = 0

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

    /// What it waits for; nil once it was told to start.
    public var wait: RunState.Wait? {
        if case .waiting(let wait) = state { wait } else { nil }
    }

    /// When its process started, on the wall clock; nil while that is not known.
    public var began: WallInstant? { state.began }

    /// Whether it is a further attempt whose delay has not passed.
    public var isRetry: Bool { retryAt != nil }

    /// When it may start, if it is a further attempt whose delay has not passed.
    var retryAt: AwakeInstant? {
        if case .waiting(.retryDelay(let until)) = state { until } else { nil }
    }

    /// Whether it was told to start, or waits for `max-concurrent` alone.
    public var isStarted: Bool {
        switch state {
        case .waiting(.capacity), .starting, .running, .stopping, .stoppingAtStart: true
        case .waiting(.previousRun), .waiting(.retryDelay), .ended: false
        }
    }
}
