// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What a runner is asked to start: everything it needs to know of a run, and nothing else.
public struct RunRequest: Hashable, Sendable {
    /// Which run.
    public var id: Run.ID
    /// What it executes, and how.
    public var definition: Definition
    /// How many firings are folded into it.
    public var missed: Int
    /// The job's active time in all.
    public var active: Duration

    /// What to start for a run.
    public init(_ run: Run) {
        self.init(
            id: run.id, definition: Definition(run.job), missed: run.firing.missed,
            active: run.firing.active)
    }

    /// What to start for a run of this definition.
    public init(id: Run.ID, definition: Definition, missed: Int, active: Duration) {
        self.id = id
        self.definition = definition
        self.missed = missed
        self.active = active
    }
}

/// What a runner tells. For each run it was asked to start there is one `ended`; before it, if there was a
/// process, one `began` and then its lines. Output of what a run left behind may follow its end. Of runs
/// that a shutdown finds still waiting for their start nothing is told: they have no mark.
public enum RunnerEvent: Hashable, Sendable {
    /// The process of a run started, at this time of the calendar clock.
    case began(Run.ID, pid: Int32, at: WallInstant)
    /// A line of its output, without the newline; `isCut` if the line went on beyond the limit.
    case output(Run.ID, RunStream, line: [UInt8], isCut: Bool)
    /// So many lines of its output are lost here: it wrote faster than they were taken.
    case dropped(Run.ID, lines: Int)
    /// So many lines of its output are lost since the latest of these: its job had written as many as it may within
    /// a span of time.
    case limited(Run.ID, lines: Int)
    /// It is slowed down from here on, whenever it writes faster than its lines are taken; told once.
    case slowed(Run.ID)
    /// A run ended.
    case ended(Run.ID, RunEnd)
    /// So many processes were left in the control group of a run when it had ended, and are ended now. The first of
    /// them are named, as `sleep (4711), sh (4712)`; they gave themselves these names, in any bytes.
    case leftBehind(Run.ID, count: Int, named: [UInt8])

    /// Whose event it is.
    public var run: Run.ID {
        switch self {
        case .began(let run, _, _), .output(let run, _, _, _), .dropped(let run, _),
            .limited(let run, _), .slowed(let run), .ended(let run, _),
            .leftBehind(let run, _, _):
            run
        }
    }
}

/// How a run ended, and everything that is known of it then.
public struct RunEnd: Hashable, Sendable {
    /// How it ended.
    public var outcome: RunOutcome
    /// What it used.
    public var usage: RunUsage
    /// When, by the calendar clock.
    public var at: WallInstant
    /// The last of what it wrote, on both streams.
    public var tail: [UInt8]

    /// An end as described.
    public init(
        _ outcome: RunOutcome, _ usage: RunUsage = RunUsage(), at: WallInstant, tail: [UInt8] = []
    ) {
        self.outcome = outcome
        self.usage = usage
        self.at = at
        self.tail = tail
    }
}

/// Where a process wrote something.
public enum RunStream: UInt8, Hashable, Sendable {
    /// Descriptor 1.
    case stdout = 1
    /// Descriptor 2.
    case stderr = 2
}
