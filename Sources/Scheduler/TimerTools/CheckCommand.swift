// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import HostQueues
import TimerConfig
import TimerControl
import TimerCore
import TimerDaemon

/// `timerd check`: reads a configuration as the daemon would, and reports errors and warnings.
package struct CheckCommand: ParsableCommand {
    package init() {}

    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check a configuration; exits with 1 on any error.",
        discussion: """
            With - it reads standard input, and no other files. A file of a directory jobs.d, or one beside \
            --config <file>, is checked with the settings, defaults and notifiers of the main file. What is not an error but \
            may not be intended is a warning, with a code in brackets (on a terminal, the lines of the file are shown; \
            elsewhere they are not, because they may contain secrets): \
            \(ConfigWarning.Code.all.filter { !$0.isNote }.map(\.rawValue).joined(separator: ", ")). \
            What is only worth knowing is a note: \(ConfigWarning.Code.notes.map(\.rawValue).joined(separator: ", ")).
            """)

    @Option(
        help: ArgumentHelp(
            "The main file, if other files are checked; the default is the one that they belong to.",
            valueName: "file"),
        completion: .file())
    var config: String?

    @Argument(
        help: ArgumentHelp(
            "The files, or - for standard input (default: \(Standard.config)).",
            valueName: "file"), completion: .file())
    var files: [String] = []

    @Option(
        help: ArgumentHelp(
            "Show where the values of a job come from instead: the lines of its table and of [defaults], or built in.",
            valueName: "job"))
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "Print the definition of a job instead as it is written, with its file and line.",
            valueName: "job"))
    var text: String?

    /// With --text: the whole file, and an error if it has more than the job. `timerctl remove` sets it.
    @Flag(help: .private)
    var wholeFile = false

    func validate() throws {
        if origin != nil || text != nil, !files.isEmpty {
            let option = origin == nil ? "--text" : "--origin"
            throw ValidationError("\(option) reads all files; name the main one with --config")
        }
        if origin != nil, text != nil {
            throw ValidationError("--origin and --text exclude each other; keep one")
        }
    }

    func run() throws {
        if let text { return try showText(of: text) }
        if let origin {
            return try showOrigin(of: origin)
        }
        let clocks: Clocks
        do throws(Clocks.Failure) { clocks = try Clocks() } catch {
            throw ValidationError(error.description)
        }
        var isGood = true
        for file in files.isEmpty ? [config ?? Standard.config] : files {
            let main = files.isEmpty ? nil : mainFile(of: file)
            let check = FileCheckRun(file: file, main: main, now: clocks.now().wall)
            do throws(ConfigError) { isGood = try check.run() && isGood } catch {
                Output.complain(FileCheckRun.text(error))
                Output.complain(FileCheckRun.count(1, "error"))
                isGood = false
            }
        }
        if !isGood { throw ExitCode(1) }
    }

    private func showText(of name: String) throws {
        let found = try found(name, by: "--text") { job, main throws(ConfigError) in
            try ConfigReader.definition(of: job, path: main, ownerUID: geteuid())
        }
        print("# \(Printable.text(found.file)):\(found.line)")
        guard wholeFile else {
            for line in found.lines { print(Printable.text(line)) }
            return
        }
        guard let lines = found.wholeFile else {
            Output.complain("\(found.file) has more than the job \"\(name)\"")
            throw ExitCode(1)
        }
        for line in lines { print(Printable.text(line)) }
    }

    /// What the files say of a job.
    ///
    /// - Throws: an exit status, after the reason was printed, if they cannot be read or have no such job.
    private func found<Value>(
        _ name: String, by option: String,
        _ find: (Job.Name, String) throws(ConfigError) -> Value?
    ) throws -> Value {
        let main = config ?? Standard.config
        guard let job = Job.Name(name) else {
            throw ValidationError("\(option): \(Job.Name.fault(in: name) ?? "not a job name")")
        }
        let found: Value?
        do throws(ConfigError) { found = try find(job, main) } catch {
            Output.complain(FileCheckRun.text(error))
            throw ExitCode(1)
        }
        guard let found else {
            Output.complain("no file of \(main) has a job \"\(job)\"")
            throw ExitCode(1)
        }
        return found
    }

    /// Shows where each value of a job comes from. The values themselves may be secret.
    private func showOrigin(of name: String) throws {
        let origins = try found(name, by: "--origin") { job, main throws(ConfigError) in
            try ConfigReader.origins(of: job, path: main, ownerUID: geteuid())
        }
        let width = origins.map(\.key.count).max() ?? 0
        for origin in origins {
            let gap = String(repeating: " ", count: width - origin.key.count + 2)
            print(Printable.text(origin.key) + gap + Self.text(origin))
        }
    }

    private static func text(_ origin: KeyOrigin) -> String {
        guard let place = origin.place else {
            return "built in" + (origin.standard.map { ": \($0)" } ?? "")
        }
        let text = Printable.text("\(place.file):\(place.line)")
        switch place.source {
        case .job: return text
        case .defaults: return text + ", [defaults]"
        }
    }

    /// The main file of the configuration that a file belongs to; nil: it is one itself, as far as
    /// its place says.
    private func mainFile(of file: String) -> String? {
        if let config { return Standard.leads(file, to: config) ? nil : config }
        guard file != "-" else { return nil }
        let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
        guard let real = realpath(folder, nil) else { return nil }
        defer { free(real) }
        let path = String(cString: real)
        guard path.hasSuffix("/jobs.d") else { return nil }
        let main = path.dropLast("jobs.d".count) + "timerd.toml"
        return access(String(main), F_OK) == 0 ? String(main) : nil
    }
}

/// The check of one file, with what it needs to know of the whole configuration.
private struct FileCheckRun {
    /// Its path, or `-` for standard input.
    let file: String
    /// The main file of its configuration; nil: it is the main file, as far as is known.
    let main: String?
    let now: WallInstant

    /// Reports what is wrong.
    ///
    /// - Returns: whether there is no error.
    func run() throws(ConfigError) -> Bool {
        var surroundings = try main.map { (main) throws(ConfigError) in
            try ConfigReader.surroundings(path: main, ownerUID: geteuid())
        }
        let bytes = file == "-" ? try Self.standardInput() : []
        var reading = try read(bytes, surroundings)
        // A file that is not yet in its place.
        var missing: ConfigError?
        if reading.lacksTables, surroundings == nil, !Standard.isConfig(file) {
            do throws(ConfigError) {
                let found = try ConfigReader.surroundings(
                    path: Standard.config, ownerUID: geteuid())
                reading = try read(bytes, found)
                surroundings = found
            } catch { missing = error }
        }
        report(reading, surroundings)
        if let missing {
            Output.complain(
                "\(file) refers to tables that are not in it, and the main file that may have them is not usable: "
                    + "\(missing.file): \(missing.message)")
        }
        return reading.errorCount == 0
    }

    private func read(
        _ bytes: [UInt8], _ surroundings: ConfigSurroundings?
    ) throws(ConfigError) -> ConfigReading {
        // The system's daemon uses a runner that runs as root, also if a user checks its files.
        let isOfSystem = Standard.leads(surroundings?.main ?? file, to: Standard.systemConfig)
        let machine = MachineCheck(
            runsAsRoot: isOfSystem, privileges: isOfSystem ? nil : OwnPrivileges(),
            highestLimits: HighestLimits(ofOwnRunner: !isOfSystem || geteuid() == 0))
        let checks = ConfigChecks(
            at: now, asking: Machine(machine), runsAsRoot: isOfSystem)
        guard file == "-" else {
            return try ConfigReader.load(
                path: file, beside: surroundings, ownerUID: geteuid(), seed: MachineID.seed,
                checks: checks)
        }
        return try ConfigReader.read(
            bytes, file: "-", beside: surroundings, ownerUID: geteuid(), seed: MachineID.seed,
            checks: checks)
    }

    private func report(_ reading: ConfigReading, _ surroundings: ConfigSurroundings?) {
        for error in reading.errors { Output.complain(Self.text(error)) }
        for warning in reading.warnings {
            Output.complain(Self.showsLines ? warning.quotingLine : warning.description)
        }
        let (warnings, notes) = (reading.warningCount, reading.noteCount)
        let more = warnings + notes - reading.warnings.count
        if more > 0 {
            Output.complain("and \(more) more; correct the first ones to see the others")
        }
        let found =
            Self.count(reading.errorCount, "error")
            + (warnings == 0 ? "" : ", \(Self.count(warnings, "warning"))")
            + (notes == 0 ? "" : ", \(Self.count(notes, "note"))")
            + (surroundings.map { " (with the settings, defaults and notifiers of \($0.main))" }
                ?? "")
        guard reading.errorCount == 0 else { return Output.complain(found) }
        print("\(file): \(Self.count(reading.jobSet.jobs.count, "job")), \(found)")
    }

    /// A line of the file may contain a secret. The user of a terminal could read the file; who reads a log or the
    /// output of a pipeline need not be that user.
    private static var showsLines: Bool { isatty(STDERR_FILENO) == 1 }

    static func text(_ error: ConfigError) -> String {
        showsLines ? error.quotingLine : error.description
    }

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

    static func count(_ number: Int, _ word: String) -> String {
        number == 0 ? "no \(word)s" : plural(number, word)
    }
}
