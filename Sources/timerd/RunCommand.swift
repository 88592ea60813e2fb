// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl

/// `timerd run`: the daemon, in the foreground.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the daemon in the foreground.",
        discussion: """
            SIGTERM and SIGINT stop it cleanly, SIGHUP reads the configuration again.
            """)

    @Option(
        help: "The configuration file; files in jobs.d beside it are read as well.",
        completion: .file(extensions: ["toml"]))
    var config: String = Standard.config

    @Option(help: "The directory of the durable account.", completion: .directory)
    var state: String = Standard.state

    @Option(help: "The directory of what need not outlive a reboot.", completion: .directory)
    var runtime: String = Standard.runtime

    @Option(
        help: "The control socket (default: control.sock in the runtime directory).",
        completion: .file())
    var socket: String?

    @Option(
        help: """
            The socket of a runner that somebody else starts and stops (default: one is started, and \
            stopped with the daemon).
            """)
    var runner: String?

    @Option(help: "Where the log goes: the journal if standard error leads there, unless told.")
    var log: LogTarget = .auto

    enum LogTarget: String, ExpressibleByArgument, CaseIterable {
        case auto
        case journal
        case stderr
    }

    func run() throws {
        let options = Daemon.Options(
            config: config, state: state, runtime: runtime,
            socket: socket ?? "\(runtime)/\(ControlPath.fileName)", runner: runner, log: log)
        try Daemon.run(options)
    }
}

/// Where things are if nobody says otherwise: the system's places for root, the user's own for others,
/// and before both what systemd hands a service (systemd.exec(5), StateDirectory=).
enum Standard {
    static var config: String {
        if geteuid() == 0 { return "/etc/timerd/timerd.toml" }
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
