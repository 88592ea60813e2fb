// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerControl

/// Finds out whether the daemon of a control socket is stopped. If systemd holds the socket, a
/// connection starts the daemon, which a command that only reads must not do.
struct StoppedDaemon {
    /// The path of the control socket, which says which daemon is meant.
    let path: String
    /// The command of the service manager, such as `systemctl --user`.
    let manager: String

    private static let units = ["timerd.service", "timerd.socket"]

    /// A sentence that says that the daemon is stopped; nil if it is running, starting, or if this
    /// cannot be found out. In that case the socket itself answers.
    func fault() -> String? {
        guard !isAlive, let units = askManager() else { return nil }
        return Self.fault(units, manager)
    }

    /// Connects to the datagram socket that a running daemon has in its runtime directory. For
    /// systemd's service this directory is below the directory of the control socket; for others it
    /// is the same directory.
    private var isAlive: Bool {
        let directory = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        return ["/daemon", ""].contains { place in
            UnixSocket.isBound(datagram: "\(directory)\(place)/\(ControlPath.aliveName)")
        }
    }

    /// The output of `systemctl show` for the units; nil if it failed.
    private func askManager() -> String? {
        let words = manager.split(separator: " ").map(String.init)
        let asked = ["show", "--property=Id,ActiveState,Job"] + Self.units
        return Program.output(of: words + asked)
    }

    /// The meaning of the output of `systemctl show`, which has a line `NAME=VALUE` for each
    /// property and an empty line after each unit.
    static func fault(_ answer: String, _ manager: String) -> String? {
        var service: [Substring: Substring] = [:]
        var socket: [Substring: Substring] = [:]
        for unit in answer.split(separator: "\n\n") {
            var properties: [Substring: Substring] = [:]
            for line in unit.split(separator: "\n") {
                guard let sign = line.firstIndex(of: "=") else { continue }
                properties[line[..<sign]] = line[line.index(after: sign)...]
            }
            if properties["Id"] == "timerd.service" { service = properties }
            if properties["Id"] == "timerd.socket" { socket = properties }
        }
        // A service that is about to start or restart has a job, or is activating.
        guard socket["ActiveState"] == "active", (service["Job"] ?? "").isEmpty else { return nil }
        switch service["ActiveState"] {
        case "inactive": return "timerd is stopped; start it with `\(manager) start timerd`"
        case "failed":
            return "timerd has failed and is stopped; `\(manager) status timerd` says why"
        default: return nil
        }
    }
}
