// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// A request to start a run, with everything that was looked up or read for it. A user database or a
/// file may answer late, so this is done on other threads, before the runner's thread gets it.
struct Preparation: Sendable {
    let request: RunRequest
    let result: Result<Ready, Spawner.Failure>
    /// The approximate memory that it takes, in bytes.
    let cost: Int

    struct Ready: Sendable {
        var account: Account
        var variables: [String: String]
        /// What is appended to the command for this run; the configuration allows it.
        var arguments = RunArguments()
        var credentials: [Credential] = []
        /// What to send; nil for a run of a job.
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
        cost = Self.cost(of: request) + Self.cost(of: files)
        do throws(Spawner.Failure) {
            // The scheduler requests these variables and arguments. It is not trusted, so there are
            // only those that the configuration, as the runner has read it, allows.
            let execution = request.definition.execution
            if let fault = request.variables.fault(allowed: execution.runVariables)
                ?? request.arguments.fault(allowed: execution.runArguments)
            {
                throw Spawner.Failure(outcome: .spawnFailed(errno: "EPERM", what: fault))
            }
            let account = try account.get()
            let contents = try files.get()
            if let message = request.message {
                let command = try MessageCommand(
                    message.request, for: message.notifier, credential: contents.address)
                // It gets none of the runner's own variables: curl(1) would take a proxy or a
                // configuration file from them.
                result = .success(
                    Ready(account: account, variables: account.variables, message: command))
                return
            }
            let variables = Self.environment(
                of: request, account: account, file: contents.variables)
            result = .success(
                Ready(
                    account: account, variables: variables, arguments: request.arguments,
                    credentials: contents.credentials))
        } catch {
            result = .failure(error)
        }
    }

    /// The approximate memory of a request without variables, arguments, files and a message, in
    /// bytes.
    static let costOfOne = 2 << 10

    /// The approximate memory of a request without its files, in bytes. A message is stored as the
    /// order and as the input of the program.
    static func cost(of request: RunRequest) -> Int {
        costOfOne
            + (request.message.map { 2 * $0.request.cost }
                ?? request.variables.cost + request.arguments.cost)
    }

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
        let run = request.checked ?? request.id
        return account.variables.merging(passed(to: request.definition)) { $1 }
            .merging(request.definition.environment) { $1 }.merging(file) { $1 }
            .merging(request.variables.values) { $1 }
            .merging([
                "TIMERD_JOB": run.firing.job.description,
                "TIMERD_RUN_ID": run.description,
                "TIMERD_SCHEDULED": run.firing.scheduled.rfc3339Micros,
                "TIMERD_MISSED": "\(request.missed)",
                "TIMERD_ACTIVE_SECONDS": "\(request.active.components.seconds)",
            ]) { $1 }
            .merging(request.fleet.map { ["TIMERD_FENCE": "\($0.fence)"] } ?? [:]) { $1 }
            .merging(request.chain?.variables ?? [:]) { $1 }
    }
}

extension Firing.Cause.Chain {
    /// What a run gets to know of the one that caused it.
    fileprivate var variables: [String: String] {
        [
            "TIMERD_CAUSE_JOB": run.firing.job.description, "TIMERD_CAUSE_RUN": run.description,
            "TIMERD_CAUSE_RESULT": result.word,
        ]
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
