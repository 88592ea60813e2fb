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

/// Runs another program and waits for it.
enum Program {
    /// The standard output of the program; nil if it cannot be started or fails. It is searched in
    /// PATH.
    static func output(of arguments: [String]) -> String? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child = pid_t()
        let code = posix_spawnp(&child, arguments[0], &actions, nil, &words, environ)
        close(ends[1])
        defer { close(ends[0]) }
        guard code == 0 else { return nil }
        let bytes = Descriptor.read(ends[0], upTo: 65_536) ?? []
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
