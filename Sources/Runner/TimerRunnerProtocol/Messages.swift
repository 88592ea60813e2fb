// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A request to a runner to start a run.
public struct RunRequest: Hashable, Sendable {
    /// The identity of the run, by which all events name it.
    public var id: Run.ID
    /// What it executes, and how.
    public var definition: Definition
    /// How many missed firings this run stands for.
    public var missed: Int
    /// The job's total active time when it fired.
    public var active: Duration
    /// The variables that are set for this run alone. Its definition may not allow them.
    public var variables: RunVariables
    /// What is appended to its command. Its definition may not allow it.
    public var arguments = RunArguments()
    /// The message that it sends; nil for a run of a job.
    public var message: Message?
    /// The run whose condition it checks; nil for any other run.
    package var checked: Run.ID?
    /// What a fleet requires of it; nil for a run of this machine alone.
    public var fleet: FleetStart?
    /// The end of another run that caused it; nil if none did.
    public var chain: Firing.Cause.Chain?
    /// Its program starts no earlier than this.
    public var notBefore = AwakeInstant(nanoseconds: 0)

    /// What a run needs to send a message.
    public struct Message: Hashable, Sendable {
        /// What to send, as the scheduler requested it.
        public var request: MessageRequest
        /// The notifier in the configuration that the runner has read.
        public var notifier: Notifier
        /// The path of the file with the address; nil if it has none.
        public var credential: String?

        public init(_ request: MessageRequest, of notifier: Notifier, credential: String? = nil) {
            self.request = request
            self.notifier = notifier
            self.credential = credential
        }
    }

    /// The request for a run of a job, with what its firing decided.
    public init(_ run: Run) {
        self.init(
            id: run.id, definition: Definition(run.job), missed: run.firing.missed,
            active: run.firing.active, variables: run.firing.cause.variables)
        arguments = run.firing.cause.arguments
        fleet = FleetStart(run.firing.cause)
        chain = run.firing.cause.chain
    }

    /// The request for a run with this definition.
    public init(
        id: Run.ID, definition: Definition, missed: Int, active: Duration,
        variables: RunVariables = RunVariables()
    ) {
        self.variables = variables
        self.id = id
        self.definition = definition
        self.missed = missed
        self.active = active
    }
}

/// What a fleet requires of a run that it gave to this machine.
public struct FleetStart: Hashable, Sendable {
    /// A number that grows with each run of the fleet (`TIMERD_FENCE`).
    public var fence: Int64
    /// If its process is not created before this instant, it is not started at all.
    public var before: BootInstant

    public init(fence: Int64, before: BootInstant) {
        self.fence = fence
        self.before = before
    }

    /// Nil if no fleet made the run.
    init?(_ cause: Firing.Cause) {
        guard let claim = cause.claim else { return nil }
        // Without an instant it is a run of an earlier instance of the daemon: always too late.
        self.init(fence: claim.fence, before: claim.before ?? BootInstant(nanoseconds: 0))
    }
}

/// An event of a runner. For each requested run there is one `ended`; before it, if there was a
/// process, one `began` and then its output. Output of processes that a run left behind may follow
/// its end. A shutdown reports nothing about runs that have not started: they have no record.
public enum RunnerEvent: Hashable, Sendable {
    /// The process of a run started, at this time of the wall clock.
    case began(Run.ID, pid: Int32, at: WallInstant)
    /// A line of its output, without the newline; `isCut` if the line was longer than the limit.
    case output(Run.ID, RunStream, line: [UInt8], isCut: Bool)
    /// The line that a stream has not ended for a moment, without what a carriage return has replaced. It may become
    /// longer; `output` follows with the whole line.
    case unfinished(Run.ID, RunStream, line: [UInt8])
    /// This many lines of its output were dropped here, because it wrote faster than they were
    /// consumed.
    case dropped(Run.ID, lines: Int)
    /// This many lines of its output were dropped since the last such event, because its job
    /// exceeded its line limit.
    case limited(Run.ID, lines: Int)
    /// From here on it is slowed down whenever it writes faster than its output is consumed;
    /// reported once.
    case slowed(Run.ID)
    /// Its process ended, or could not be started.
    case ended(Run.ID, RunEnd)
    /// This many processes were left in the control group of a run after its end, and are being
    /// terminated. The first of them are named, as `sleep (4711), sh (4712)`; they chose these
    /// names themselves, so they can contain any bytes.
    case leftBehind(Run.ID, count: Int, named: [UInt8])

    /// The run that the event is about; each event has one.
    public var run: Run.ID {
        switch self {
        case .began(let run, _, _), .output(let run, _, _, _), .dropped(let run, _),
            .limited(let run, _), .slowed(let run), .ended(let run, _),
            .leftBehind(let run, _, _), .unfinished(let run, _, _):
            run
        }
    }
}

/// How a run ended, and its resource usage and output.
public struct RunEnd: Hashable, Sendable {
    /// How it ended. Whether that is a failure is decided by the scheduler.
    public var outcome: RunOutcome
    /// The resources that it used; zero if it had no process.
    public var usage: RunUsage
    /// When it ended, by the wall clock.
    public var at: WallInstant
    /// The last part of its output, of both streams.
    public var tail: [UInt8]

    /// By default without usage and without output.
    public init(
        _ outcome: RunOutcome, _ usage: RunUsage = RunUsage(), at: WallInstant, tail: [UInt8] = []
    ) {
        self.outcome = outcome
        self.usage = usage
        self.at = at
        self.tail = tail
    }
}

/// An output stream of a process, by its descriptor.
public enum RunStream: UInt8, Hashable, Sendable {
    case stdout = 1
    case stderr = 2
}
