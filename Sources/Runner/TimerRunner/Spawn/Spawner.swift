// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// Creates the processes of runs.
struct Spawner {
    /// How long a process may take to execute its program, and how long its files may take to be
    /// read: longer than a slow disk needs, shorter than the timeout of a file server that does not
    /// answer.
    static let timeout: Duration = .seconds(10)

    private let openFiles: UInt64
    /// The standard input of jobs without `stdin`.
    private let devNull = DevNull()

    /// /dev/null, closed when the last reference is released. If it cannot be opened when a runner starts,
    /// because all descriptors are in use, it is opened for the first run that finds one.
    private final class DevNull: Sendable {
        private let opened = Mutex<Int32>(-1)

        init() { _ = descriptor }

        /// The descriptor; -1 with errno set if it cannot be opened.
        var descriptor: Int32 {
            opened.withLock { opened in
                if opened < 0 { opened = open("/dev/null", O_RDONLY | O_CLOEXEC) }
                return opened
            }
        }

        deinit { opened.withLock { if $0 >= 0 { close($0) } } }
    }

    /// - Parameter openFiles: the soft limit of open files for jobs that do not declare one.
    init(openFiles: UInt64) { self.openFiles = openFiles }

    /// A process that was created and is setting itself up.
    struct Process {
        var pid: Int32
        /// A descriptor for the process; nil if none was requested.
        var pidfd: Int32?
        /// The argument for `cspawn_poll_launch`, which names the set-up.
        var launch: Int32
        /// The argument for `cspawn_receive_report`; nil for a run without a PAM session.
        var session: Int32?
    }

    /// The reason why a process could not be created.
    struct Failure: Error {
        var outcome: RunOutcome
        /// The errno; nil if no call of the system failed.
        var code: Int32?

        /// Whether something was used up that may be free again in a moment, such as memory or the processes that a
        /// user may have. Nothing was executed.
        var isTransient: Bool {
            switch code {
            case EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT: true
            default: false
            }
        }
    }

    /// Where a process writes its output, and the control group in which it runs.
    struct SpawnContext {
        /// The descriptors that become its standard output and standard error.
        var output: Int32
        var error: Int32
        /// The signals whose disposition in this process is not the default; see `cspawn_signals`.
        var signals: UInt64
        /// The file `cgroup.procs` of its control group, open for writing; -1: that of the runner.
        var controlGroup: Int32 = -1
        /// What becomes its descriptor 3; -1 for nothing.
        var passed: Int32 = -1
        /// Where the process writes its process id; nil: nowhere.
        var record: RunRegistry.Place?
        /// When it is too late to create the process; nil: never.
        var before: BootInstant?
        /// The process executes its program no earlier than this; nil: at once.
        var notBefore: AwakeInstant?
        /// Whether a pidfd of the process is needed.
        var wantsPidfd: Bool
    }

    /// Creates the process of a run in this context, with the declared text or /dev/null as its
    /// standard input. It returns while the process sets itself up.
    ///
    /// The process runs in the declared directory, which must exist, or in the home directory of
    /// its user. If the home directory does not exist, it runs in `/`, as under Debian's cron.
    func spawn(
        _ definition: Definition, _ ready: Preparation.Ready, in context: SpawnContext
    ) throws(Failure) -> Process {
        let variables = ready.variables
        let program = Program(
            definition.command, appending: ready.arguments, path: variables["PATH"] ?? "")
        try Self.check(program, variables)
        try Self.checkSession(definition)
        let input = devNull.descriptor
        guard input >= 0 else { throw Self.failure(errno, "open /dev/null") }
        let memory = CMemory()
        var session: Int32?
        var start = request(program, variables, definition, ready.account, context, memory)
        start.input = input
        // As late as possible: everything before this may have taken long.
        if let before = context.before, RunnerClock.boot() >= before {
            throw Failure(outcome: .lost(.unstarted))
        }
        let result = withExtendedLifetime(memory) {
            guard let service = definition.execution.pamService else { return cspawn_start(&start) }
            return Self.startSession(&start, service, ready.account, memory, socket: &session)
        }
        guard result.step == CSPAWN_STEP_NONE else {
            let failure = cspawn_failure(step: result.step, error: result.error, item: -1)
            throw Self.failure(failure, of: definition, ready.account)
        }
        return Process(
            pid: result.pid, pidfd: result.pidfd < 0 ? nil : result.pidfd, launch: result.launch,
            session: session)
    }

    /// The request as a C structure; what it points to is in `memory`.
    private func request(
        _ program: Program, _ variables: [String: String], _ definition: Definition,
        _ account: Account, _ context: SpawnContext, _ memory: CMemory
    ) -> cspawn_request {
        let execution = definition.execution
        let (confinement, priorities) = (execution.confinement, execution.priorities)
        let limits = Self.limits(of: definition).map { name in
            // Nil is no limit, which is RLIM_INFINITY.
            let limit = execution.limits[name].flatMap { $0 } ?? .max
            return cspawn_limit(resource: name.number, soft: limit, hard: limit)
        }
        let labels = SecurityLabel.all(of: confinement).map { label in
            cspawn_label(
                file: memory.string(label.file), text: memory.string(label.text),
                length: label.text.utf8.count, is_optional: label.isOptional)
        }
        let identity = account.identity
        return cspawn_request(
            candidates: UnsafeMutableRawPointer(memory.strings(program.candidates))
                .assumingMemoryBound(to: UnsafePointer<CChar>?.self),
            arguments: memory.strings(program.arguments),
            environment: memory.strings(variables.map { "\($0.key)=\($0.value)" }),
            directory: memory.string(definition.workingDirectory ?? account.home),
            may_run_in_root: definition.workingDirectory == nil,
            input: -1, output: context.output, error: context.error,
            text: execution.stdin.map { UnsafePointer(memory.string($0)) },
            text_length: execution.stdin?.utf8.count ?? 0, passed: context.passed,
            umask: execution.umask, nice: Int32(clamping: execution.nice),
            timer_slack: UInt(clamping: execution.timerSlack),
            cpu_policy: priorities.cpu.number, cpu_priority: priorities.cpu.priority,
            io_priority: priorities.io.number, has_oom_score: priorities.oomScore != nil,
            oom_score: Int32(clamping: priorities.oomScore ?? 0),
            signals: context.signals, open_files: openFiles,
            data_bytes: RunnerProcess.dataLimitOfJobs ?? 0,
            limits: memory.array(limits), limit_count: Int32(limits.count),
            switches_user: identity != nil, user: identity?.user ?? 0, group: identity?.group ?? 0,
            groups: memory.array(identity?.groups ?? []),
            group_count: Int32(identity?.groups.count ?? 0),
            has_capabilities: confinement.capabilities != nil,
            capabilities: confinement.capabilities?.bits ?? 0,
            labels: memory.array(labels), label_count: Int32(labels.count),
            has_no_new_privileges: confinement.noNewPrivileges,
            control_group: context.controlGroup, record: context.record?.record,
            record_file: context.record?.file ?? -1, record_offset: context.record?.offset ?? 0,
            not_before: context.notBefore?.nanoseconds ?? 0, wants_pidfd: context.wantsPidfd)
    }

    /// Refuses texts that the program would not get unchanged: C strings end at a NUL byte, and
    /// environment entries have the form NAME=value.
    private static func check(
        _ program: Program, _ variables: [String: String]
    ) throws(Failure) {
        guard !program.arguments.isEmpty else { throw failure(EINVAL, "exec an empty command") }
        guard !program.arguments.contains(where: { $0.utf8.contains(0) }) else {
            throw failure(EINVAL, "exec with a NUL byte in an argument")
        }
        for (name, value) in variables {
            let isName = !name.isEmpty && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "=") }
            guard isName, !value.utf8.contains(0) else {
                throw failure(EINVAL, "set the variable \(name.debugDescription)")
            }
        }
    }

    /// The limits that the job declares, in the order in which they are set.
    static func limits(of definition: Definition) -> [Execution.Limit] {
        definition.execution.limits.keys.sorted { $0.rawValue < $1.rawValue }
    }
}

extension Execution.Limit {
    /// The number of the resource for setrlimit(2).
    fileprivate var number: Int32 {
        let number =
            switch self {
            case .as: RLIMIT_AS
            case .core: RLIMIT_CORE
            case .cpu: RLIMIT_CPU
            case .data: RLIMIT_DATA
            case .fsize: RLIMIT_FSIZE
            case .memlock: __RLIMIT_MEMLOCK
            case .nofile: RLIMIT_NOFILE
            case .nproc: __RLIMIT_NPROC
            case .rss: __RLIMIT_RSS
            case .stack: RLIMIT_STACK
            }
        return Int32(number.rawValue)
    }
}
