// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
import Glibc
import TimerControl

/// The default places: the system's for root, the user's for others. What systemd passes to a
/// service comes before both (systemd.exec(5), StateDirectory=).
package enum Standard {
    /// What the unit of systemd starts the system's daemon with.
    static let systemConfig = "/etc/timerd/timerd.toml"

    package static var config: String {
        if geteuid() == 0 { return systemConfig }
        return "\(base("XDG_CONFIG_HOME", "/.config"))/timerd/timerd.toml"
    }

    package static var state: String {
        if let given = first("STATE_DIRECTORY") { return given }
        if geteuid() == 0 { return "/var/lib/timerd" }
        return "\(base("XDG_STATE_HOME", "/.local/state"))/timerd"
    }

    package static var runtime: String {
        if let given = first("RUNTIME_DIRECTORY") { return given }
        return ControlPath.runtimeDirectory(uid: geteuid(), environment: environment)
    }

    /// Whether the service manager sets the directories for state or for sockets.
    package static var isFromServiceManager: Bool {
        first("STATE_DIRECTORY") != nil || first("RUNTIME_DIRECTORY") != nil
    }

    /// Whether the path leads to the standard configuration.
    package static func isConfig(_ path: String) -> Bool { leads(path, to: config) }

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

/// The option `--config`, which several commands have.
package struct ConfigOption: ParsableArguments {
    package init() {}

    @Option(
        help: ArgumentHelp(
            "The configuration file; files in jobs.d beside it are read as well.", valueName: "file"
        ),
        completion: .file())
    package var config: String = Standard.config
}

/// The options for the directories of the daemon.
package struct DirectoryOptions: ParsableArguments {
    package init() {}

    @Option(
        help: ArgumentHelp(
            "The directory of the saved state (default: \(Standard.state)).",
            valueName: "directory"),
        completion: .directory)
    package var state: String?

    @Option(
        help: ArgumentHelp(
            """
            The directory for what does not need to survive a reboot (default: run in that of --state, or \
            \(Standard.runtime) without --state).
            """, valueName: "directory"),
        completion: .directory)
    var runtime: String?

    package var statePath: String { state ?? Standard.state }

    /// If only the state directory is given, the runtime directory is inside it. The standard one
    /// contains the heartbeat, the runner and the socket of another daemon.
    package var runtimePath: String { runtime ?? state.map { "\($0)/run" } ?? Standard.runtime }
}
