// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerConfig
import TimerCore

/// `timerd check`: reads a configuration as the daemon would, and says what it finds.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check a configuration; exits with 1 on any error.")

    @Argument(help: "The configuration file.")
    var file: String = Standard.config

    func run() throws {
        let errors: [ConfigError]
        var jobs = 0
        do throws(ConfigError) {
            let reading = try ConfigReader.load(path: file, ownerUID: geteuid())
            errors = reading.errors
            jobs = reading.roster.jobs.count
        } catch {
            errors = [error]
        }
        for error in errors { report("\(error)") }
        guard errors.isEmpty else {
            report(errors.count == 1 ? "1 error" : "\(errors.count) errors")
            throw ExitCode(1)
        }
        print("\(file): \(jobs == 1 ? "1 job" : "\(jobs) jobs"), no errors")
    }

    private func report(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
