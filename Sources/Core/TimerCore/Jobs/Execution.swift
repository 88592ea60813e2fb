// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
    /// The words that a user may append to the command for a requested run, in the order of the
    /// configuration. At most `RunArguments.countMax`, each once.
    public var runArguments: [String] = []
    /// The file mode creation mask, 0 to 0o777.
    public var umask: UInt32 = 0o022
    /// What its runs read from their standard input; nil: nothing. Not empty.
    public var stdin: String?
    /// The nice value, -20 to 19.
    public var nice = 0
    /// By how much the kernel may delay each wait of its processes to share a wake-up, in nanoseconds:
    /// 1 to 1 000 000 000 (prctl(2), PR_SET_TIMERSLACK). The default is that of the kernel.
    public var timerSlack = 50_000
    /// The priorities for I/O, processors and a lack of memory; by default those of the kernel.
    public var priorities = Priorities()
    /// The resource limits that differ from those of the daemon (setrlimit(2)).
    public var limits: [Limit: UInt64?] = [:]
    /// The files whose copies are available to its runs, by the names of the copies
    /// (systemd.exec(5), LoadCredential=).
    public var credentials: [String: String] = [:]
    /// The restrictions on its processes; by default none beyond those of their user.
    public var confinement = Confinement()
    /// Which ends of its runs count as success.
    public var success = SuccessExitStatus()
    /// The exit codes, 0 to 255, by which a run says that it had nothing to do: it neither succeeded
    /// nor failed. None of them is a success.
    public var skipExitCodes: Set<Int32> = []
    /// Which events of its runs are logged; by default all of them.
    public var log = LogLevel.all
    /// The time window of the rate limit for output: within it, at most `logRateLimitBurst` lines
    /// of all runs of the job together are logged, and further lines are dropped and counted. The
    /// window starts with a line. Nil: no limit. Above zero.
    public var logRateLimitInterval: Duration? = .seconds(30)
    /// The maximum number of lines in the time window; at least 1.
    public var logRateLimitBurst = 10_000
    /// How many bytes from the end of the output are kept with a run.
    public var outputTail = 8192
    private var boxedCondition: Boxed<Condition>?

    public init() {}

    /// What must be true when a run is about to start; nil: nothing. It asks something.
    public var condition: Condition? {
        get { boxedCondition?.wrappedValue }
        set { boxedCondition = newValue.map { Boxed(wrappedValue: $0) } }
    }

    /// Whether there is a condition, without a copy of it.
    public var hasCondition: Bool { boxedCondition != nil }

    /// The defaults.
    public static let standard = Execution()

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

/// Takes the values of a definition one after the other, to compute its fingerprint.
public protocol FingerprintWriter {
    mutating func put(_ value: UInt8)
    mutating func put(_ value: UInt64)
    mutating func put(_ value: Int)
    mutating func put(_ value: Bool)
    mutating func put(_ value: String)
    mutating func put(_ value: Duration)
}

extension FingerprintWriter {
    /// Writes whether there is a value, and the value.
    @inlinable public mutating func put<Value>(
        _ value: Value?, _ put: (inout Self, Value) -> Void
    ) {
        self.put(value != nil)
        if let value { put(&self, value) }
    }

    /// Writes the number of values, and the values.
    @inlinable public mutating func put<Value>(
        _ values: [Value], _ put: (inout Self, Value) -> Void
    ) {
        self.put(values.count)
        for value in values { put(&self, value) }
    }

    /// Writes a value that few jobs have: nothing if it is the default one, and otherwise a number of
    /// its own and the value.
    @inlinable public mutating func put<Value: Equatable>(
        _ number: UInt8, _ value: Value, unless standard: Value,
        _ put: (inout Self, Value) -> Void
    ) {
        guard value != standard else { return }
        self.put(number)
        put(&self, value)
    }

    /// Writes the entries in the order of their keys.
    @inlinable public mutating func put(_ values: [String: String]) {
        put(values.sorted { $0.key < $1.key }) {
            $0.put($1.key)
            $0.put($1.value)
        }
    }
}

extension Execution {
    /// Writes what affects a runner. It is beside the properties and not with the keys of the
    /// configuration: what compares definitions does not depend on these, and one property can have
    /// several keys. A test tries each key and finds a property that is forgotten.
    ///
    /// What few jobs have is written only for them, after a number of its own, so that the
    /// definitions of the others stay short: a new property is a line at the end.
    @inlinable
    public func write(to writer: inout some FingerprintWriter) {
        writer.put(environmentFile) { $0.put($1) }
        writer.put(passEnvironment.sorted()) { $0.put($1) }
        writer.put(3, runVariables, unless: Self.standard.runVariables) {
            $0.put($1.sorted()) { $0.put($1) }
        }
        writer.put(user) { $0.put($1) }
        writer.put(group) { $0.put($1) }
        writer.put(UInt64(umask))
        writer.put(nice)
        writer.put(limits.sorted { $0.key.rawValue < $1.key.rawValue }) {
            $0.put($1.key.rawValue)
            $0.put($1.value) { $0.put($1) }
        }
        writer.put(timeout) { $0.put($1) }
        writer.put(killTimeout)
        writer.put(killsLeftovers)
        writer.put(outputTail)
        writer.put(logRateLimitInterval) { $0.put($1) }
        writer.put(logRateLimitBurst)
        writer.put(pamService) { $0.put($1) }
        writer.put(1, confinement, unless: Self.standard.confinement) { writer, confinement in
            writer.put(confinement.noNewPrivileges)
            writer.put(confinement.capabilities) { $0.put($1.bits) }
            writer.put(confinement.appArmorProfile) { $0.put($1) }
            writer.put(confinement.seLinuxContext) { $0.put($1) }
        }
        writer.put(2, credentials, unless: Self.standard.credentials) { $0.put($1) }
        writer.put(4, stdin ?? "", unless: "") { $0.put($1) }
        writer.put(5, priorities, unless: Self.standard.priorities) { writer, priorities in
            writer.put(priorities.io.description)
            writer.put(priorities.cpu.description)
            writer.put(priorities.oomScore) { $0.put($1) }
        }
        writer.put(6, timerSlack, unless: Self.standard.timerSlack) { $0.put($1) }
        writer.put(7, condition, unless: nil) { $1?.write(to: &$0) }
        writer.put(8, runArguments, unless: []) { $0.put($1) { $0.put($1) } }
    }
}
