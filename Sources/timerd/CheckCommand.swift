// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Options
import TimerConfig
import TimerCore

/// `timerd check`: reads a configuration as the daemon would, and says what it finds.
struct CheckCommand {
    static let usage = Usage(
        "check", "Check a configuration; exits with 1 on any error.",
        discussion: """
            What is no error and may still not be meant is a warning, with a code in brackets: never-fires, \
            day-fields-both-restricted, uneven-step, skipped-months, leap-day-only, dst-skipped-time, \
            dst-repeated-time.
            """,
        operand: Usage.Operand(
            "FILE", "The configuration file.", standard: Standard.config, completion: .file))

    private let file: String

    init(_ given: Given) { file = given.operand ?? Standard.config }

    func run() throws {
        let errors: [ConfigError]
        var warnings: [ConfigWarning] = []
        var jobs = 0
        let clocks: Clocks
        do throws(Clocks.Failure) { clocks = try Clocks() } catch {
            throw UsageError(error.description)
        }
        do throws(ConfigError) {
            let reading = try ConfigReader.load(
                path: file, ownerUID: geteuid(), lintAt: clocks.now().wall)
            errors = reading.errors
            warnings = reading.warnings
            jobs = reading.roster.jobs.count
        } catch {
            errors = [error]
        }
        for error in errors { report("\(error)") }
        for warning in warnings { report("\(warning)") }
        let found =
            Self.count(errors.count, "error")
            + (warnings.isEmpty ? "" : ", \(Self.count(warnings.count, "warning"))")
        guard errors.isEmpty else {
            report(found)
            throw ExitStatus(1)
        }
        print("\(file): \(Self.count(jobs, "job")), \(found)")
    }

    private static func count(_ number: Int, _ word: String) -> String {
        number == 0 ? "no \(word)s" : plural(number, word)
    }

    private func report(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
