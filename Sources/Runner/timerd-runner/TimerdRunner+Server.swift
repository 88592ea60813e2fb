// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import HostFiles
import HostThreads
import TimerConfig
import TimerCore
import TimerRunner
import TimerRunnerProtocol

/// The server with the settings of the options and of the configuration.
extension TimerdRunner {
    /// The server, with its socket and directories.
    ///
    /// - Parameter program: the program that the service manager restarts when this process ends;
    ///   nil if there is no service manager.
    func makeServer(for user: UInt32, replacing program: OwnProgram?) throws -> RunnerServer {
        let files = RunnerFiles(in: runtime, socket: socket, for: user)
        try files.begin()
        let registry = try files.registry()
        let credentials = try files.credentials()
        let socket = try files.bind()
        let path = config
        let trace = ConfigTrace(path)
        var settings = RunnerServer.Settings(
            socket: socket, users: [user, geteuid()], registry: registry.descriptor,
            definitions: { last in
                // Reading needs several times the memory of its result.
                clinux_heap_join_freed(1)
                defer {
                    clinux_heap_give_back()
                    clinux_heap_join_freed(0)
                }
                return Self.read(path, trace, changing: last)
            }, log: { Self.log($0) })
        settings.files = files
        settings.options.adoptsOrphans = true
        settings.options.runtime = try files.resolvedDirectory()
        settings.options.credentials = try credentials.resolvedPath()
        settings.options.usesControlGroups = controlGroups && enterControlGroup()
        settings.idleMax = exitIdle
        settings.messageUser = try messageUser()
        settings.messageCredentials = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }
        if let program { settings.isReplaced = { program.isReplaced() } }
        settings.hasChanged = { trace.hasChanged() }
        settings.isAffected = { trace.isAffected($0) }
        settings.kept = { trace.kept }
        settings.unchangedFor = { trace.unchangedFor }
        settings.discard = { jobs in
            do throws(Directory.Failure) {
                try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: path).remove(
                    jobs.map(\.description))
            } catch { Self.log("\(error)") }
        }
        settings.didApply = { trace.take() }
        settings.freeFormer = {
            trace.freeFormer()
            clinux_heap_give_back()
        }
        // A scheduler with its own user, as under systemd, cannot shut the runner down, and no job
        // may run as that user.
        let isApart = user != geteuid()
        settings.allowsShutDown = !isApart
        settings.options.refusedUser = isApart ? user : nil
        return try RunnerServer(settings)
    }

    /// Moves this process into its own control group, beside those of the runs. If the system
    /// delegates none, as with version 1 for users, runs have no control groups.
    /// - Returns: whether each run can have its own control group.
    private func enterControlGroup() -> Bool {
        do throws(Runner.Failure) {
            try Runner.enterControlGroup()
            return true
        } catch {
            Self.log(
                "no control groups for runs: \(error); processes that leave the process group of their run are not ended with it"
            )
            return false
        }
    }

    /// Reads the configuration like the scheduler, with the same checks; jobs with errors are not
    /// loaded here either.
    ///
    /// - Parameter last: the definitions of the last reading, if they are in use.
    static func read(
        _ path: String, _ trace: ConfigTrace, changing last: RunnerServer.Definitions?
    ) -> Result<RunnerServer.Definitions, RunnerServer.Unreadable> {
        // No run starts before the end of the first reading, so none is delayed by it.
        var throttle = trace.isRead ? ThreadThrottle() : nil
        trace.note()
        do throws(ConfigError) {
            let pause: (() -> Void)? =
                throttle == nil ? nil : { throttle?.pauseIfDue() ?? () }
            var changed: [Job.Name] = []
            let reading = try ConfigReader.load(
                changesSince: last == nil ? nil : trace.contents,
                jobs: { unchanged in
                    let jobs = trace.jobs(of: unchanged, eachJob: pause ?? {})
                    changed = jobs.inOthers
                    return jobs.inThem
                }, path: path, ownerUID: geteuid(),
                // It starts what the scheduler says and computes no times, so that a time zone that
                // is gone from the machine keeps no job from it.
                computesTimes: false, eachJob: pause)
            var definitions: RunnerServer.Definitions = [:]
            if !reading.unchanged.isEmpty, let last {
                definitions = last
                for job in changed { definitions[job] = nil }
            }
            definitions.reserveCapacity(definitions.count + reading.jobSet.jobs.count)
            for job in reading.jobSet.jobs { definitions[job.name] = Definition(job) }
            trace.note(reading, eachJob: pause)
            return .success(definitions)
        } catch {
            return .failure(RunnerServer.Unreadable("\(error.file): \(error.message)"))
        }
    }
}
