// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerConfig
import TimerCore

/// `timerd check`: reads a configuration as the daemon would, and reports errors and warnings.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check a configuration; exits with 1 on any error.",
        discussion: """
            With - it reads standard input, and no other files. What is not an error but may not be intended \
            is a warning, with a code in brackets (on a terminal, the lines of the file are shown; elsewhere they are not, \
            because they may contain secrets): \
            \(ConfigWarning.Code.all.filter { !$0.isNote }.map(\.rawValue).joined(separator: ", ")). \
            What is only worth knowing is a note: \(ConfigWarning.Code.notes.map(\.rawValue).joined(separator: ", ")).
            """)

    @Option(
        help: ArgumentHelp(
            "The same as <file>, as the other commands have it.", valueName: "file"),
        completion: .file())
    var config: String?

    @Argument(
        help: ArgumentHelp(
            "The configuration file, or - for standard input (default: \(Standard.config)).",
            valueName: "file"), completion: .file())
    var operand: String?

    private var file: String { operand ?? config ?? Standard.config }

    func validate() throws {
        if operand != nil, config != nil {
            throw ValidationError("<file> and --config exclude each other; keep one")
        }
    }

    func run() throws {
        let clocks: Clocks
        do throws(Clocks.Failure) { clocks = try Clocks() } catch {
            throw ValidationError(error.description)
        }
        // The system's daemon uses a runner that runs as root.
        let runsAsRoot = file == Standard.config && geteuid() == 0
        let own = file == Standard.config ? nil : OwnPrivileges()
        let limits = HighestLimits(ofOwnRunner: file != Standard.config || geteuid() == 0)
        let checks = ConfigChecks(
            at: clocks.now().wall,
            asking: Machine(
                MachineCheck(runsAsRoot: runsAsRoot, privileges: own, highestLimits: limits)),
            runsAsRoot: file == Standard.config)
        let reading: ConfigReading
        do throws(ConfigError) { reading = try read(checks) } catch {
            report(showsLines ? error.quotingLine : error.description)
            report(Self.count(1, "error"))
            throw ExitCode(1)
        }
        for error in reading.errors {
            report(showsLines ? error.quotingLine : error.description)
        }
        for warning in reading.warnings {
            report(showsLines ? warning.quotingLine : warning.description)
        }
        let (warnings, notes) = (reading.warningCount, reading.noteCount)
        let more = warnings + notes - reading.warnings.count
        if more > 0 { report("and \(more) more; correct the first ones to see the others") }
        let found =
            Self.count(reading.errorCount, "error")
            + (warnings == 0 ? "" : ", \(Self.count(warnings, "warning"))")
            + (notes == 0 ? "" : ", \(Self.count(notes, "note"))")
        guard reading.errorCount == 0 else {
            report(found)
            throw ExitCode(1)
        }
        print("\(file): \(Self.count(reading.jobSet.jobs.count, "job")), \(found)")
    }

    private func read(_ checks: ConfigChecks) throws(ConfigError) -> ConfigReading {
        guard file == "-" else {
            return try ConfigReader.load(
                path: file, ownerUID: geteuid(), seed: MachineID.seed, checks: checks)
        }
        return try ConfigReader.read(
            try Self.standardInput(), file: "-", seed: MachineID.seed, checks: checks)
    }

    /// A line of the file may contain a secret. The user of a terminal could read the file; who reads a log or the output
    /// of a pipeline need not be that user.
    private var showsLines: Bool { isatty(STDERR_FILENO) == 1 }

    private static func standardInput() throws(ConfigError) -> [UInt8] {
        let most = ConfigReader.bytesMax
        guard let bytes = Descriptor.read(STDIN_FILENO, upTo: most) else {
            throw ConfigError(file: "-", message: "cannot be read: \(systemError())")
        }
        guard bytes.count <= most else {
            throw ConfigError(file: "-", message: "is larger than \(most >> 20) MiB")
        }
        return bytes
    }

    private static func count(_ number: Int, _ word: String) -> String {
        number == 0 ? "no \(word)s" : plural(number, word)
    }

    private func report(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
