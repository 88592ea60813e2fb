// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One entry of the configuration: what to run, and when.
public struct Job: Hashable, Sendable {
    /// What identifies the job, its ledger and its history.
    public var name: Name
    /// What a person wrote about it.
    public var description: String?
    /// What a run executes.
    public var command: Command
    /// When it fires.
    public var schedule: Schedule
    /// What `every`, `after` and `first` count. The time since the boot counts while the machine is on.
    public var count: TimeBasis
    /// Whether the job starts paused.
    public var paused: Bool
    /// What is added to the environment of its runs.
    public var environment: [String: String]
    /// What becomes of its firings where the schedule leaves a choice.
    @Boxed public var policy: Policy
    /// How its runs are executed.
    @Boxed public var execution: Execution
    @Boxed private var rare: Rare

    /// A job with everything but its name, command and schedule left at the defaults.
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
        self._policy = policy == Policy() ? Self.plainPolicy : Boxed(wrappedValue: policy)
        self._execution =
            execution == Execution() ? Self.plainExecution : Boxed(wrappedValue: execution)
        let rare = Rare(first: first, workingDirectory: workingDirectory, renamedFrom: renamedFrom)
        self._rare = rare == Rare() ? Self.plainRare : Boxed(wrappedValue: rare)
    }

    /// How its runs are executed, as it is shared by jobs that say the same.
    public var boxedExecution: Boxed<Execution> { _execution }

    /// What most jobs have, once for all of them.
    private static let plainPolicy = Boxed(wrappedValue: Policy())
    private static let plainExecution = Boxed(wrappedValue: Execution())
    private static let plainRare = Boxed(wrappedValue: Rare())
}

/// What few jobs declare.
extension Job {
    private struct Rare: Hashable, Sendable {
        var first: Duration?
        var workingDirectory: String?
        var renamedFrom: Name?
    }

    /// The time before the first firing; nil: as long as the schedule's own span. Zero fires at once.
    public var first: Duration? {
        get { rare.first }
        set { rare.first = newValue }
    }

    /// The absolute path its runs start in; nil: the home directory of the user they run as.
    public var workingDirectory: String? {
        get { rare.workingDirectory }
        set { rare.workingDirectory = newValue }
    }

    /// The name it had before, whose account it takes along; nil: none.
    public var renamedFrom: Name? {
        get { rare.renamedFrom }
        set { rare.renamedFrom = newValue }
    }
}

extension Job {
    /// The name of a job: 1 to 64 ASCII letters, digits and `.` `_` `-` `@`, the first a letter, a digit
    /// or `_`. It goes into file names, URLs, environment variables and the journal's
    /// SYSLOG_IDENTIFIER as it stands, hence the narrow alphabet.
    public struct Name: Hashable, Comparable, Sendable, CustomStringConvertible {
        /// The most characters a name may have.
        public static let lengthMax = 64

        /// The name as written.
        public let description: String

        /// Nil if `text` is not a job name.
        public init?(_ text: String) {
            guard Self.fault(in: text) == nil else { return nil }
            description = text
        }

        /// What is wrong with `text` as a job name, as the end of a sentence; nil if nothing is.
        public static func fault(in text: String) -> String? {
            guard let first = text.utf8.first else { return "a job name cannot be empty" }
            guard text.utf8.count <= lengthMax else {
                return "a job name has at most \(lengthMax) characters"
            }
            guard text.utf8.allSatisfy({ isAlphanumeric($0) || ".-@_".utf8.contains($0) }) else {
                return "a job name has only letters, digits, '.', '_', '-' and '@'"
            }
            guard isAlphanumeric(first) || first == UInt8(ascii: "_") else {
                return "a job name begins with a letter, a digit or '_'"
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

    /// What a run executes.
    public enum Command: Hashable, Sendable {
        /// A program and its arguments, without a shell. Never empty. A name without a slash is looked up
        /// in PATH.
        case arguments([String])
        /// A line for `/bin/sh -c`.
        case shell(String)
    }
}

/// When a job fires.
public enum Schedule: Hashable, Sendable {
    /// On a fixed grid, each so much counted time apart. Longer than zero.
    case every(Duration)
    /// Once, after so much counted time.
    case after(Duration)
    /// Once in each boot of the machine, so long after it.
    case onBoot(Duration)
    /// At times of the calendar clock.
    case wall(WallSchedule)
}

/// All jobs of one configuration, in the order it names them.
public struct Roster: Hashable, Sendable {
    /// The jobs; no two of one name.
    public let jobs: [Job]
    /// Their names.
    public let names: Set<Job.Name>
    /// The place of the job that says it had this name before.
    let heirs: [Job.Name: Int]

    /// The roster of `jobs`. Traps if two have one name: the configuration's reader has to refuse that
    /// with its place.
    /// - Complexity: O(*n*) in the number of jobs.
    public init(_ jobs: [Job] = []) {
        names = Set(jobs.map(\.name))
        precondition(names.count == jobs.count, "a roster names each job once")
        var heirs: [Job.Name: Int] = [:]
        for (index, job) in jobs.enumerated() {
            if let old = job.renamedFrom { heirs[old] = index }
        }
        self.heirs = heirs
        self.jobs = jobs
    }
}
