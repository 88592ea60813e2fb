// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What becomes of a job's firings where the plain schedule leaves a choice.
public struct Policy: Hashable, Sendable {
    /// What becomes of occurrences that passed while nothing could fire.
    public var onMissed = Missed.runOnce
    /// How old a firing may be when it starts; an older one is let go and recorded. Nil: any age.
    public var startingDeadline: Duration?
    /// What resuming does; nil: `keepRemaining` for `every` and `after`, `nextSlot` for the others.
    public var onResume: Resume?
    /// What becomes of a firing while a run of the job lives.
    public var concurrency = Concurrency.forbid
    /// With `allow`: how many runs of the job may be active at once, at least 1; a firing beyond is skipped. Nil: as
    /// many as all jobs together may; a job of a configuration always has a number, which leaves places to others.
    public var concurrencyMax: Int?
    /// By how much a firing may be delayed to share a wake-up with others. Not negative.
    public var accuracy = Duration.zero
    /// The most a firing is delayed by chance, drawn anew for each. Not negative.
    public var randomDelay = Duration.zero
    /// The most all occurrences are shifted, by a span that is always the same for one job on one machine. Not
    /// negative.
    public var randomOffset = Duration.zero
    /// What is done after a failed run.
    public var retry = Retry()

    /// The defaults.
    public init() {}

    /// Occurrences that passed while nothing could fire: the daemon was away, the machine slept or stood still.
    public enum Missed: String, CaseIterable, Hashable, Sendable {
        /// One run for all of them.
        case runOnce = "run-once"
        /// None.
        case skip
        /// One for each, one after the other, up to `Agenda.catchUpMax`.
        case runAll = "run-all"
    }

    /// What resuming a paused job does.
    public enum Resume: String, CaseIterable, Hashable, Sendable {
        /// Go on with the time that was left.
        case keepRemaining = "keep-remaining"
        /// Wait for the next occurrence; what passed meanwhile is forgotten.
        case nextSlot = "next-slot"
        /// Fire at once if it would have fired meanwhile; else as `keepRemaining` or `nextSlot`.
        case fireIfDue = "fire-if-due"
        /// Begin the interval at zero.
        case restart
    }

    /// A firing while a run of the job lives.
    public enum Concurrency: String, CaseIterable, Hashable, Sendable {
        /// The firing is let go.
        case forbid
        /// It waits for the run to end; only one waits, further ones are let go.
        case queue
        /// The run is ended, and the firing's begins when it has.
        case replace
        /// Both run.
        case allow
    }

    /// What is done after a failed run: a further attempt at the same firing, some time later.
    public struct Retry: Hashable, Sendable {
        /// How many attempts may follow the first. Not negative.
        public var retries = 0
        /// How long before the second attempt. Not negative.
        public var delay = Duration.seconds(10)
        /// By how much each further delay is longer than the one before it; at least 1.
        public var backoff = 2.0
        /// The longest delay.
        public var delayMax = Duration.seconds(600)

        /// The defaults: none.
        public init() {}

        /// How long to wait between the end of an attempt, 1 for the first, and the start of the next.
        public func delay(after attempt: Int) -> Duration {
            var factor = 1.0
            // Few steps suffice: once past the longest delay the rest changes nothing.
            for _ in 1..<max(1, min(attempt, 64)) { factor *= backoff }
            let seconds = Double(delay.wholeMicroseconds) / 1e6 * factor
            guard seconds < Double(delayMax.wholeMicroseconds) / 1e6 else { return delayMax }
            return .microseconds(Int64(seconds * 1e6))
        }
    }
}

/// How a job's runs are executed, beside what and where.
public struct Execution: Hashable, Sendable {
    /// Where programs named without a slash are looked for, unless a job declares its own PATH.
    public static let searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    /// How long a run may take before it is ended. Nil: as long as it likes.
    public var timeout: Duration?
    /// How long a run that is being ended has between SIGTERM and SIGKILL.
    public var killTimeout = Duration.seconds(10)
    /// Whether the processes that are left in its control group when a run is over are ended.
    public var killsLeftovers = true
    /// The user it runs as; nil: the daemon's.
    public var user: String?
    /// The group it runs as; nil: the user's own.
    public var group: String?
    /// The PAM service whose account and session rules hold for its runs (pam.conf(5)); nil: none.
    public var pamService: String?
    /// A file of variables for its environment (systemd.exec(5), EnvironmentFile=); nil: none. One that
    /// begins with `-` need not be there.
    public var environmentFile: String?
    /// The variables that its runs take from the runner's own environment, where that has them; what is
    /// declared goes before them.
    public var passEnvironment: Set<String> = []
    /// The file mode creation mask, 0 to 0o777.
    public var umask: UInt32 = 0o022
    /// The nice value, -20 to 19.
    public var nice = 0
    /// The resource limits that are not the daemon's (setrlimit(2)).
    public var limits: [Limit: UInt64?] = [:]
    /// The files that its runs get copies of, by the names of the copies (systemd.exec(5), LoadCredential=).
    public var credentials: [String: String] = [:]
    /// What its processes may do.
    public var confinement = Confinement()
    /// The exit codes, 0 to 255, of a run that did what it was for.
    public var successExitCodes: Set<Int32> = [0]
    /// How much of its runs the log tells.
    public var log = LogLevel.all
    /// Of the output of all its runs together at most `logRateLimitBurst` lines are passed on within this span, which
    /// begins with a line; further ones are dropped and counted. Nil: all are. Above zero.
    public var logRateLimitInterval: Duration? = .seconds(30)
    /// How many lines that are; at least 1.
    public var logRateLimitBurst = 10_000
    /// How many bytes of the end of its output are kept with a run.
    public var outputTail = 8192

    /// The defaults.
    public init() {}

    /// A resource limit by its name in systemd.exec(5), without `Limit`.
    public enum Limit: String, CaseIterable, Hashable, Sendable {
        case `as`, core, cpu, data, fsize, memlock, nofile, nproc, rss, stack
    }

    /// How much of a job's runs the log tells.
    public enum LogLevel: String, CaseIterable, Hashable, Sendable {
        /// Every firing, every end, every line of output.
        case all
        /// What failed, with the end of its output.
        case failures
        /// Nothing of runs that did well, and no output.
        case none
    }
}

/// A value behind a reference, so that what is mostly the default takes no room where it is a field. It is
/// copied when it is changed, and compares as what it holds.
@propertyWrapper
public struct Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    /// The value.
    public var wrappedValue: Value {
        get { box.value }
        set { box = Box(newValue) }
    }

    /// A value in a box of its own.
    public init(wrappedValue: Value) { box = Box(wrappedValue) }

    public static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
