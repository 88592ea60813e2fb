// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import HostQueues
import TimerConfig
import TimerCore
import TimerDaemon

/// Edits a copy of one file of a configuration.
struct ConfigEditor {
    /// Why the file was not changed, as a sentence.
    struct Failure: Error {
        var description: String
    }

    private let config: String
    /// The path of the file in the configuration.
    private let file: String
    private let line: Int?
    private let original: EditedFile

    /// Finds the file and checks that it can be replaced.
    ///
    /// - Parameters:
    ///   - config: the main file.
    ///   - file: the file to edit; nil for that of `job`, or the main file.
    init(config: String, file: String?, job: Job.Name?) throws(Failure) {
        self.config = config
        if let job {
            let place: (file: String, line: Int)?
            do throws(ConfigError) {
                place = try ConfigReader.place(of: job, path: config, ownerUID: geteuid())
            } catch {
                throw Failure(description: "\(error)\nthe job cannot be looked for; use --file")
            }
            guard let place else {
                throw Failure(
                    description:
                        "no file that can be read has a job \"\(job)\"; name the file with --file")
            }
            (self.file, line) = (place.file, place.line)
        } else {
            self.file = file ?? config
            line = nil
        }
        original = try EditedFile(self.file)
    }

    /// Lets the user edit the file until it has no error, and replaces it.
    ///
    /// - Returns: false if nothing was changed.
    func run() throws(Failure) -> Bool {
        let copy = try EditedCopy(of: original)
        while true {
            let failure = openEditor(copy.path)
            let bytes = try copy.read()
            guard bytes != original.bytes else {
                copy.remove()
                if let failure {
                    throw Failure(description: "\(failure); \(file) was not changed")
                }
                print("\(file): not changed")
                return false
            }
            if let failure {
                throw Failure(
                    description:
                        "\(failure); \(file) was not changed; your text is in \(copy.path)")
            }
            guard let changes = check(bytes) else {
                if asksAgain() { continue }
                throw Failure(
                    description: "\(file) was not changed; your text is in \(copy.path)")
            }
            do throws(Failure) { try original.replace(with: bytes) } catch {
                throw Failure(description: "\(error.description); your text is in \(copy.path)")
            }
            copy.remove()
            print(changes)
            return true
        }
    }

    /// - Returns: what went wrong; nil if nothing did.
    private func openEditor(_ path: String) -> String? {
        let named = ["VISUAL", "EDITOR"].compactMap { (name: String) in
            getenv(name).map { String(cString: $0) }
        }.first { !$0.isEmpty }
        let editor = named ?? "sensible-editor"
        var arguments = ["/bin/sh", "-c", "exec \(editor) \"$@\"", "sh"]
        if let line, Self.takesLine(editor) { arguments.append("+\(line)") }
        arguments.append(path)
        var status = Self.run(arguments)
        // 127 means that the shell has not found the editor.
        if named == nil, status == 127 {
            arguments[2] = "exec vi \"$@\""
            status = Self.run(arguments)
        }
        switch status {
        case 0: return nil
        case 127:
            return "there is no editor \(named ?? "sensible-editor or vi"); set EDITOR to one"
        default: return "the editor ended with the status \(status)"
        }
    }

    /// Whether this editor starts at a line if it gets an argument such as `+5`.
    private static func takesLine(_ editor: String) -> Bool {
        let program = editor.split(separator: " ").first?.split(separator: "/").last ?? ""
        return [
            "vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "jed", "joe", "mg",
            "kak", "micro", "editor", "sensible-editor",
        ].contains(program) || program.hasPrefix("vim.")
    }

    private static func run(_ arguments: [String]) -> Int32 {
        var pointers: [UnsafePointer<CChar>?] = arguments.map { UnsafePointer(strdup($0)) }
        defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
        pointers.append(nil)
        return clinux_run(&pointers)
    }

    /// Prints the errors and changes of the configuration with this version of the file.
    ///
    /// - Returns: the changed jobs; nil if there is an error that was not there before.
    private func check(_ bytes: [UInt8]) -> String? {
        let old = try? load(nil)
        let new: ConfigReading
        do throws(ConfigError) { new = try load(bytes) } catch {
            Output.complain("\(error)")
            return nil
        }
        // Other files may have had errors before; these do not prevent the change.
        let before = Set(old?.errors.map(\.message) ?? [])
        let errors = new.errors.filter { $0.file == file || !before.contains($0.message) }
        for error in errors { Output.complain("\(error)") }
        guard errors.isEmpty else { return nil }
        for warning in new.warnings where warning.file == file && !warning.isNote {
            Output.complain("\(warning)")
        }
        return Self.changes(from: old?.jobSet.jobs ?? [], to: new.jobSet.jobs)
    }

    private func load(_ bytes: [UInt8]?) throws(ConfigError) -> ConfigReading {
        let now = (try? Clocks())?.now().wall
        return try ConfigReader.load(
            path: config, ownerUID: geteuid(), seed: MachineID.seed,
            checks: now.map { ConfigChecks(at: $0, asking: bytes == nil ? nil : Machine()) },
            replacing: bytes.map { (file, $0) })
    }

    /// Such as `changed: a, b`, a line for each kind of change.
    private static func changes(from old: [Job], to new: [Job]) -> String {
        let before = Dictionary(old.map { ($0.name, $0) }) { first, _ in first }
        let after = Set(new.map(\.name))
        let kinds = [
            ("added", new.filter { before[$0.name] == nil }),
            (
                "changed",
                new.filter { job in before[job.name].map { $0 != job } ?? false }
            ),
            ("removed", old.filter { !after.contains($0.name) }),
        ]
        let lines = kinds.filter { !$0.1.isEmpty }.map { word, jobs in
            "\(word): " + jobs.map(\.name.description).joined(separator: ", ")
        }
        return lines.isEmpty ? "no job is changed" : lines.joined(separator: "\n")
    }

    private func asksAgain() -> Bool {
        guard isatty(STDIN_FILENO) != 0 else { return false }
        Output.complain("Edit it again? [Y/n]")
        guard let answer = readLine() else { return false }
        return !answer.lowercased().hasPrefix("n")
    }
}
