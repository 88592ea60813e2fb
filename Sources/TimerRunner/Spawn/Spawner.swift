// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// A request with everything that was looked up or read for it. That may take long, so it is done
/// before the runner's thread gets the request.
struct Preparation: Sendable {
    let request: RunRequest
    let result: Result<Ready, Spawner.Failure>
    /// The approximate memory that it takes, in bytes.
    let cost: Int

    struct Ready: Sendable {
        var account: Account
        var variables: [String: String]
        var credentials: [Credential] = []
        /// For a run that sends a message.
        var message: MessageCommand?
    }

    /// The contents of the files of a run, or why they cannot be read.
    typealias Files = Result<RunFiles.Contents, Spawner.Failure>

    /// - Parameters:
    ///   - account: the user as whom the process will run, or why the look-up failed.
    ///   - files: the contents of its files; empty if it has none.
    init(
        _ request: RunRequest, _ account: Result<Account, Spawner.Failure>,
        files: Files = .success(RunFiles.Contents())
    ) {
        self.request = request
        do throws(Spawner.Failure) {
            // The scheduler asks for them, and is not trusted with what the configuration does not allow.
            let allowed = request.definition.execution.runVariables
            if let fault = request.variables.fault(allowed: allowed) {
                throw Spawner.Failure(outcome: .spawnFailed(errno: "EPERM", what: fault))
            }
            let account = try account.get()
            let contents = try files.get()
            if let message = request.message {
                let command = try MessageCommand(
                    message.order, for: message.notifier, credential: contents.address)
                cost = Self.cost(of: message.order)
                // It gets no variables of the runner, which could name a proxy or a configuration.
                result = .success(
                    Ready(account: account, variables: account.variables, message: command))
                return
            }
            let variables = Self.environment(
                of: request, account: account, file: contents.variables)
            cost = Self.costOfOne + Self.cost(of: files) + request.variables.cost
            result = .success(
                Ready(
                    account: account, variables: variables, credentials: contents.credentials))
        } catch {
            cost =
                request.message.map { Self.cost(of: $0.order) }
                ?? Self.costOfOne + request.variables.cost
            result = .failure(error)
        }
    }

    /// The memory of a request without files, in bytes.
    static let costOfOne = 2 << 10

    /// The memory of a message, which is stored as the order and as the input of the program.
    private static func cost(of order: MessageOrder) -> Int { costOfOne + 2 * order.cost }

    /// The additional memory of the files, in bytes.
    static func cost(of files: Files) -> Int {
        guard case .success(let contents) = files else { return 0 }
        return contents.variables.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 64 }
            + contents.credentials.reduce(0) { $0 + $1.bytes.count + 64 }
    }

    /// The environment starts empty: of the runner's own environment a job gets only the variables
    /// that its configuration names. As in systemd, the file overrides declared variables, and
    /// those override passed ones. What is set for this run overrides all of them.
    private static func environment(
        of request: RunRequest, account: Account, file: [String: String]
    ) -> [String: String] {
        account.variables.merging(passed(to: request.definition)) { $1 }
            .merging(request.definition.environment) { $1 }.merging(file) { $1 }
            .merging(request.variables.values) { $1 }
            .merging([
                "TIMERD_JOB": request.id.firing.job.description,
                "TIMERD_RUN_ID": request.id.description,
                "TIMERD_SCHEDULED": request.id.firing.scheduled.rfc3339Micros,
                "TIMERD_MISSED": "\(request.missed)",
                "TIMERD_ACTIVE_SECONDS": "\(request.active.components.seconds)",
            ]) { $1 }
    }
}

extension Preparation {
    /// The variables to pass from the environment of this process, which does not change after the
    /// start.
    private static func passed(to definition: Definition) -> [String: String] {
        var passed: [String: String] = [:]
        for name in definition.execution.passEnvironment {
            // A value that is not UTF-8 could not be passed on unchanged.
            guard let value = getenv(name), let text = String(validatingCString: value) else {
                continue
            }
            passed[name] = text
        }
        return passed
    }
}

/// Starts processes.
struct Spawner {
    /// How long a process may take to execute its program, and how long its files may take to be
    /// read: longer than a slow disk needs, shorter than the timeout of a file server that does not
    /// answer.
    static let timeout: Duration = .seconds(10)

    private let openFiles: UInt64
    /// The standard input of jobs.
    private let devNull = DevNull()

    /// /dev/null, closed when the last reference is released.
    private final class DevNull: Sendable {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)

        deinit { if descriptor >= 0 { close(descriptor) } }
    }

    /// - Parameter openFiles: the soft limit of open files for jobs that do not declare one.
    init(openFiles: UInt64) { self.openFiles = openFiles }

    /// A process that is setting itself up.
    struct Process {
        var pid: Int32
        var pidfd: Int32
        /// The argument for `cspawn_poll_launch`.
        var launch: Int32
        /// The argument for `cspawn_receive_report`; nil for a run without a PAM session.
        var session: Int32?
    }

    /// The reason why a process could not be created.
    struct Failure: Error {
        var outcome: RunOutcome
    }

    /// Where a process writes its output, and its control group; -1 for none of its own.
    struct SpawnContext {
        var output: Int32
        var error: Int32
        /// The signals whose disposition in this process is not the default; see `cspawn_signals`.
        var signals: UInt64
        var controlGroup: Int32 = -1
        /// What becomes its descriptor 3; -1 for nothing.
        var passed: Int32 = -1
        /// Where the process writes its process id.
        var record: RunRegistry.Place?
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
        let program = Program(definition.command, path: variables["PATH"] ?? "")
        try Self.check(program, variables)
        try Self.checkSession(definition)
        let input = devNull.descriptor
        guard input >= 0 else { throw Self.failure(EBADF, "open /dev/null") }
        let memory = CMemory()
        var session: Int32?
        var start = request(program, variables, definition, ready.account, context, memory)
        start.input = input
        let result = withExtendedLifetime(memory) {
            guard let service = definition.execution.pamService else { return cspawn_start(&start) }
            return Self.startSession(&start, service, ready.account, memory, socket: &session)
        }
        guard result.step == CSPAWN_STEP_NONE else {
            let failure = cspawn_failure(step: result.step, error: result.error, item: -1)
            throw Self.failure(failure, of: definition, ready.account)
        }
        return Process(
            pid: result.pid, pidfd: result.pidfd, launch: result.launch, session: session)
    }

    /// The request as a C structure; what it points to is in `memory`.
    private func request(
        _ program: Program, _ variables: [String: String], _ definition: Definition,
        _ account: Account, _ context: SpawnContext, _ memory: CMemory
    ) -> cspawn_request {
        let execution = definition.execution
        let (confinement, priorities) = (execution.confinement, execution.priorities)
        let limits = Self.names(of: definition).map { name in
            // Nil is no limit, RLIM_INFINITY.
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
            record_file: context.record?.file ?? -1, record_offset: context.record?.offset ?? 0)
    }

    /// The outcome for a run whose process could not be created, or could not execute its program.
    static func failure(
        _ failure: cspawn_failure, of definition: Definition, _ account: Account
    ) -> Failure {
        if failure.step == CSPAWN_STEP_LABEL {
            let labels = SecurityLabel.all(of: definition.execution.confinement)
            let index = Int(failure.item)
            if labels.indices.contains(index) { return labels[index].failure(failure.error) }
        }
        return Self.failure(failure.error, describe(failure, definition, account))
    }

    /// The outcome for a run whose process took too long to execute its program.
    static func tooLate(_ definition: Definition, _ account: Account) -> Failure {
        let program = Program(definition.command, path: "").name
        return failure(
            ETIMEDOUT,
            "run \(program) within \(timeout.components.seconds) seconds in "
                + "\(definition.workingDirectory ?? account.home)")
    }

    /// The limits that the job declares, in the order in which they are set.
    private static func names(of definition: Definition) -> [Execution.Limit] {
        definition.execution.limits.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// C strings end at a NUL byte, and environment entries have the form NAME=value. A text that
    /// would arrive changed is refused.
    private static func check(
        _ program: Program, _ variables: [String: String]
    ) throws(Failure) {
        guard !program.arguments.isEmpty else { throw failure(EINVAL, "exec nothing") }
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

    /// The outcome for a run whose process could not be created.
    static func failure(_ code: Int32, _ what: String) -> Failure {
        let name = cspawn_error_name(code).map { String(cString: $0) } ?? "errno \(code)"
        return Failure(outcome: .spawnFailed(errno: name, what: what))
    }

    private static func describe(
        _ failure: cspawn_failure, _ definition: Definition, _ account: Account
    ) -> String {
        switch failure.step {
        case CSPAWN_STEP_MEMORY: return "allocate memory for a start"
        case CSPAWN_STEP_CLONE: return "clone"
        case CSPAWN_STEP_RECORD: return "record the run"
        case CSPAWN_STEP_SESSION: return "setsid"
        case CSPAWN_STEP_SIGNALS: return "reset the signals"
        case CSPAWN_STEP_NICE: return "set the nice value \(definition.execution.nice)"
        case CSPAWN_STEP_INPUT: return "provide the standard input"
        case CSPAWN_STEP_IO_PRIORITY, CSPAWN_STEP_CPU_POLICY, CSPAWN_STEP_OOM_SCORE:
            return definition.execution.priorities.description(of: failure.step)
        case CSPAWN_STEP_CONTROL_GROUP: return "enter its control group"
        case CSPAWN_STEP_DESCRIPTORS: return "set up the descriptors"
        case CSPAWN_STEP_LIMITS:
            let limits = names(of: definition)
            let index = Int(failure.item)
            guard limits.indices.contains(index) else { return "set the limit of open files" }
            return "set the limit \(limits[index].rawValue)"
        case CSPAWN_STEP_GROUPS: return "set the groups of \(account.name)"
        case CSPAWN_STEP_GROUP: return "set the group of \(account.name)"
        case CSPAWN_STEP_USER: return "switch to the user \(account.name)"
        case CSPAWN_STEP_KEYS: return "join a session of keys"
        case CSPAWN_STEP_CAPABILITIES:
            let names = CapabilitySet.names
            let index = Int(failure.item)
            guard names.indices.contains(index) else { return "limit the capabilities" }
            return "keep the capability \(names[index]), which the runner itself does not have"
        case CSPAWN_STEP_LABEL: return "set the context of the program"
        case CSPAWN_STEP_NO_NEW_PRIVILEGES: return "forbid new privileges"
        case CSPAWN_STEP_HELPER: return describeHelper(failure)
        case CSPAWN_STEP_DIRECTORY:
            return "chdir \(definition.workingDirectory ?? account.home)"
        default: return "exec \(Program(definition.command, path: "").name)"
        }
    }
}

extension Execution.Limit {
    /// Its number for setrlimit(2).
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

/// A command resolved to the files to try and the arguments.
private struct Program {
    /// As the command names it.
    var name: String
    var candidates: [String]
    var arguments: [String]

    /// A name without a slash is searched in `path`, which is the PATH of the job itself. An empty
    /// directory there is the job's working directory (POSIX, 8.3).
    init(_ command: Job.Command, path: String) {
        switch command {
        case .shell(let line): arguments = ["/bin/sh", "-c", line]
        case .arguments(let given): arguments = given
        }
        name = arguments.first ?? ""
        candidates =
            name.isEmpty || name.utf8.contains(UInt8(ascii: "/"))
            ? [name]
            : path.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
                [name] in $0.isEmpty ? "./\(name)" : "\(Substring($0))/\(name)"
            }
    }
}
