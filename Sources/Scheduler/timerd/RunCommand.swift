// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerLog
import TimerTools

/// `timerd run` is the daemon, in the foreground.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the daemon in the foreground.",
        discussion: """
            SIGTERM and SIGINT stop it cleanly, SIGHUP reads the configuration again.
            """)

    @OptionGroup var config: ConfigOption
    @OptionGroup var directories: DirectoryOptions

    @Option(
        help: ArgumentHelp(
            "The control socket (default: control.sock in the runtime directory).",
            valueName: "path"), completion: .file())
    var socket: String?

    @Option(
        help: ArgumentHelp(
            """
            The socket of a runner that is started and stopped by something else (default: one is started, and \
            stopped with the daemon).
            """, valueName: "path"), completion: .file())
    var runner: String?

    @Option(
        help: ArgumentHelp(
            "The socket of timerd-fleet, for a configuration with a fleet.", valueName: "path"),
        completion: .file())
    var fleet: String?

    @Flag(
        help:
            "Start although the saved state that was here is gone or was replaced by an older one.")
    var acceptDataLoss = false

    @Option(
        help: ArgumentHelp(
            """
            Where the log goes; auto is the journal if standard error leads there, and else stderr; json is standard \
            error as well, one object on a line.
            """,
            valueName: "target"))
    var log = LogTarget.auto

    @Option(
        help: ArgumentHelp(
            "The lowest level that is logged; debug also has what was restored for each job at a start.",
            valueName: "level"))
    var logLevel = LogLevel.info

    /// Another configuration is tested beside a daemon that uses the standard one. With the
    /// standard state directory, its jobs would continue the saved state of that daemon.
    func validate() throws {
        guard directories.state == nil, !Standard.isFromServiceManager,
            !Standard.isConfig(config.config)
        else { return }
        throw ValidationError(
            """
            --state is missing: the saved state in \(Standard.state) belongs to the jobs in \(Standard.config). \
            For those in \(config.config), name another directory, such as --state ./state
            """)
    }

    /// - Parameter zoneFault: what is wrong with the environment variable TZ, for the log.
    func run(zoneFault: String?) throws {
        let runtime = directories.runtimePath
        try Daemon.run(
            Daemon.Options(
                config: config.config, state: directories.statePath, runtime: runtime,
                socket: socket ?? "\(runtime)/\(ControlPath.fileName)", runner: runner,
                fleet: fleet, log: log, logLevel: logLevel, acceptsDataLoss: acceptDataLoss,
                zoneFault: zoneFault)
        )
    }
}

extension LogTarget: ExpressibleByArgument {}
extension LogLevel: ExpressibleByArgument {}
