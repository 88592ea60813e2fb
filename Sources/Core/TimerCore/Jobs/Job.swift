// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One job of the configuration: what to run, and when.
public struct Job: Hashable, Sendable {
    /// The identity of the job, its ledger and its history.
    public var name: Name
    /// The description that the user wrote; nil: none.
    public var description: String?
    /// What its runs execute, as their user and in their directory.
    public var command: Command
    /// When its firings are due, by counted time or by the wall clock.
    public var schedule: Schedule
    /// Which clock `every`, `after` and `first` are counted by. For `on-boot`, time counts while
    /// the machine is on.
    public var count: TimeBasis
    /// Whether a new job starts paused. A change of the value pauses the job, or ends that pause.
    public var paused: Bool
    /// The variables that are added to the environment of its runs.
    public var environment: [String: String]
    /// What to do with its firings in cases that the schedule leaves open.
    @Boxed public var policy: Policy
    /// How its runs are executed. Jobs with equal settings share one value.
    @Boxed public var execution: Execution
    @Boxed private var uncommon: UncommonFields

    /// Creates a job. All properties except name, command and schedule have defaults.
    public init(
        name: Name, command: Command, schedule: Schedule, description: String? = nil,
        first: Duration? = nil, count: TimeBasis = .active, paused: Bool = false,
        environment: [String: String] = [:], workingDirectory: String? = nil,
        policy: Policy = Policy(), execution: Execution = Execution(), renamedFrom: Name? = nil
    ) {
        self.name = name
        self.description = description
        self.command = command
        self.schedule = schedule
        self.count = schedule.isSinceBoot ? .boottime : count
        self.paused = paused
        self.environment = environment
        self._policy = Self.plainPolicy.sharing(policy)
        self._execution = Self.plainExecution.sharing(execution)
        self._uncommon = Self.noUncommonFields.sharing(
            UncommonFields(
                first: first, workingDirectory: workingDirectory, renamedFrom: renamedFrom))
    }

    /// How its runs are executed, as a value that jobs with the same settings share.
    public var boxedExecution: Boxed<Execution> { _execution }

    /// The values that most jobs have. All these jobs share them.
    private static let plainPolicy = Boxed(wrappedValue: Policy())
    private static let plainExecution = Boxed(wrappedValue: Execution())
    private static let noUncommonFields = Boxed(wrappedValue: UncommonFields())
}

/// Properties that few jobs have. They are behind one reference, so that the other jobs need no
/// memory for them.
extension Job {
    private struct UncommonFields: Hashable, Sendable {
        var first: Duration?
        var workingDirectory: String?
        var renamedFrom: Name?
        var isOneOff = false
        var hasDurationHistogram = false
        var from = IntervalStart.start
        var fleet: FleetPolicy?
        var follows: Follows?
        var window: JobWindow?
        var validity: JobValidity?
        var limit: RunLimit?
    }

    /// Whether it runs once and is then removed together with its definition. A command created it
    /// (`at`, timerctl(1)), not the author of the configuration.
    public var isOneOff: Bool {
        get { uncommon.isOneOff }
        set { uncommon.isOneOff = newValue }
    }

    /// Whether metrics have a histogram of how long its runs take.
    public var hasDurationHistogram: Bool {
        get { uncommon.hasDurationHistogram }
        set { if newValue != hasDurationHistogram { uncommon.hasDurationHistogram = newValue } }
    }

    /// From where the interval of `every` is counted.
    public var from: IntervalStart {
        get { uncommon.from }
        set { if newValue != from { uncommon.from = newValue } }
    }

    /// How it is shared by the machines of a fleet; nil: it is a job of this machine alone.
    public var fleet: FleetPolicy? {
        get { uncommon.fleet }
        set { if newValue != fleet { uncommon.fleet = newValue } }
    }

    /// After which ends of other jobs' runs it runs, beside its schedule; nil: after none.
    public var follows: Follows? {
        get { uncommon.follows }
        set { if newValue != follows { uncommon.follows = newValue } }
    }

    /// When its runs may start; nil: at any time.
    public var window: JobWindow? {
        get { uncommon.window }
        set { if newValue != window { uncommon.window = newValue } }
    }

    /// From when and until when its schedule makes runs; nil: always.
    public var validity: JobValidity? {
        get { uncommon.validity }
        set { if newValue != validity { uncommon.validity = newValue } }
    }

    /// After how many runs it is finished; nil: its runs are not counted.
    public var limit: RunLimit? {
        get { uncommon.limit }
        set { if newValue != limit { uncommon.limit = newValue } }
    }

    /// The first point of its interval from this one on at which it may be due.
    ///
    /// - Parameter span: the interval.
    func point(from first: WallInstant, every span: Duration) -> WallInstant {
        let point = first.next(notBefore: validity?.notBefore ?? first, every: span)
        return window?.point(from: point, every: span) ?? point
    }

    /// Whether something delays or skips the points of its interval.
    var hasLimitedPoints: Bool { window != nil || validity != nil }

    /// Replaces the rules of the zones of its schedule and its window, if there are new ones.
    /// - Returns: whether any rules changed.
    mutating func replaceZones(_ rules: (ZoneRules) -> ZoneRules?) -> Bool {
        var isChanged = false
        if case .wall(var schedule) = schedule, schedule.replaceZones(rules) {
            self.schedule = .wall(schedule)
            isChanged = true
        }
        if var window, window.replaceZone(rules) {
            self.window = window
            isChanged = true
        }
        return isChanged
    }

    /// The time before the first firing; nil: the interval of the schedule. Zero fires at once.
    public var first: Duration? {
        get { uncommon.first }
        set { uncommon.first = newValue }
    }

    /// The absolute path of the directory in which its runs start; nil: the home directory of their
    /// user.
    public var workingDirectory: String? {
        get { uncommon.workingDirectory }
        set { uncommon.workingDirectory = newValue }
    }

    /// The name it had before, whose saved state it takes over; nil: none.
    public var renamedFrom: Name? {
        get { uncommon.renamedFrom }
        set { uncommon.renamedFrom = newValue }
    }
}

extension Job {
    /// The name of a job: 1 to 64 ASCII letters, digits and `.` `_` `-` `@`. The first character is
    /// a letter, a digit or `_`. The characters are limited because the name is used unchanged in
    /// file names, URLs, environment variables and SYSLOG_IDENTIFIER of the journal.
    public struct Name: Hashable, Comparable, Sendable, CustomStringConvertible {
        /// The maximum number of characters in a name.
        public static let lengthMax = 64

        public let description: String

        /// Returns nil if `text` is not a valid job name.
        public init?(_ text: String) {
            guard Self.fault(in: text) == nil else { return nil }
            description = text
        }

        /// The name in the identities of the runs that send messages of notifiers. It is not valid
        /// for a job.
        public static let messages = Name(reserved: "@message")

        /// The same for the commands of conditions.
        public static let checks = Name(reserved: "@condition")

        private init(reserved text: String) { description = text }

        /// Parses the name in the identity of a run: that of a job, `messages` or `checks`.
        package init?(ofRun text: String) {
            switch text {
            case Self.messages.description: self = .messages
            case Self.checks.description: self = .checks
            default: self.init(text)
            }
        }

        /// What is wrong with `text` as a job name, as the end of a sentence; nil if it is valid.
        public static func fault(in text: String) -> String? { fault(in: text, as: "a job name") }

        /// The same for another name with the same rules.
        static func fault(in text: String, as what: String) -> String? {
            guard let first = text.utf8.first else { return "\(what) cannot be empty" }
            guard text.utf8.count <= lengthMax else {
                return "\(what) has at most \(lengthMax) characters"
            }
            guard text.utf8.allSatisfy({ isAlphanumeric($0) || ".-@_".utf8.contains($0) }) else {
                return "\(what) has only letters, digits, '.', '_', '-' and '@'"
            }
            guard isAlphanumeric(first) || first == UInt8(ascii: "_") else {
                return "\(what) begins with a letter, a digit or '_'"
            }
            return nil
        }

        public static func < (left: Self, right: Self) -> Bool {
            left.description < right.description
        }

        private static func isAlphanumeric(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
    }

    /// What a run executes, with or without a shell.
    public enum Command: Hashable, Sendable {
        /// A program and its arguments, without a shell. Never empty. A program name without a
        /// slash is searched in PATH.
        case arguments([String])
        /// A line for `/bin/sh -c`.
        case shell(String)
    }
}

/// From where the interval of `every` is counted.
public enum IntervalStart: String, CaseIterable, Hashable, Sendable {
    /// From one firing to the next, on a fixed grid.
    case start
    /// From the end of a run, and of its retries, to the next firing.
    case end
}

/// When a job fires. The clock of counted time is that of `Job.count`.
public enum Schedule: Hashable, Sendable {
    /// Repeatedly, after each interval of counted time. Longer than zero.
    case every(Duration)
    /// Once, after this much counted time.
    case after(Duration)
    /// Once in each boot of the machine, this long after the boot.
    case onBoot(Duration)
    /// At times of the wall clock.
    case wall(WallSchedule)
    /// Never by itself: a user runs it, or it follows other jobs.
    case onDemand

    /// The instant of a schedule that consists of a single instant; nil for any other schedule.
    public var at: WallInstant? {
        guard case .wall(let schedule) = self, schedule.sources.count == 1,
            case .at(let instant) = schedule.sources[0]
        else { return nil }
        return instant
    }
}

/// The set of jobs of one configuration, in its order.
public struct JobSet: Hashable, Sendable {
    /// The jobs. Their names are unique.
    public let jobs: [Job]
    /// The names of the jobs, to look one up without a loop.
    public let names: Set<Job.Name>
    /// The notifiers that the jobs can name in `notify`. Their names are unique.
    public let notifiers: [Notifier]
    /// The slots that the jobs can name in `slots`. Their names are unique.
    public let slots: [RunSlot]
    /// The positions of the jobs with `renamed-from`, by the names they had before.
    let renames: [Job.Name: Int]
    /// The jobs that follow a job, by its name.
    let followers: [Job.Name: [Job.Name]]

    /// Creates a set of jobs. Traps if two jobs, notifiers or slots have the same name: the
    /// configuration parser must refuse that, because it can say where the error is.
    /// - Complexity: O(*n*) in the number of jobs.
    public init(_ jobs: [Job] = [], notifiers: [Notifier] = [], slots: [RunSlot] = []) {
        names = Set(jobs.map(\.name))
        precondition(names.count == jobs.count, "a job set has each name once")
        precondition(
            Set(notifiers.map(\.name)).count == notifiers.count, "a job set has each notifier once")
        precondition(Set(slots.map(\.name)).count == slots.count, "a job set has each slot once")
        self.notifiers = notifiers
        self.slots = slots
        var renames: [Job.Name: Int] = [:]
        var followers: [Job.Name: [Job.Name]] = [:]
        for (index, job) in jobs.enumerated() {
            if let old = job.renamedFrom { renames[old] = index }
            for cause in job.follows?.causes ?? [] {
                followers[cause.job, default: []].append(job.name)
            }
        }
        self.renames = renames
        self.followers = followers
        self.jobs = jobs
    }
}

extension Schedule {
    /// How much time is between two firings: the interval, which is counted time, or for a schedule
    /// by the wall clock the longest of the two gaps before `instant` and the one around it. Nil
    /// for a schedule that does not repeat.
    /// - Complexity: that of three searches for an occurrence.
    public func interval(at instant: WallInstant) -> Duration? {
        switch self {
        case .every(let span): return span
        case .after, .onBoot, .onDemand: return nil
        case .wall(let schedule):
            guard at == nil, let next = schedule.next(after: instant),
                let last = schedule.previous(before: next)
            else { return nil }
            let gap = next - last
            return schedule.previous(before: last).map { max(gap, last - $0) } ?? gap
        }
    }
}
