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

    /// A sign of life.
    public init(life: Life.ID, at: Now) {
        self.life = life
        self.at = at
    }
}

/// What a daemon that starts finds of the lives before it.
public struct Recollection: Sendable {
    /// The life that begins.
    public var life: Life.ID
    /// The one before it; nil at the very first start.
    public var previous: PreviousLife?
    /// The last sign of life there is.
    public var heartbeat: Heartbeat?
    /// The records of all jobs the store knows, removed ones included.
    public var records: [JobRecord]
    /// The runs that were recorded and never closed.
    public var openRuns: [OpenRun]
    /// The latest closed run of each job.
    public var lastRuns: [RunSummary]

    /// What was found; by default nothing, as at the very first start.
    public init(
        life: Life.ID, previous: PreviousLife? = nil, heartbeat: Heartbeat? = nil,
        records: [JobRecord] = [], openRuns: [OpenRun] = [], lastRuns: [RunSummary] = []
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
            id: Run.ID, firing: Firing, bootID: BootID, wasBegun: Bool,
            recorded: WallInstant? = nil, isLive: Bool = false
        ) {
            self.id = id
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
        if previous.ended != nil { return .clean }
        return lastSign(of: previous).bootID == now.bootID ? .killed : .reboot
    }

    /// The last reading of the clocks at which the life is known to have been alive.
    func lastSign(of previous: PreviousLife) -> Now {
        if let ended = previous.ended { return ended }
        var last = previous.began
        if let heartbeat, heartbeat.life == previous.life { last = heartbeat.at }
        for record in records where record.life == previous.life {
            if record.at.bootID == last.bootID, record.at.awake > last.awake { last = record.at }
        }
        return last
    }

    /// What counted since a record was taken, by its basis of time. Only a heartbeat of the same life and boot
    /// is proof that its time went on counting.
    func credit(for record: JobRecord, at now: Now) -> Credit {
        guard record.isCounting else { return Credit() }
        var lastProven: Now?
        if let heartbeat, heartbeat.life == record.life, heartbeat.at.bootID == record.at.bootID {
            lastProven = heartbeat.at
        }
        return Credit(
            record.basis, since: record.at, lastProven: lastProven, at: now,
            lossBound: lastProven == nil ? Self.lossAtPowerCut : Self.lossAtKill)
    }
}
