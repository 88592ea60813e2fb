// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What to do with the firings of a job in cases that the schedule leaves open.
public struct Policy: Hashable, Sendable {
    /// What to do with occurrences that were missed.
    public var onMissed = Missed.runOnce
    /// How old a firing may be when its run starts. An older one is skipped, and this is recorded.
    /// Nil: any age.
    public var startingDeadline: Duration?
    /// What resuming does; nil: `keepRemaining` for `every` and `after`, `nextSlot` for the others.
    public var onResume: Resume?
    /// What to do with a firing while a run of the job is active.
    public var concurrency = Concurrency.forbid
    /// With `allow`: how many runs of the job may be active at the same time, at least 1; a firing
    /// beyond that is skipped. Nil: only the limit for all jobs together applies. A job from a
    /// configuration file always has a number, so that it cannot use the whole limit alone.
    public var concurrencyMax: Int?
    /// How much a firing may be delayed to share a wake-up with others. Not negative.
    public var accuracy = Duration.zero
    /// The maximum random delay of a firing. Each firing gets its own delay. Not negative.
    public var randomDelay = Duration.zero
    /// The maximum random shift of all occurrences. The shift is always the same for one job on one
    /// machine. Not negative.
    public var randomOffset = Duration.zero
    /// What to do after a failed run.
    public var retry = Retry()
    /// The notifiers for the job, each once.
    public var notify: [Notifier.Name] = []
    /// How long after its scheduled instant a firing that has not started is late; nil: never.
    public var lateAfter: Duration?
    /// How long a run takes before it is long; nil: never.
    public var longAfter: Duration?
    /// How long the job may have no successful run before it is stale; nil: any time.
    public var staleAfter: Duration?
    /// After which time of a pause there is a notification; nil: never.
    public var pausedAfter: Duration?

    /// The defaults.
    public init() {}

    /// What to do with missed occurrences: no daemon ran, or the machine was asleep or suspended.
    public enum Missed: String, CaseIterable, Hashable, Sendable {
        /// One run for all of them.
        case runOnce = "run-once"
        /// No run.
        case skip
        /// One run for each of them, one after the other, up to `Agenda.catchUpMax`.
        case runAll = "run-all"
    }

    /// What resuming a paused job does.
    public enum Resume: String, CaseIterable, Hashable, Sendable {
        /// Continue with the remaining time.
        case keepRemaining = "keep-remaining"
        /// Wait for the next occurrence; occurrences during the pause are skipped.
        case nextSlot = "next-slot"
        /// Fire at once if the job would have fired during the pause; otherwise as `keepRemaining`
        /// or `nextSlot`.
        case fireIfDue = "fire-if-due"
        /// Restart the interval.
        case restart
    }

    /// What to do with a firing while a run of the job is active.
    public enum Concurrency: String, CaseIterable, Hashable, Sendable {
        /// The firing is skipped.
        case forbid
        /// It waits for the run to end. Only one firing waits; further ones are skipped.
        case queue
        /// The run is ended, and the run of the firing starts after that.
        case replace
        /// Both run.
        case allow
    }

    /// What to do after a failed run: try the same firing again, after a delay.
    public struct Retry: Hashable, Sendable {
        /// How many retries may follow the first attempt. Not negative.
        public var retries = 0
        /// The delay before the second attempt. Not negative.
        public var delay = Duration.seconds(10)
        /// By which factor each delay is longer than the one before it; at least 1.
        public var backoff = 2.0
        /// The longest delay.
        public var delayMax = Duration.seconds(600)

        /// The defaults: no retries.
        public init() {}

        /// The delay between the end of this attempt (1 is the first) and the start of the next.
        public func delay(after attempt: Int) -> Duration {
            var factor = 1.0
            // The loop is limited, because more steps change nothing once the maximum delay is
            // reached.
            for _ in 1..<max(1, min(attempt, 64)) { factor *= backoff }
            let seconds = Double(delay.wholeMicroseconds) / 1e6 * factor
            guard seconds < Double(delayMax.wholeMicroseconds) / 1e6 else { return delayMax }
            return .microseconds(Int64(seconds * 1e6))
        }
    }
}

/// How the runs of a job are executed, in addition to the command and the directory.
public struct Execution: Hashable, Sendable {
    /// Where programs without a slash in their name are searched, unless a job sets its own PATH.
    public static let searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    /// How long a run may take before it is ended; nil: no limit.
    public var timeout: Duration?
    /// How long a run has between SIGTERM and SIGKILL when it is ended.
    public var killTimeout = Duration.seconds(10)
    /// Whether processes that are left in the control group of a run are killed when the run has
    /// ended.
    public var killsLeftovers = true
    /// The user it runs as; nil: the daemon's.
    public var user: String?
    /// The group it runs as; nil: the user's own.
    public var group: String?
    /// The PAM service whose account and session rules apply to its runs (pam.conf(5)); nil: none.
    public var pamService: String?
    /// A file with variables for its environment (systemd.exec(5), EnvironmentFile=); nil: none.
    /// With a `-` in front, the file does not have to exist.
    public var environmentFile: String?
    /// The variables that its runs inherit from the environment of the runner, if they are set
    /// there. Variables that the job sets have precedence.
    public var passEnvironment: Set<String> = []
    /// The variables that a user may set for a requested run. They have precedence over all others.
    public var runVariables: Set<String> = []
    /// The file mode creation mask, 0 to 0o777.
    public var umask: UInt32 = 0o022
    /// What its runs read from their standard input; nil: nothing. Not empty.
    public var stdin: String?
    /// The nice value, -20 to 19.
    public var nice = 0
    /// The other priorities of its processes.
    public var priorities = Priorities()
    /// The resource limits that differ from those of the daemon (setrlimit(2)).
    public var limits: [Limit: UInt64?] = [:]
    /// The files whose copies are available to its runs, by the names of the copies
    /// (systemd.exec(5), LoadCredential=).
    public var credentials: [String: String] = [:]
    /// The restrictions on its processes.
    public var confinement = Confinement()
    /// The exit codes, 0 to 255, that count as success.
    public var successExitCodes: Set<Int32> = [0]
    /// Which events of its runs are logged.
    public var log = LogLevel.all
    /// The time window of the rate limit for output: within it, at most `logRateLimitBurst` lines
    /// of all runs of the job together are logged, and further lines are dropped and counted. The
    /// window starts with a line. Nil: no limit. Above zero.
    public var logRateLimitInterval: Duration? = .seconds(30)
    /// The maximum number of lines in the time window; at least 1.
    public var logRateLimitBurst = 10_000
    /// How many bytes from the end of the output are kept with a run.
    public var outputTail = 8192

    /// The defaults.
    public init() {}

    /// A resource limit, by its name in systemd.exec(5) without `Limit`.
    public enum Limit: String, CaseIterable, Hashable, Sendable {
        case `as`, core, cpu, data, fsize, memlock, nofile, nproc, rss, stack
    }

    /// Which events of the runs of a job are logged.
    public enum LogLevel: String, CaseIterable, Hashable, Sendable {
        /// Every firing, every end and every line of output.
        case all
        /// Only failures, with the end of the output.
        case failures
        /// Nothing about successful runs, and no output.
        case none
    }
}

/// A value behind a reference, so that a field that usually has its default value needs little
/// memory. A change replaces the reference, and two boxes are equal if their values are equal.
@propertyWrapper
public struct Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    /// The value in the box.
    public var wrappedValue: Value {
        get { box.value }
        set { box = Box(newValue) }
    }

    /// Creates a new box with the value.
    public init(wrappedValue: Value) { box = Box(wrappedValue) }

    public static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
