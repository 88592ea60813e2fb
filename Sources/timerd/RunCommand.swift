// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Options
import TimerControl

/// `timerd run`: the daemon, in the foreground.
struct RunCommand {
    static let usage = Usage(
        "run", "Run the daemon in the foreground.",
        discussion: """
            SIGTERM and SIGINT stop it cleanly, SIGHUP reads the configuration again.
            """,
        options: [
            .config,
            .value(
                "state", "DIRECTORY", "The directory of the durable account.",
                standard: Standard.state, completion: .directory),
            .value(
                "runtime", "DIRECTORY", "The directory of what need not outlive a reboot.",
                standard: Standard.runtime, completion: .directory),
            .value(
                "socket", "PATH", "The control socket.",
                standard: "control.sock in the runtime directory", completion: .file),
            .value(
                "runner", "PATH", "The socket of a runner that somebody else starts and stops.",
                standard: "one is started, and stopped with the daemon", completion: .file),
            .flag(
                "accept-data-loss",
                "Start although the saved state that was here is gone or was replaced by an older one."
            ),
            .value(
                "log", "TARGET",
                "Where the log goes: the journal if standard error leads there, unless told.",
                standard: LogTarget.auto.rawValue,
                completion: .words(LogTarget.allCases.map(\.rawValue))),
        ])

    enum LogTarget: String, CaseIterable {
        case auto
        case journal
        case stderr
    }

    private let options: Daemon.Options

    /// - Parameter zoneFault: what was wrong with the environment variable TZ, to be logged.
    init(_ given: Given, zoneFault: String?) {
        let runtime = given["runtime"] ?? Standard.runtime
        options = Daemon.Options(
            config: given["config"] ?? Standard.config, state: given["state"] ?? Standard.state,
            runtime: runtime, socket: given["socket"] ?? "\(runtime)/\(ControlPath.fileName)",
            runner: given["runner"], log: given["log"].flatMap { LogTarget(rawValue: $0) } ?? .auto,
            acceptsDataLoss: given.has("accept-data-loss"),
            zoneFault: zoneFault)
    }

    func run() throws { try Daemon.run(options) }
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
