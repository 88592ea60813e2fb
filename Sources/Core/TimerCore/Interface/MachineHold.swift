// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A hold of this machine: while it lasts no run of any job starts, also of jobs that are loaded later.
///
/// It is one value, whatever the number of jobs. For each job it is a pause (`Initiator.hold`), which
/// the job gets when it is next looked at.
public struct MachineHold: Hashable, Sendable {
    /// The clocks when it began. The time of no job counts from here on.
    public var since: Now
    /// The instance of the daemon that it began in.
    public var instance: DaemonInstance.ID
    /// Who holds the machine, or changed the terms last.
    public var by: Initiator
    /// The reason that the user gave; nil if there is none.
    public var note: String?
    /// When it ends by itself, by the wall clock; nil: only when a user releases the machine.
    public var until: WallInstant?
    /// Whether runs that were active were suspended as well.
    public var withRun: Bool

    /// A hold that only a user ends, unless `until` is given.
    public init(
        since: Now, instance: DaemonInstance.ID, by: Initiator, note: String? = nil,
        until: WallInstant? = nil, withRun: Bool = false
    ) {
        self.since = since
        self.instance = instance
        self.by = by
        self.note = note
        self.until = until
        self.withRun = withRun
    }

    /// It as a pause: for a job by the hold, for those who want to know by its user.
    ///
    /// - Parameter since: since when the job does not run; nil: since the hold began.
    public func pause(since: WallInstant? = nil, by initiator: Initiator = .hold) -> Pause {
        Pause(
            since: since ?? self.since.wall, by: initiator, note: note, until: until,
            withRun: withRun)
    }

    /// The terms of a hold, as a user requests them.
    public struct Terms: Hashable, Sendable {
        /// Who requests it.
        public var by: Initiator
        /// Why, in the user's words; nil keeps an earlier reason.
        public var note: String?
        /// When it ends by itself; nil keeps an earlier end.
        public var until: JobCommand.PauseEnd?
        /// Whether active runs are suspended as well.
        public var withRun: Bool

        public init(
            by: Initiator, note: String? = nil, until: JobCommand.PauseEnd? = nil,
            withRun: Bool = false
        ) {
            self.by = by
            self.note = note
            self.until = until
            self.withRun = withRun
        }
    }
}

extension Pause {
    /// Whether it is what a hold of the machine is for the job.
    public var isOfHold: Bool { by == .hold }
}
