// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a machine knows of a job that a fleet shares, to be shown.
public struct FleetJobView: Hashable, Sendable {
    /// A run of the job as the fleet keeps it, on this or on another machine.
    public struct MachineRun: Hashable, Sendable {
        public var run: Run.ID
        /// The machine that has it, or that skipped it.
        public var machine: MachineName
        /// How far it is: `requested`, `claimed`, `began`, `ended`, `skipped`, `unstarted` or `lost`.
        public var state: String
        /// How it ended; nil while it is active.
        public var outcome: RunOutcome?
        /// When its process started, by the wall clock of its machine; nil if it did not or that is
        /// not known.
        public var began: WallInstant?
        /// When it ended or was skipped, by the wall clock of a machine; nil while it is active.
        public var ended: WallInstant?
        /// Whether it failed, by the exit codes that the job counts as success.
        public var hasFailed = false
        /// How many earlier firings it accounts for as well, and when the first of them was due. Not
        /// negative.
        public var missed = 0
        public var first: WallInstant?
        /// Why it was skipped; nil if it was not.
        public var skipReason: SkipKind?

        /// A run without an end. The other properties are set afterwards.
        public init(run: Run.ID, machine: MachineName, state: String) {
            self.run = run
            self.machine = machine
            self.state = state
        }
    }

    /// The pause of the job in the whole fleet; nil if it is not paused.
    public var pause: Pause?
    /// When the next firing is due if nothing changes until then; nil during a pause.
    public var next: WallInstant?
    /// The active time in total, and since the last firing, at `countedAt`.
    public var active: Duration
    public var accrued: Duration
    /// When these were read, while the time counts; nil while it does not.
    public var countedAt: AwakeInstant?
    /// How many firings there were, and how many of the next ones are skipped. Not negative.
    public var firings: Int
    public var skips: Int
    /// The runs on all machines that have not ended.
    public var live: [MachineRun]
    /// The latest run that is not in `live`; nil if the fleet keeps none.
    public var last: MachineRun?
    /// Whether the fleet has another definition of the job than this machine, so that this machine
    /// does not start it.
    public var isDrifted: Bool
    /// Whether this machine has no connection to the fleet, so that all this may have changed.
    public var isStale = false
    /// Why what the fleet has of the job cannot be read here, so that this machine does not start it; nil
    /// if it can.
    public var fault: String?
    /// Up to when all that is due counts as started or skipped, if that is in the future: the clock of a
    /// machine was ahead, or that of this one is behind.
    public var accountedUntil: WallInstant?
    /// Since when the whole fleet is held, and who holds it; nil if it is not.
    public var hold: Pause?
    /// The machines that may start the job, the first one first; nil if they are not looked up.
    public var machines: [MachineName]?

    /// A view of a machine with a connection to the fleet.
    public init(
        pause: Pause? = nil, next: WallInstant? = nil, active: Duration, accrued: Duration,
        countedAt: AwakeInstant? = nil, firings: Int, skips: Int, live: [MachineRun] = [],
        last: MachineRun? = nil, isDrifted: Bool = false
    ) {
        self.pause = pause
        self.next = next
        self.active = active
        self.accrued = accrued
        self.countedAt = countedAt
        self.firings = firings
        self.skips = skips
        self.live = live
        self.last = last
        self.isDrifted = isDrifted
    }
}

extension JobSnapshot {
    /// Shows the job as the fleet knows it. Its runs are those of this machine.
    ///
    /// - Parameter view: nil if this machine does not know it yet.
    public mutating func show(_ view: FleetJobView?) {
        fleet = view
        next = nil
        remaining = nil
        guard let view else { return }
        if let pause = view.pause { phase = .paused(pause) }
        let passed = view.countedAt.map { max(.zero, at.awake - $0) } ?? .zero
        active = view.active + passed
        accrued = view.accrued + passed
        next = view.isStale ? nil : view.next.flatMap { upcoming($0) }
        remaining = next.map { max(.zero, $0 - at.wall) }
        firings = view.firings
        skips = view.skips
    }

    /// The next run as of now. What is known of the fleet changes only when something happens, and nothing
    /// does while no machine may start the job.
    private func upcoming(_ known: WallInstant) -> WallInstant? {
        guard known < at.wall else { return known }
        guard case .wall(let schedule) = job.schedule else { return at.wall }
        return schedule.next(after: at.wall)
    }
}
