// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerControl

/// `timerd init`: writes a first configuration, which works as it is.
package struct InitCommand: ParsableCommand {
    package init() {}

    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Write a first configuration, if there is none.",
        discussion: """
            The directory jobs.d is made beside it, in which each job can have a file of its own, as timerctl add \
            writes them.
            """)

    @OptionGroup var config: ConfigOption

    /// Comments, and a job that shows what one looks like.
    static let text = """
        # The configuration of timerd. timerd.toml(5) has all keys; `timerd check` checks this file, and `timerctl reload`
        # reads it again. Files of the directory jobs.d are read as well: `timerctl add` writes one.

        [job.hello]
        description = "An example, which can be deleted"
        every = "1h"
        command = ["/bin/echo", "hello"]

        """

    func run() throws {
        let path = config.config
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        for directory in [folder, "\(folder)/jobs.d"] { try Self.make(directory) }
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard file >= 0 else {
            if errno == EEXIST {
                throw Self.fail("\(path) is there already, and was not changed")
            }
            throw Self.fail("\(path): cannot be written: \(systemError())")
        }
        defer { close(file) }
        guard EditedFile.write(Array(Self.text.utf8), to: file), fsync(file) == 0 else {
            let why = systemError()
            unlink(path)
            throw Self.fail("\(path): cannot be written: \(why)")
        }
        print(
            """
            \(path): written
            To start timerd: \(Self.start(path))
            To add a job:    timerctl add backup --every 6h -- restic backup /srv
            """)
    }

    private static func start(_ path: String) -> String {
        guard Standard.isConfig(path) else { return "timerd run --config \(path)" }
        return geteuid() == 0
            ? "systemctl enable --now timerd" : "systemctl --user enable --now timerd"
    }

    /// Makes a directory, and those above it, as far as they are not there.
    private static func make(_ path: String) throws {
        guard !path.isEmpty, access(path, F_OK) != 0 else { return }
        if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            try make(String(path[..<slash]))
        }
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw fail("\(path): cannot be made: \(systemError())")
        }
    }

    private static func fail(_ message: String) -> any Error {
        Output.complain("timerd: \(message)")
        return ExitCode(1)
    }
}
