// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The daemon from one start to its end.
public enum Life {
    /// Lives are numbered in the order of their starts, from 1.
    public typealias ID = Int64
}

/// The sign of life a running daemon leaves at least once a second while some job's time counts. It lies
/// in the runtime directory and costs no fsync: it survives the daemon, not the machine.
public struct Heartbeat: Hashable, Sendable {
    /// Whose sign it is.
    public var life: Life.ID
    /// When it was given.
    public var at: Now
    /// What it carries on for earlier instances; nil once the records of this one are stored.
    public var unstored: Unstored?

    /// The generation the database had by then. Not negative.
    public var generation: Int64 = 0

    /// A sign of life.
    public init(life: Life.ID, at: Now, unstored: Unstored? = nil) {
        self.life = life
        self.at = at
        self.unstored = unstored
    }

    /// What is known of the time since the records in the store were written, by a daemon that could not yet
    /// store records of its own. Without it, a daemon that is killed before its first records are stored would
    /// take the last heartbeat of the one before it along.
    public struct Unstored: Hashable, Sendable {
        /// The instance that wrote the records in the store; 0 if none ever did.
        public var storedLife: Life.ID
        /// The last heartbeat of that instance; nil without one.
        public var proven: Now?
        /// The active time that later instances counted, which stored no records. Not negative.
        public var counted: Duration
        /// How many instances that was. At least 1.
        public var instances: Int

        /// What is known, as described.
        public init(storedLife: Life.ID, proven: Now?, counted: Duration, instances: Int) {
            self.storedLife = storedLife
            self.proven = proven
            self.counted = counted
            self.instances = instances
        }

        /// The same, this much active time later.
        public func counting(_ more: Duration) -> Unstored {
            var later = self
            later.counted += more
            return later
        }
    }
}

/// What a daemon that starts finds of the lives before it.
public struct Recollection: Sendable {
    /// The life that begins.
    public var life: Life.ID
    /// The one before it; nil at the very first start.
    public var previous: PreviousLife?
    /// The last heartbeat there is.
    public var heartbeat: Heartbeat?
    /// The records of all jobs the store knows, removed ones included.
    public var records: [JobRecord]
    /// The runs that were recorded and never closed.
    public var openRuns: [OpenRun]
    /// The latest closed run of each job.
    public var lastRuns: [Job.Name: RunSummary]

    /// What was found; by default nothing, as at the very first start.
    public init(
        life: Life.ID, previous: PreviousLife? = nil, heartbeat: Heartbeat? = nil,
        records: [JobRecord] = [], openRuns: [OpenRun] = [], lastRuns: [Job.Name: RunSummary] = [:]
    ) {
        self.life = life
        self.previous = previous
        self.heartbeat = heartbeat
        self.records = records
        self.openRuns = openRuns
        self.lastRuns = lastRuns
    }

    /// A life that is over.
    public struct PreviousLife: Hashable, Sendable {
        /// Its number.
        public var life: Life.ID
        /// When it began.
        public var began: Now
        /// When it ended, if it ended cleanly: all ledgers closed and written.
        public var ended: Now?

        /// A life that is over.
        public init(life: Life.ID, began: Now, ended: Now?) {
            self.life = life
            self.began = began
            self.ended = ended
        }
    }

    /// A run whose row was written and never closed.
    public struct OpenRun: Hashable, Sendable {
        /// The run's identity.
        public var id: Run.ID
        /// The job it belongs to, which may have had another name when the run was recorded.
        public var job: Job.Name
        /// The firing it is an attempt at.
        public var firing: Firing
        /// The boot in which it was recorded.
        public var bootID: BootID
        /// Whether whoever owns the processes ever began it.
        public var wasBegun: Bool
        /// When it was recorded, on the calendar clock.
        public var recorded: WallInstant
        /// Whether it lives still: whoever owns its process outlived the daemon.
        public var isLive: Bool

        /// A run as found.
        public init(
            id: Run.ID, of job: Job.Name? = nil, firing: Firing, bootID: BootID, wasBegun: Bool,
            recorded: WallInstant? = nil, isLive: Bool = false
        ) {
            self.id = id
            self.job = job ?? id.firing.job
            self.firing = firing
            self.bootID = bootID
            self.wasBegun = wasBegun
            self.recorded = recorded ?? id.firing.scheduled
            self.isLive = isLive
        }
    }
}

/// How the life before this one ended, and what that costs.
public enum Ending: Hashable, Sendable {
    /// There was none: nothing is known yet.
    case firstStart
    /// It was told to stop and closed every ledger.
    case clean
    /// It was killed or it crashed; the machine stayed up.
    case killed
    /// The machine went down with it.
    case reboot

    /// The word for it in the journal and JSON.
    public var word: String {
        switch self {
        case .firstStart: "first-start"
        case .clean: "clean-stop"
        case .killed: "killed"
        case .reboot: "reboot"
        }
    }
}

extension Recollection {
    /// The most a job can lose when the daemon is killed: the time from the last heartbeat.
    public static let lossAtKill: Duration = .seconds(1)
    /// The most a job can lose at a power cut: the time from the last checkpoint.
    public static let lossAtPowerCut: Duration = .seconds(30)

    /// How the previous life ended, judged at the start of this one.
    public func ending(at now: Now) -> Ending {
        guard let previous else { return .firstStart }
        if previous.ended != nil, !hasUnstoredLife { return .clean }
        return lastSign(of: previous).bootID == now.bootID ? .killed : .reboot
    }

    /// The last reading of the clocks at which the life is known to have been alive.
    func lastSign(of previous: PreviousLife) -> Now {
        if let heartbeat, hasUnstoredLife { return heartbeat.at }
        if let ended = previous.ended { return ended }
        var last = previous.began
        if let heartbeat, heartbeat.life == previous.life { last = heartbeat.at }
        for record in records where record.life == previous.life {
            if record.at.bootID == last.bootID, record.at.awake > last.awake { last = record.at }
        }
        return last
    }

    /// Whether a later instance than the one on record was running, and ended before it stored anything.
    private var hasUnstoredLife: Bool {
        guard let heartbeat, let unstored = heartbeat.unstored else { return false }
        return unstored.storedLife == previous?.life ?? 0
    }

    /// What the heartbeats of the instance that begins now have to carry until its records are stored.
    public func unstored() -> Heartbeat.Unstored {
        let storedLife = previous?.life ?? 0
        guard let heartbeat else {
            return Heartbeat.Unstored(
                storedLife: storedLife, proven: nil, counted: .zero, instances: 1)
        }
        if var unstored = heartbeat.unstored, unstored.storedLife == storedLife {
            unstored.instances += 1
            return unstored
        }
        return Heartbeat.Unstored(
            storedLife: storedLife, proven: heartbeat.life == storedLife ? heartbeat.at : nil,
            counted: .zero, instances: 1)
    }

    /// The last heartbeat of the instance that took a record; nil without one.
    private func proof(of record: JobRecord) -> Now? {
        guard let heartbeat else { return nil }
        if heartbeat.life == record.life { return heartbeat.at }
        guard let unstored = heartbeat.unstored, unstored.storedLife == record.life else {
            return nil
        }
        return unstored.proven
    }

    /// The instances after the one that took a record, as far as they stored none.
    private func later(than record: JobRecord) -> Heartbeat.Unstored? {
        heartbeat?.unstored.flatMap { $0.storedLife == record.life ? $0 : nil }
    }

    /// Whether the time since a record was taken may count. After a clean stop nothing counts until the next
    /// instance begins; if that one ended before it stored a record, its time is known by its heartbeat alone.
    func mayCount(_ record: JobRecord) -> Bool {
        guard record.removed == nil else { return false }
        guard !record.isCounting else { return true }
        return record.phase == .armed && record.basis == .active && later(than: record) != nil
    }

    /// What counted since a record was taken, by its basis of time. Only a heartbeat of the same instance and boot
    /// is proof that its time went on counting; what later instances counted without saving it comes on top.
    func credit(for record: JobRecord, at now: Now) -> Credit {
        guard mayCount(record) else { return Credit() }
        let later = later(than: record)
        var lossBound = Self.lossAtKill * (later?.instances ?? 0)
        var lastProven: Now?
        if record.isCounting {
            lastProven = proof(of: record).flatMap { $0.bootID == record.at.bootID ? $0 : nil }
            lossBound += lastProven == nil ? Self.lossAtPowerCut : Self.lossAtKill
        }
        return Credit(
            record.basis, since: record.at, lastProven: lastProven, later: later?.counted ?? .zero,
            at: now, lossBound: lossBound)
    }
}
