// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

/// Starts processes. What is the same for all of them is looked up once.
struct Spawner {
    /// Where programs named without a slash are looked for.
    static let searchPath = [
        "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
    ]

    private let user: [String: String]
    private let home: String
    private let openFiles: UInt64

    /// - Parameter openFiles: the soft limit of open files jobs get.
    init(openFiles: UInt64) {
        let (name, home, shell) = Self.account()
        self.home = home
        self.openFiles = openFiles
        user = [
            "PATH": Self.searchPath.joined(separator: ":"), "HOME": home, "SHELL": shell,
            "USER": name, "LOGNAME": name,
        ]
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
    func spawn(_ request: RunRequest, output: Int32, error: Int32) throws(Failure) -> Process {
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw Self.failure(errno, "open /dev/null") }
        defer { close(input) }
        let (candidates, arguments) = Self.program(of: request.command)
        let environment = environment(of: request).map { "\($0.key)=\($0.value)" }
        let directory = request.workingDirectory ?? home
        let result = withCStrings(candidates) { candidates in
            withCStrings(arguments) { arguments in
                withCStrings(environment) { environment in
                    directory.withCString { directory in
                        candidates.withMemoryRebound(
                            to: UnsafePointer<CChar>?.self, capacity: 1
                        ) { candidates in
                            var start = cspawn_request(
                                candidates: candidates, arguments: arguments,
                                environment: environment, directory: directory, input: input,
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
                Self.describe(result.step, directory: directory, program: arguments[0]))
        }
        return Process(pid: result.pid, pidfd: result.pidfd)
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
        case CSPAWN_STEP_LIMITS: "set the limit of open files"
        case CSPAWN_STEP_DIRECTORY: "chdir \(directory)"
        case CSPAWN_STEP_DESCRIPTORS: "set up the descriptors"
        default: "exec \(program)"
        }
    }

    private static func program(of command: Job.Command) -> (candidates: [String], [String]) {
        switch command {
        case .shell(let line): (["/bin/sh"], ["/bin/sh", "-c", line])
        case .arguments(let arguments):
            if arguments[0].utf8.contains(UInt8(ascii: "/")) {
                ([arguments[0]], arguments)
            } else {
                (searchPath.map { "\($0)/\(arguments[0])" }, arguments)
            }
        }
    }

    /// Built from nothing: what the daemon's own environment holds is no job's business.
    private func environment(of request: RunRequest) -> [String: String] {
        user.merging(request.environment) { $1 }.merging([
            "TIMERD_JOB": request.id.firing.job.description,
            "TIMERD_RUN_ID": request.id.description,
            "TIMERD_SCHEDULED": request.id.firing.scheduled.rfc3339,
            "TIMERD_MISSED": "\(request.missed)",
            "TIMERD_ACTIVE_SECONDS": "\(request.active.components.seconds)",
        ]) { $1 }
    }

    /// Name, home and shell of the user this process runs as, with what login(1) takes where there is no
    /// entry. A home that is not there is `/`, as systemd and cron have it for such users.
    private static func account() -> (name: String, home: String, shell: String) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil else {
            return ("\(geteuid())", "/", "/bin/sh")
        }
        let home = String(cString: entry.pw_dir)
        let shell = String(cString: entry.pw_shell)
        return (
            String(cString: entry.pw_name), access(home, X_OK) == 0 ? home : "/",
            shell.isEmpty ? "/bin/sh" : shell
        )
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
