// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerJSON

/// What all machines share about a job, at `job/<name>`. Each change compares the revision of the
/// last one, so the changes of a job are one sequence.
public struct JobValue: FleetValue {
    /// A pause of the job.
    public struct Pause: FleetValue {
        /// Since when, by the wall clock of the machine that wrote it.
        public var since: WallInstant
        /// When it ends by itself; nil: only when a user resumes the job.
        public var until: WallInstant?
        /// Who paused the job.
        public var by: String
        /// The reason that the user gave.
        public var note: String?
        /// Whether the active runs are suspended as well, on all machines.
        public var withRun: Bool
        /// Whether it is the pause of a template, which ends when that of the template does.
        public var isOfTemplate: Bool

        /// Creates a value.
        public init(
            since: WallInstant, until: WallInstant? = nil, by: String, note: String? = nil,
            withRun: Bool = false, isOfTemplate: Bool = false
        ) {
            self.since = since
            self.until = until
            self.by = by
            self.note = note
            self.withRun = withRun
            self.isOfTemplate = isOfTemplate
        }

        public init(reading fields: inout FleetFields) throws(FleetFault) {
            since = try fields.wall("since_us")
            until = try fields.optionalWall("until_us")
            by = try fields.text("by")
            note = try fields.optionalText("note")
            withRun = try fields.flag("with_run")
            isOfTemplate = fields.has("of_template") ? try fields.flag("of_template") : false
        }

        public var members: [String: JSONValue?] {
            [
                "since_us": since.json, "until_us": until?.json, "by": .string(by),
                "note": note.map { .string($0) }, "with_run": .boolean(withRun),
                "of_template": isOfTemplate ? .boolean(true) : nil,
            ]
        }
    }

    /// A run that has not ended.
    public struct LiveRun: FleetValue {
        /// The run.
        public var run: Run.ID
        /// The machine that claimed it.
        public var machine: MachineName
        /// The start of the daemon that claimed it, or recovered it.
        public var incarnation: Incarnation
        /// `claimed` or `began`.
        public var state: RunValue.State

        /// Creates a value.
        public init(
            run: Run.ID, machine: MachineName, incarnation: Incarnation, state: RunValue.State
        ) {
            self.run = run
            self.machine = machine
            self.incarnation = incarnation
            self.state = state
        }

        public init(reading fields: inout FleetFields) throws(FleetFault) {
            run = try fields.parsed("run", Run.ID.init)
            machine = try fields.parsed("machine", MachineName.init)
            incarnation = try fields.parsed("inc", Incarnation.init)
            state = try fields.parsed("state", RunValue.State.init(rawValue:))
            guard !state.isFinal else { throw FleetFault("a live run cannot be \(state.rawValue)") }
        }

        public var members: [String: JSONValue?] {
            [
                "run": .string(run.description), "machine": .string(machine.description),
                "inc": .string(incarnation.description), "state": .string(state.rawValue),
            ]
        }
    }

    /// The definition of a job that was forgotten: no hash is empty.
    static let forgotten = ""

    /// The definition of a template, which has only the pause of the jobs of all machines.
    static let templateDefinition = "template"

    /// Whether it is a template.
    public var isTemplate: Bool { definition == Self.templateDefinition }

    /// Whether the job was forgotten: only its cursor is kept.
    public var isForgotten: Bool { definition == Self.forgotten }

    /// The hash of the definition that applies. Machines with another one do not start the job.
    public var definition: String
    /// The template of a job that one machine runs for itself.
    public var template: Job.Name?
    /// The pause; nil while the job is armed.
    public var pause: Pause?
    /// The last scheduled instant that is accounted for. It never becomes smaller, so no slot is
    /// claimed twice.
    public var cursor: WallInstant
    /// How many firings there were. Not negative.
    public var firings: Int64
    /// Which time counts, by the definition that applies; `active` for a job without an interval.
    public var basis: FleetBasis
    /// The total time that counted, up to `opened`. Not negative.
    public var active: Duration
    /// The time that counted since the last grid point, up to `opened`. Not negative.
    public var accrued: Duration
    /// The reading since which time counts, of the clock of `basis`; nil while it does not. Not negative.
    public var opened: Duration?
    /// The number of the opening of the fleet clock by which time last began to count; 0 if it never
    /// did. Only a machine that knows this opening may count the time.
    public var opening: Int64
    /// How many of the next firings are to be skipped. Not negative.
    public var skips: Int64
    /// The runs that have not ended.
    public var live: [LiveRun]
    /// While a store recovers: the point from which this was brought back.
    public var recovered: FleetPoint?

    /// Creates a value.
    public init(
        definition: String, cursor: WallInstant, pause: Pause? = nil, firings: Int64 = 0,
        basis: FleetBasis = .active, active: Duration = .zero, accrued: Duration = .zero,
        opened: Duration? = nil,
        opening: Int64 = 0, skips: Int64 = 0, live: [LiveRun] = []
    ) {
        self.definition = definition
        self.cursor = cursor
        self.pause = pause
        self.firings = firings
        self.basis = basis
        self.active = active
        self.accrued = accrued
        self.opened = opened
        self.opening = opening
        self.skips = skips
        self.live = live
    }

    public init(reading fields: inout FleetFields) throws(FleetFault) {
        definition = try fields.text("def")
        template = fields.has("template") ? try fields.parsed("template", { Job.Name($0) }) : nil
        let phase = try fields.text("phase")
        pause = fields.has("pause") ? try Pause(json: try fields.take("pause")) : nil
        guard phase == (pause == nil ? "armed" : "paused") else {
            throw FleetFault("'phase' must be \"armed\", or \"paused\" with a pause")
        }
        cursor = try fields.wall("cursor_us")
        firings = try fields.count("firings")
        basis =
            fields.has("count")
            ? try fields.parsed("count", FleetBasis.init(rawValue:)) : .active
        active = try fields.span("active_ns")
        accrued = try fields.span("accrued_ns")
        opened = fields.has("opened_t") ? try fields.span("opened_t") : nil
        opening = try fields.count("opening")
        skips = try fields.count("skips")
        live = []
        for entry in try fields.array("live") { live.append(try LiveRun(json: entry)) }
        recovered = try fields.optionalPoint("recovered")
    }

    public var members: [String: JSONValue?] {
        [
            "def": .string(definition), "template": template.map { .string($0.description) },
            "phase": .string(pause == nil ? "armed" : "paused"),
            "pause": pause?.json, "cursor_us": cursor.json, "firings": .integer(firings),
            "count": basis == .active ? nil : .string(basis.rawValue), "active_ns": active.json,
            "accrued_ns": accrued.json, "opened_t": opened?.json, "opening": .integer(opening),
            "skips": .integer(skips), "live": .array(live.map(\.json)),
            "recovered": recovered.map { .integer($0.number) },
        ]
    }
}

/// For the rule about overlap. A run counts as started from its request or claim on: another machine may
/// start it at any moment.
extension JobValue.LiveRun: OtherRun {
    public var id: Run.ID { run }
    /// The next attempt is claimed when its delay has passed, so none is there before.
    public var isDelayed: Bool { false }
    public var isRetry: Bool { false }
    public var isStarted: Bool { true }
    public var isQueued: Bool { false }
}
