// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct CatVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "The definition of a job as it is written, with its file and line.",
        discussion: """
            The file is read, with your rights, and not what the daemon has loaded of it. `timerctl show JOB --defaults` \
            also has the values that are not written there.
            """)
    static let reading = Reading.all

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    func validate() throws {
        guard !connection.json else {
            throw ValidationError("--json: a definition is TOML; `timerctl show` prints JSON")
        }
    }

    func run() throws {
        let config = try connection.ask(.oneOffs(), for: OneOffsReply.self).config
        let status = TimerdProgram.run([
            "check", "--config", config, "--text", argument.job.description,
        ])
        guard status != -1 else { throw Connection.fail(1, TimerdProgram.startFailure(errno)) }
        guard status == 0 else { throw ExitCode(status) }
    }
}
