// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What a member remembers: of the store, of its runs before this start of the daemon, and what users
/// requested of this machine.
struct MemberMemory {
    /// How often the fleet clock is remembered at least while it is written.
    private static let clockInterval = Duration.seconds(30)

    /// What was seen of the store.
    private(set) var known: IdentityGuard
    /// Whether a user drained this machine.
    private(set) var isDrained: Bool
    /// Whether a user holds this machine with all of its jobs, which the scheduler remembers.
    private(set) var isHeldHere = false
    /// Whether this machine starts no runs because a user says so.
    var startsNothing: Bool { isDrained || isHeldHere }
    /// What this machine can bring back, while the store recovers after an adoption.
    private(set) var recovery: FleetRecovery?
    /// What the runner knows of the runs of this boot.
    private var registry: [Run.ID: FleetMemory.RunnerState]
    /// When the fleet clock was last remembered.
    private var clockRemembered: AwakeInstant?

    init(_ found: FleetMemory) {
        known = found.known
        isDrained = found.isDrained
        registry = found.registry
    }

    /// Drains this machine, or ends that.
    mutating func drain(_ isDrained: Bool) { self.isDrained = isDrained }

    /// Notes that a user holds this machine, or has released it.
    mutating func hold(_ isHeld: Bool) { isHeldHere = isHeld }

    // MARK: - The store

    /// Another store is the known one from now on.
    mutating func forget() { known = IdentityGuard() }

    /// See `IdentityGuard.distrust`.
    mutating func distrust() -> Bool { known.distrust() }

    /// All of the store was read.
    mutating func see(cluster: String, identity: IdentityValue, _ seen: SeenValues) {
        known.see(cluster: cluster, identity: identity, seen)
    }

    /// Some of it was read, and with it the fleet clock.
    mutating func merge(_ more: SeenValues, at now: AwakeInstant) {
        clockRemembered = now
        known.seen.merge(more)
    }

    /// Whether the fleet clock must be remembered.
    func isClockOld(at now: AwakeInstant) -> Bool {
        clockRemembered.map { now >= $0 + Self.clockInterval } ?? true
    }

    // MARK: - Runs

    /// What the runner knows of a run; nil: nothing.
    func state(of run: Run.ID) -> FleetMemory.RunnerState? { registry[run] }

    /// Keeps what the runner reports. A store that is restored may have the run as live again, and
    /// what the runner knew when the daemon started says then that it still runs.
    mutating func note(_ run: Run.ID, _ state: FleetMemory.RunnerState) {
        if case .ended = registry[run] { return }
        registry[run] = state
    }

    /// The store has the end of the run.
    mutating func forget(_ run: Run.ID) { registry[run] = nil }

    // MARK: - Recovery

    /// A store that recovers was read, with what this machine can bring back; nil: it does not recover.
    mutating func recover(_ new: FleetRecovery?) { recovery = new }

    /// Something was brought back into the store at this revision. It may be read again later.
    mutating func noteRecovery(_ revision: Int64, at now: BootInstant) {
        recovery?.note(revision, at: now)
    }

    /// Answers may have been lost, or what others brought back: the recovery takes that much longer.
    mutating func delayRecovery(from now: BootInstant) { recovery?.delay(from: now) }

    /// Whether the store that recovers has a hold because no machine remembers anything.
    mutating func noteHold(isUnremembered: Bool) {
        recovery?.noteHold(isUnremembered: isUnremembered)
    }
}

/// What a machine can bring back into a store that was adopted: what it remembers of the one before it.
struct FleetRecovery {
    /// What it was, and at which point of the history.
    struct Value<Content> {
        var content: Content
        var point: FleetPoint
    }

    /// The number of the adoption.
    let epoch: Int64
    /// The jobs, with the time counted until this machine last had a connection to the store, and none from
    /// then on: others may have paused the job or held the fleet after that.
    let jobs: [Job.Name: Value<JobValue>]
    let hold: Value<HoldValue>?
    /// When something was last brought back, by this machine or another one.
    private(set) var quietSince: BootInstant
    /// The last revision at which that was.
    private var written: Int64 = 0
    /// Whether the fleet was held because no machine remembers anything.
    private(set) var isUnremembered = false

    init(
        epoch: Int64, jobs: [Job.Name: Value<JobValue>], hold: Value<HoldValue>?,
        at now: BootInstant
    ) {
        self.epoch = epoch
        self.jobs = jobs
        self.hold = hold
        quietSince = now
    }

    mutating func note(_ revision: Int64, at now: BootInstant) {
        guard revision > written else { return }
        (written, quietSince) = (revision, now)
    }

    mutating func delay(from now: BootInstant) { quietSince = now }

    mutating func noteHold(isUnremembered: Bool) { self.isUnremembered = isUnremembered }
}
