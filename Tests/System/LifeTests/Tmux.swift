// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// A real terminal with a shell (tmux(1)).
final class Tmux {
    static let program: String? = ["/usr/bin/tmux", "/usr/local/bin/tmux", "/bin/tmux"].first {
        (path: String) in
        access(path, X_OK) == 0
    }
    static var isInstalled: Bool { program != nil }

    private let socket: String

    /// - Parameters:
    ///   - folder: the place of its socket.
    ///   - variables: the environment of the shell, in addition to the variables that are always
    ///     needed.
    init(in folder: String, columns: Int = 80, rows: Int = 24, _ variables: [String: String]) throws
    {
        socket = "\(folder)/tmux"
        let environment = [
            "PATH": "\(LiveDaemon.programs):/usr/bin:/bin", "TERM": "screen", "LANG": "C.UTF-8",
            "PS1": "$ ", "HOME": folder,
        ].merging(variables) { $1 }.map { "\($0)=\($1)" }
        // Not Foundation's Process, which waits by a descriptor that the server would keep open.
        let client = try Spawned(
            [Self.program ?? "/usr/bin/tmux", "-S", socket, "-u", "-f", "/dev/null"]
                + ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "--"]
                + ["/usr/bin/env", "-i"] + environment.sorted() + ["/bin/sh"],
            ["LANG": "C.UTF-8"], log: "\(folder)/tmux.log")
        try #require(client.wait() == 0)
        _ = waitFor("the shell's prompt") { $0.contains { $0.hasPrefix("$") } }
    }

    deinit { _ = try? run(["kill-server"]) }

    @discardableResult
    private func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program ?? "/usr/bin/tmux")
        process.arguments = ["-S", socket] + arguments
        process.environment = ["LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }

    /// Types a line, and Enter.
    func enter(_ line: String) throws {
        try run(["send-keys", "-l", line])
        try press("Enter")
    }

    /// Clears the screen and then types a line, so that what is read next is of this line: what is
    /// typed while `clear` runs is echoed before it, and the output would begin behind the prompt.
    func enterOnEmptyScreen(
        _ line: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        try enter("clear")
        _ = waitFor("an empty screen", location) { $0.first == "$" && $0[1].isEmpty }
        try enter(line)
    }

    /// Presses keys, by their names in tmux: `p`, `Up`, `C-c`.
    func press(_ keys: String...) throws { try run(["send-keys"] + keys) }

    func resize(columns: Int, rows: Int) throws {
        try run(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
    }

    /// The rows of the screen, without spaces at their ends.
    var screen: [String] {
        ((try? run(["capture-pane", "-p"])) ?? "").split(
            separator: "\n", omittingEmptySubsequences: false
        )
        .map { String($0) }
    }

    /// Whether a program has the whole screen, the cursor is seen, and long lines are wrapped.
    var modes: String {
        ((try? run(["display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}"])) ?? "")
            .replacing("\n", with: "")
    }

    /// The process of the shell.
    var shell: Int32? {
        (try? run(["display-message", "-p", "#{pane_pid}"])).flatMap {
            Int32($0.replacing("\n", with: ""))
        }
    }

    /// Waits until the screen fulfils a condition, and returns it.
    func waitFor(
        _ what: String, _ location: SourceLocation = #_sourceLocation,
        _ isSo: ([String]) -> Bool
    ) -> [String] {
        let deadline = LiveDaemon.now() + 120
        while LiveDaemon.now() < deadline {
            let screen = screen
            if isSo(screen) { return screen }
            usleep(50_000)
        }
        let last = screen
        Issue.record(
            "\(what) is not seen:\n\(last.joined(separator: "\n"))", sourceLocation: location)
        return last
    }
}
