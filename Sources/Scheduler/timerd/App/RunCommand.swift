// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl

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

    enum LogTarget: String, CaseIterable, ExpressibleByArgument {
        case auto
        case journal
        case stderr
        case json
    }

    enum LogLevel: String, CaseIterable, ExpressibleByArgument {
        case debug
        case info
        case notice
        case warning
        case error
    }

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

/// The default places: the system's for root, the user's for others. What systemd passes to a
/// service comes before both (systemd.exec(5), StateDirectory=).
enum Standard {
    /// What the unit of systemd starts the system's daemon with.
    static let systemConfig = "/etc/timerd/timerd.toml"

    static var config: String {
        if geteuid() == 0 { return systemConfig }
        return "\(base("XDG_CONFIG_HOME", "/.config"))/timerd/timerd.toml"
    }

    static var state: String {
        if let given = first("STATE_DIRECTORY") { return given }
        if geteuid() == 0 { return "/var/lib/timerd" }
        return "\(base("XDG_STATE_HOME", "/.local/state"))/timerd"
    }

    static var runtime: String {
        if let given = first("RUNTIME_DIRECTORY") { return given }
        return ControlPath.runtimeDirectory(uid: geteuid(), environment: environment)
    }

    /// Whether the service manager sets the directories for state or for sockets.
    static var isFromServiceManager: Bool {
        first("STATE_DIRECTORY") != nil || first("RUNTIME_DIRECTORY") != nil
    }

    /// Whether the path leads to the standard configuration.
    static func isConfig(_ path: String) -> Bool { leads(path, to: config) }

    /// Whether two paths are of the same file.
    static func leads(_ path: String, to other: String) -> Bool {
        func resolved(_ path: String) -> String {
            guard let real = realpath(path, nil) else { return path }
            defer { free(real) }
            return String(cString: real)
        }
        return path == other || resolved(path) == resolved(other)
    }

    private static var environment: [String: String] {
        ["XDG_RUNTIME_DIR": value("XDG_RUNTIME_DIR") ?? ""]
    }

    private static func base(_ name: String, _ below: String) -> String {
        if let given = value(name), given.hasPrefix("/") { return given }
        return (value("HOME") ?? "") + below
    }

    /// systemd joins several directories with colons.
    private static func first(_ name: String) -> String? {
        value(name)?.split(separator: ":").first.map(String.init)
    }

    private static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
