// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// A request with everything that had to be looked up or read for it, which may take its time: that is done
/// before the runner's thread has it.
struct Preparation: Sendable {
    let request: RunRequest
    let result: Result<Ready, Spawner.Failure>
    /// How many bytes of memory it takes, roughly.
    let cost: Int

    struct Ready: Sendable {
        var account: Account
        var variables: [String: String]
        var credentials: [Credential] = []
    }

    /// What is in the files of a run, or why that cannot be known.
    typealias Files = Result<RunFiles.Contents, Spawner.Failure>

    /// - Parameters:
    ///   - account: whose process it is to be, as it was found.
    ///   - files: what is in its files; nothing where it has none.
    init(
        _ request: RunRequest, _ account: Result<Account, Spawner.Failure>,
        files: Files = .success(RunFiles.Contents())
    ) {
        self.request = request
        do throws(Spawner.Failure) {
            let account = try account.get()
            let contents = try files.get()
            let variables = Self.environment(
                of: request, account: account, file: contents.variables)
            cost = Self.costOfOne + Self.cost(of: files)
            result = .success(
                Ready(
                    account: account, variables: variables, credentials: contents.credentials))
        } catch {
            cost = Self.costOfOne
            result = .failure(error)
        }
    }

    /// What one takes without files.
    static let costOfOne = 2 << 10

    /// What they add to that.
    static func cost(of files: Files) -> Int {
        guard case .success(let contents) = files else { return 0 }
        return contents.variables.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 64 }
            + contents.credentials.reduce(0) { $0 + $1.bytes.count + 64 }
    }

    /// Built from nothing: of the runner's own environment a job has only the variables that its configuration
    /// names. As in systemd the file has the last word over what is declared, and that over what is passed.
    private static func environment(
        of request: RunRequest, account: Account, file: [String: String]
    ) -> [String: String] {
        account.variables.merging(passed(to: request.definition)) { $1 }
            .merging(request.definition.environment) { $1 }.merging(file) { $1 }
            .merging([
                "TIMERD_JOB": request.id.firing.job.description,
                "TIMERD_RUN_ID": request.id.description,
                "TIMERD_SCHEDULED": request.id.firing.scheduled.rfc3339,
                "TIMERD_MISSED": "\(request.missed)",
                "TIMERD_ACTIVE_SECONDS": "\(request.active.components.seconds)",
            ]) { $1 }
    }
}

extension Preparation {
    /// The environment of this process, in which nothing changes once it has begun to serve.
    private static func passed(to definition: Definition) -> [String: String] {
        var passed: [String: String] = [:]
        for name in definition.execution.passEnvironment {
            // A value that is not UTF-8 could not be given back as it is.
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
    /// How long a process may take to become its program, and its environment file to be read: longer than a slow
    /// disk, shorter than a file server that does not answer.
    static let timeout: Duration = .seconds(10)

    private let openFiles: UInt64
    /// What jobs have to read.
    private let devNull = DevNull()

    /// /dev/null, as long as somebody holds it.
    private final class DevNull: Sendable {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)

        deinit { if descriptor >= 0 { close(descriptor) } }
    }

    /// - Parameter openFiles: the soft limit of open files jobs get that declare none.
    init(openFiles: UInt64) { self.openFiles = openFiles }

    /// A process that sets itself up.
    struct Process {
        var pid: Int32
        var pidfd: Int32
        /// What `cspawn_look` is asked with.
        var launch: Int32
        /// What `cspawn_hear` is asked with; nil for a run without a PAM session.
        var session: Int32?
    }

    /// Why there is no process.
    struct Failure: Error {
        var outcome: RunOutcome
    }

    /// Where a process writes to, and the control group it is in; -1 for none of its own.
    struct SpawnContext {
        var output: Int32
        var error: Int32
        /// What this process does with signals otherwise than by default, as `cspawn_signals` tells it.
        var signals: UInt64
        var controlGroup: Int32 = -1
        /// Where its process writes down which it is.
        var mark: RunRegistry.Place?
    }

    /// Makes the process of a run in these context, with nothing to read at 0. It sets itself up, and nobody
    /// waits for it.
    ///
    /// It runs in the declared directory, which must be there, or else in its user's home; in `/` where
    /// that is not there just now, as under Debian's cron.
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

    /// What is to be started, as C has it: what it points to is in `memory`.
    private func request(
        _ program: Program, _ variables: [String: String], _ definition: Definition,
        _ account: Account, _ context: SpawnContext, _ memory: CMemory
    ) -> cspawn_request {
        let execution = definition.execution
        let confinement = execution.confinement
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
            input: -1, output: context.output, error: context.error, passed: -1,
            umask: execution.umask, nice: Int32(clamping: execution.nice),
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
            control_group: context.controlGroup, mark: context.mark?.mark,
            mark_file: context.mark?.file ?? -1, mark_offset: context.mark?.offset ?? 0)
    }

    /// The outcome for a run whose process could not be, or could not become its program.
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

    /// The outcome for a run whose process took too long to become its program.
    static func tooLate(_ definition: Definition, _ account: Account) -> Failure {
        let program = Program(definition.command, path: "").name
        return failure(
            ETIMEDOUT,
            "run \(program) within \(timeout.components.seconds) seconds in "
                + "\(definition.workingDirectory ?? account.home)")
    }

    /// The limits it declares, in the order in which they are set.
    private static func names(of definition: Definition) -> [Execution.Limit] {
        definition.execution.limits.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// C's strings end at a NUL byte, and an environment is lines of NAME=value: what would arrive as
    /// something else than was asked for is refused.
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

    /// The outcome for a run whose process could not be.
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
        case CSPAWN_STEP_MARK: return "mark the run"
        case CSPAWN_STEP_SESSION: return "setsid"
        case CSPAWN_STEP_SIGNALS: return "reset the signals"
        case CSPAWN_STEP_NICE: return "set the nice value \(definition.execution.nice)"
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

/// What a command comes to: the files to try and the arguments.
private struct Program {
    /// As the command names it.
    var name: String
    var candidates: [String]
    var arguments: [String]

    /// A name without a slash is looked for in `path`, the one the job itself gets. An empty directory
    /// there is the job's working directory (POSIX, 8.3).
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
