// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl

struct MetricsVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Print metrics for Prometheus.",
        discussion: """
            With --output they are written to a file for the textfile collector of node_exporter. The file is \
            replaced at once, so that a reader never sees a part of it; if no daemon answers, it stays as it is.
            """)
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write them to this file, with mode 0644.", valueName: "file"),
        completion: .file())
    var output: String?

    func run() throws {
        let text = try connection.body(.metrics())
        guard let output else {
            var raw = RawOutput()
            raw.write(text[...])
            return raw.finish()
        }
        do throws(FileReplacement.Failure) {
            try FileReplacement.write(text, to: output)
        } catch {
            throw Connection.fail(1, error.description)
        }
    }
}

/// Puts a new file in the place of another one in one step. It may be in a directory of another user, where links are
/// not followed.
enum FileReplacement {
    struct Failure: Error {
        let description: String
    }

    /// Replaces the file at `path`, which need not exist, by one with mode 0644.
    ///
    /// - Throws: `Failure`; the file there is unchanged.
    static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let slash = path.lastIndex(of: "/")
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard !name.isEmpty, name != ".", name != ".." else {
            throw Failure(description: "\(path): this is not the path of a file")
        }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failure(folder, "cannot be opened") }
        defer { close(directory) }
        // The textfile collector reads the files that end in .prom: this one does not.
        let new = ".\(name).\(getpid())"
        _ = unlinkat(directory, new, 0)
        let file = openat(
            directory, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(path, "cannot be written") }
        defer { close(file) }
        do throws(Failure) {
            try fill(file, with: bytes, path)
            guard renameat(directory, new, directory, name) == 0 else {
                throw failure(path, "cannot be replaced")
            }
        } catch {
            unlinkat(directory, new, 0)
            throw error
        }
    }

    private static func fill(
        _ file: Int32, with bytes: [UInt8], _ path: String
    ) throws(Failure) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes {
                Glibc.write(file, $0.baseAddress, $0.count)
            }
            guard count > 0 || (count < 0 && errno == EINTR) else {
                throw failure(path, "cannot be written")
            }
            written += max(0, count)
        }
        // Whatever the umask is: another user reads it.
        guard fchmod(file, 0o644) == 0 else { throw failure(path, "its mode cannot be set") }
    }

    private static func failure(_ path: String, _ what: String) -> Failure {
        Failure(description: "\(path): \(what): \(String(cString: strerror(errno)))")
    }
}
