// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerCore
import TimerImport
import TimerZones

/// What happens with the jobs of an import; the options that all sources have.
struct ImportOutput: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the jobs to this file, such as /etc/timerd/jobs.d/cron.toml, which must not be there yet.",
            valueName: "file"),
        completion: .file(extensions: ["toml"]))
    var into: String?

    @Flag(
        help: "Print the commands that switch the source off; they are not run.")
    var disableSource = false

    @Flag(
        help:
            "Compare the next 50 firings of the source and of the jobs instead of printing the jobs."
    )
    var check = false

    func validate() throws {
        guard !check || into == nil && !disableSource else {
            throw ValidationError("--check writes nothing; remove --into and --disable-source")
        }
        guard let into else { return }
        guard into.hasSuffix(".toml"), into.utf8.last != UInt8(ascii: "/") else {
            throw ValidationError("--into: timerd reads files that end in .toml; name one of them")
        }
    }

    /// What `import` prints about a source in addition to its jobs.
    struct Source {
        /// The first line of the output, such as `Imported from /etc/crontab`.
        var title: String
        /// The commands that switch it off, and their comments, a line each.
        var disabling: [String]
        /// Whether users other than its owner can read it.
        var isPublic = true
        /// Compares the firings, for `--check`; the jobs that it cannot compare are left out, with the
        /// reason.
        var compare: (ImportResult) throws -> (compared: [FiringComparison], left: [String])
    }

    /// Prints or writes the result, with what the user must know of it on standard error.
    ///
    /// - Throws: the exit status, unless it is 0.
    func finish(_ result: ImportResult, of source: Source) throws {
        if check { return try printComparison(result, source) }
        if result.exactness != .nothingUsable, into != nil || !disableSource {
            let toml = result.toml(title: source.title)
            if let into {
                try write(toml, to: into, isSecret: !source.isPublic)
            } else {
                Terminal.put(toml)
            }
        }
        complain(result)
        if disableSource, result.exactness != .nothingUsable {
            Terminal.put(source.disabling.map { $0 + "\n" }.joined())
        }
        guard result.exactness != .exact else { return }
        throw ExitCode(result.exactness.rawValue)
    }

    /// The deviations, and what is not imported, with their places.
    private func complain(_ result: ImportResult) {
        let (shown, more) = result.report.shown
        for message in shown.compactMap(\.message) { Terminal.complain(message) }
        if more > 0 {
            Terminal.complain("timerctl: and \(more) more lines with a note or an error")
        }
        for job in result.jobs {
            for note in job.notes {
                Terminal.complain("\(job.place): job \(job.name): note: \(note)")
            }
        }
        Terminal.complain("timerctl: \(result.summary)")
    }

    private func write(_ toml: String, to file: String, isSecret: Bool) throws {
        do throws(Directory.Failure) {
            guard try Self.create(file, Array(toml.utf8), isSecret: isSecret) else {
                throw Directory.Failure(
                    description:
                        "\(file): is there already; remove it, or name another file with --into")
            }
        } catch {
            // 1 would say that it was written, with notes.
            throw Connection.fail(2, error.description)
        }
        Terminal.complain("timerctl: wrote \(file)")
    }

    /// Makes the file so that the daemon accepts it: of this user, and only this user can write to it.
    /// Who may enter its directory may read it, except for a secret, which only its group may read.
    ///
    /// - Returns: false if it is there already.
    static func create(
        _ file: String, _ bytes: [UInt8], isSecret: Bool
    ) throws(Directory.Failure) -> Bool {
        let slash = file.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(file[file.utf8.index(after: $0)...]) } ?? file
        let parent = slash.map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
        let directory = try Directory.existing(parent)
        return try directory.create(
            name, with: bytes, by: ".\(name).\(getpid()).new", mode: isSecret ? 0o640 : 0o644,
            group: isSecret ? readers : nil)
    }

    /// The group of the scheduler, which must read the configuration; nil if there is none, or if this
    /// is not root, whose own scheduler is the same user.
    static var readers: gid_t? {
        geteuid() == 0 ? UserDatabase.group(named: "timerd").entry?.gid : nil
    }

    private func printComparison(_ result: ImportResult, _ source: Source) throws {
        guard result.exactness != .nothingUsable else {
            complain(result)
            throw ExitCode(result.exactness.rawValue)
        }
        let (compared, left) = try source.compare(result)
        let differences = compared.flatMap { $0.differences(\.rfc3339) }
        Terminal.put(differences.map { $0 + "\n" }.joined())
        for reason in left { Terminal.complain(reason) }
        Terminal.complain(
            "timerctl: the next \(FiringComparison.count) firings of \(plural(compared.count, "job")) compared: "
                + (differences.isEmpty ? "no difference" : plural(differences.count, "difference")))
        guard differences.isEmpty else { throw ExitCode(1) }
    }
}

/// A file to import, read with the rights of the user.
enum ImportInput {
    /// The largest file, as for the files of a configuration.
    static let bytesMax = 8 << 20

    /// Why a file cannot be read, as a sentence.
    struct Failure: Error { var message: String }

    /// Its bytes, and whether all users may read it.
    ///
    /// - Parameter file: a path, or `-` for standard input.
    /// - Throws: an error with the exit status 2 that names the file.
    static func read(_ file: String) throws -> (bytes: [UInt8], isPublic: Bool) {
        do throws(Failure) { return try bytes(of: file) } catch { throw fail(file, error.message) }
    }

    /// The same as `read`, without printing the error.
    static func bytes(of file: String) throws(Failure) -> (bytes: [UInt8], isPublic: Bool) {
        var descriptor = STDIN_FILENO
        if file != "-" {
            // Without O_NONBLOCK, opening a FIFO would wait for a writer.
            descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            guard descriptor >= 0 else { throw Failure(message: reason()) }
        }
        defer { if file != "-" { close(descriptor) } }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(message: reason()) }
        if file != "-", status.st_mode & S_IFMT != S_IFREG {
            throw Failure(message: "not a regular file; for a pipe, use - and standard input")
        }
        guard let bytes = Descriptor.read(descriptor, upTo: bytesMax) else {
            throw Failure(message: reason())
        }
        guard bytes.count <= bytesMax else {
            throw Failure(message: "is larger than \(bytesMax >> 20) MiB; is it the right file?")
        }
        return (bytes, file == "-" || status.st_mode & 0o004 != 0)
    }

    private static func reason() -> String { String(cString: strerror(errno)) }

    static func fail(_ file: String, _ why: String) -> any Error {
        Connection.fail(2, "\(file): \(why)")
    }
}
