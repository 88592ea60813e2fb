// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One instance of the daemon, from its start to its end.
public enum DaemonInstance {
    /// Instances are numbered in the order of their starts, from 1.
    public typealias ID = Int64
}

/// The heartbeat that a running daemon writes at least once a second while the time of any job
/// counts. It is a file in the runtime directory that is written without fsync: it survives a crash
/// of the daemon, but not of the machine.
public struct Heartbeat: Hashable, Sendable {
    /// The instance that wrote it, which may be older than the one that reads it.
    public var instance: DaemonInstance.ID
    /// The clocks when it was written: the instance was running then.
    public var at: Now
    /// What it repeats for earlier instances; nil when the records of this instance are stored.
    public var unstored: Unstored?

    /// The generation of the database at that time. Not negative.
    public var generation: Int64 = 0

    public init(instance: DaemonInstance.ID, at: Now, unstored: Unstored? = nil) {
        self.instance = instance
        self.at = at
        self.unstored = unstored
    }

    /// What is known about the time since the records in the store were written. It is needed while
    /// a daemon has not stored records of its own yet: if it was killed in that state, the
    /// heartbeat of the instance before it would be lost without this copy.
    public struct Unstored: Hashable, Sendable {
        /// The instance that wrote the records in the store; 0 if there is none.
        public var storedInstance: DaemonInstance.ID
        /// The last heartbeat of that instance; nil if there is none.
        public var proven: Now?
        /// The active time that was counted by later instances, which stored no records. Not
        /// negative.
        public var counted: Duration
        /// The number of these later instances. At least 1.
        public var instances: Int

        public init(
            storedInstance: DaemonInstance.ID, proven: Now?, counted: Duration, instances: Int
        ) {
            self.storedInstance = storedInstance
            self.proven = proven
            self.counted = counted
            self.instances = instances
        }

        /// The same, with this much more active time.
        public func counting(_ more: Duration) -> Unstored {
            var later = self
            later.counted += more
            return later
        }
    }
}

/// The state that a starting daemon recovers from the instances before it.
public struct RecoveredState: Sendable {
    /// The instance that starts.
    public var instance: DaemonInstance.ID
    /// The previous instance; nil at the very first start.
    public var previous: PreviousInstance?
    /// The last heartbeat; nil if there is none.
    public var heartbeat: Heartbeat?
    /// The records of all jobs in the store, including removed jobs.
    public var records: [JobRecord]
    /// The runs that were recorded and not closed.
    public var openRuns: [OpenRun]
    /// The latest closed run of each job.
    public var lastRuns: [Job.Name: RunSummary]
    /// When runs of these jobs last succeeded, if that was after the job's record was taken.
    public var lastSuccesses: [Job.Name: WallInstant]
    /// What was skipped latest of each job of which something was, except for firings that were too
    /// late for their deadline.
    public var lastSkips: [Job.Name: LastSkip]
    /// The incidents that are not over.
    public var incidents: [IncidentRecord]
    /// The hold of the machine; nil if it is not held.
    public var hold: MachineHold?
    /// Whether the store contained invalid values.
    public var isDamaged: Bool
    /// Whether this is an older state than the last one, such as that of a copy: what happened since
    /// is not known.
    public var isRestored: Bool

    /// Creates a recovered state; by default an empty one, as at the very first start.
    public init(
        instance: DaemonInstance.ID, previous: PreviousInstance? = nil, heartbeat: Heartbeat? = nil,
        records: [JobRecord] = [], openRuns: [OpenRun] = [], lastRuns: [Job.Name: RunSummary] = [:],
        lastSuccesses: [Job.Name: WallInstant] = [:], lastSkips: [Job.Name: LastSkip] = [:],
        incidents: [IncidentRecord] = [], hold: MachineHold? = nil, isDamaged: Bool = false,
        isRestored: Bool = false
    ) {
        self.hold = hold
        self.instance = instance
        self.previous = previous
        self.heartbeat = heartbeat
        self.records = records
        self.openRuns = openRuns
        self.lastRuns = lastRuns
        self.lastSuccesses = lastSuccesses
        self.lastSkips = lastSkips
        self.incidents = incidents
        self.isDamaged = isDamaged
        self.isRestored = isRestored
    }

    /// An instance that has ended.
    public struct PreviousInstance: Hashable, Sendable {
        /// Its number in the order of starts.
        public var instance: DaemonInstance.ID
        /// The clocks when it started. Its boot can be compared with the current one.
        public var began: Now
        /// When it ended, if it stopped cleanly: all ledgers were closed and written.
        public var ended: Now?

        public init(instance: DaemonInstance.ID, began: Now, ended: Now?) {
            self.instance = instance
            self.began = began
            self.ended = ended
        }
    }

    /// A run whose row was written and not closed.
    public struct OpenRun: Hashable, Sendable {
        /// The identity, with the name of the job when the run was recorded.
        public var id: Run.ID
        /// The job it belongs to. The job may have had another name when the run was recorded.
        public var job: Job.Name
        /// The firing that the run is an attempt at.
        public var firing: Firing
        /// The boot in which it was recorded: a process of another boot cannot be running.
        public var bootID: BootID
        /// Whether its start was recorded. Its start may have been sent to a runner then, so it never
        /// starts again, whatever the runner knows about it. Otherwise it waited, and no runner ever
        /// heard of it.
        public var isReleased: Bool
        /// When it was recorded, by the wall clock.
        public var recorded: WallInstant
        /// Whether the runner still has it: its process is running, or its end was not reported yet.
        public var isLive: Bool

        /// By default a run of the job that its identity names.
        public init(
            id: Run.ID, of job: Job.Name? = nil, firing: Firing, bootID: BootID, isReleased: Bool,
            recorded: WallInstant? = nil, isLive: Bool = false
        ) {
            self.id = id
            self.job = job ?? id.firing.job
            self.firing = firing
            self.bootID = bootID
            self.isReleased = isReleased
            self.recorded = recorded ?? id.firing.scheduled
            self.isLive = isLive
        }
    }
}

/// How the previous instance ended, which determines how much time may be lost.
public enum PreviousExit: Hashable, Sendable {
    /// There was no previous instance.
    case firstStart
    /// It was asked to stop and closed all ledgers.
    case clean
    /// It was killed or it crashed, but the machine kept running.
    case killed
    /// The machine was restarted or lost power.
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

extension RecoveredState {
    /// The most that a job can lose when the daemon is killed: the time since the last heartbeat.
    public static let lossAtKill: Duration = .seconds(1)
    /// The most that a job can lose when the power fails: the time since the last checkpoint.
    public static let lossAtPowerCut: Duration = .seconds(30)

    /// How the previous instance ended, as seen at the start of this one.
    public func previousExit(at now: Now) -> PreviousExit {
        guard let previous else { return .firstStart }
        if previous.ended != nil, !hasUnstoredInstance { return .clean }
        return lastHeartbeat(of: previous).bootID == now.bootID ? .killed : .reboot
    }

    /// The last reading of the clocks at which the instance was certainly running.
    func lastHeartbeat(of previous: PreviousInstance) -> Now {
        if let heartbeat, hasUnstoredInstance { return heartbeat.at }
        if let ended = previous.ended { return ended }
        var last = previous.began
        if let heartbeat, heartbeat.instance == previous.instance { last = heartbeat.at }
        for record in records where record.instance == previous.instance {
            if record.at.bootID == last.bootID, record.at.awake > last.awake { last = record.at }
        }
        return last
    }

    /// Whether an instance ran after the one in the store, and ended before it stored anything.
    private var hasUnstoredInstance: Bool {
        guard let heartbeat, let unstored = heartbeat.unstored else { return false }
        return unstored.storedInstance == previous?.instance ?? 0
    }

    /// What the heartbeats of the starting instance must repeat until its records are stored.
    public func unstored() -> Heartbeat.Unstored {
        let storedInstance = previous?.instance ?? 0
        guard let heartbeat else {
            return Heartbeat.Unstored(
                storedInstance: storedInstance, proven: nil, counted: .zero, instances: 1)
        }
        if var unstored = heartbeat.unstored, unstored.storedInstance == storedInstance {
            unstored.instances += 1
            return unstored
        }
        return Heartbeat.Unstored(
            storedInstance: storedInstance,
            proven: heartbeat.instance == storedInstance ? heartbeat.at : nil,
            counted: .zero, instances: 1)
    }

    /// The last heartbeat of the instance that took a record; nil if there is none.
    private func proof(of record: JobRecord) -> Now? {
        guard let heartbeat else { return nil }
        if heartbeat.instance == record.instance { return heartbeat.at }
        guard let unstored = heartbeat.unstored, unstored.storedInstance == record.instance else {
            return nil
        }
        return unstored.proven
    }

    /// What later instances than the one that took a record counted without storing records.
    private func later(than record: JobRecord) -> Heartbeat.Unstored? {
        heartbeat?.unstored.flatMap { $0.storedInstance == record.instance ? $0 : nil }
    }

    /// Whether time since a record was taken may count. After a clean stop nothing counts until the
    /// next instance starts. If that instance ended before it stored a record, only its heartbeat
    /// shows its time.
    func mayCount(_ record: JobRecord) -> Bool {
        guard record.removed == nil else { return false }
        guard !record.isCounting else { return true }
        return record.phase == .armed && record.basis == .active && later(than: record) != nil
    }

    /// The time that counted since a record was taken, by its time basis. Only a heartbeat of the
    /// same instance and boot proves that time kept counting. The time that later instances counted
    /// without saving it is added.
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
