// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

/// Starts processes. What is the same for all of them is looked up once.
struct Spawner {
    private let account: Account
    private let openFiles: UInt64

    /// - Parameter openFiles: the soft limit of open files jobs get.
    init(openFiles: UInt64) {
        account = Account.current()
        self.openFiles = openFiles
    }

    /// A process that runs.
    struct Process {
        var pid: Int32
        var pidfd: Int32
    }

    /// Why there is no process.
    struct Failure: Error {
        var outcome: RunOutcome
    }

    /// Starts the process of a run with these descriptors as 1 and 2, and nothing to read at 0.
    ///
    /// It runs in the declared directory, which must be there, or else in its user's home; in `/` where
    /// that is not there just now, as under Debian's cron.
    func spawn(_ request: RunRequest, output: Int32, error: Int32) throws(Failure) -> Process {
        let variables = environment(of: request)
        let program = Program(request.command, path: variables["PATH"] ?? "")
        try Self.check(program, variables)
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw Self.failure(errno, "open /dev/null") }
        defer { close(input) }
        let directory = request.workingDirectory ?? account.home
        let result = withCStrings(program.candidates) { candidates in
            withCStrings(program.arguments) { arguments in
                withCStrings(variables.map { "\($0.key)=\($0.value)" }) { environment in
                    directory.withCString { directory in
                        candidates.withMemoryRebound(
                            to: UnsafePointer<CChar>?.self, capacity: program.candidates.count + 1
                        ) { candidates in
                            var start = cspawn_request(
                                candidates: candidates, arguments: arguments,
                                environment: environment, directory: directory,
                                may_run_in_root: request.workingDirectory == nil, input: input,
                                output: output, error: error, umask: 0o022, nice: 0,
                                open_files: openFiles)
                            return cspawn_start(&start)
                        }
                    }
                }
            }
        }
        guard result.step == CSPAWN_STEP_NONE else {
            throw Self.failure(
                result.error,
                Self.describe(result.step, directory: directory, program: program.name))
        }
        return Process(pid: result.pid, pidfd: result.pidfd)
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
        _ step: cspawn_step, directory: String, program: String
    ) -> String {
        switch step {
        case CSPAWN_STEP_STACK: "allocate a stack"
        case CSPAWN_STEP_CLONE: "clone"
        case CSPAWN_STEP_SESSION: "setsid"
        case CSPAWN_STEP_SIGNALS: "reset the signals"
        case CSPAWN_STEP_NICE: "set the nice value"
        case CSPAWN_STEP_DIRECTORY: "chdir \(directory)"
        case CSPAWN_STEP_DESCRIPTORS: "set up the descriptors"
        case CSPAWN_STEP_LIMITS: "set the limit of open files"
        default: "exec \(program)"
        }
    }

    /// Built from nothing: what the daemon's own environment holds is no job's business.
    private func environment(of request: RunRequest) -> [String: String] {
        account.variables.merging(request.environment) { $1 }.merging([
            "TIMERD_JOB": request.id.firing.job.description,
            "TIMERD_RUN_ID": request.id.description,
            "TIMERD_SCHEDULED": request.id.firing.scheduled.rfc3339,
            "TIMERD_MISSED": "\(request.missed)",
            "TIMERD_ACTIVE_SECONDS": "\(request.active.components.seconds)",
        ]) { $1 }
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
            : path.split(separator: ":", omittingEmptySubsequences: false).map { [name] in
                $0.isEmpty ? "./\(name)" : "\($0)/\(name)"
            }
    }
}

/// The strings as C has them: an array of pointers ended by NULL, good until `body` returns.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let pointers = strings.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    var array = pointers + [nil]
    return array.withUnsafeMutableBufferPointer { buffer in
        // An array of at least its NULL has an address.
        body(buffer.baseAddress!)
    }
}
