// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerControl
import TimerImport

/// The files of switched sources in jobs.d.
final class SwitchFolder {
    private let directory: Directory
    /// By their names, with `.toml`.
    private(set) var files: [String: SwitchFile] = [:]

    /// Opens the directory beside the configuration of the daemon, for this process alone.
    ///
    /// - Throws: the exit status, after it is said why.
    init(_ connection: Connection) throws {
        let config = try connection.ask(.oneOffs(), for: OneOffsReply.self, forChange: true).config
        do throws(Directory.Failure) {
            directory = try DefinitionDirectory(DefinitionDirectory.jobs, besideConfig: config)
                .open()
        } catch {
            let hint =
                geteuid() == 0 ? "" : "; only root and the owner of the configuration can do this"
            throw Connection.fail(2, "\(error)\(hint)")
        }
        guard flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw Connection.fail(
                2,
                "\(directory.path): another `timerctl import --all --switch` or `--back` is at work; wait for its end"
            )
        }
        for name in Descriptor.names(in: directory.descriptor).sorted() {
            guard name.hasSuffix(".toml"), !name.hasPrefix("."),
                let bytes = try? directory.read(name, bytes: ImportInput.bytesMax),
                let text = String(validating: bytes, as: UTF8.self)
            else { continue }
            files[name] = SwitchFile(text)
        }
    }

    /// The path of a file.
    func path(of name: String) -> String { "\(directory.path)/\(name)" }

    /// The file of a source; nil if it has none.
    func name(of source: SwitchedSource) -> String? {
        files.filter { $0.value.source.isSame(as: source) }.map(\.key).min()
    }

    /// A name for a new file.
    func freeName(for source: SwitchedSource) -> String {
        let taken = Set(Descriptor.names(in: directory.descriptor))
        let names = (1...).lazy.map { number in
            source.stem + (number == 1 ? "" : "-\(number)") + ".toml"
        }
        return names.first { !taken.contains($0) } ?? "\(source.stem).toml"
    }

    /// Writes a file at once. It is on the disk when this returns.
    ///
    /// - Parameter isSecret: whether others than its owner and the daemon must not read a new file.
    func write(_ file: SwitchFile, as name: String, isSecret: Bool) throws(SwitchFault) {
        do throws(Directory.Failure) {
            var status = stat()
            if let old = try directory.status(of: name) {
                status = old
            } else {
                status.st_mode = isSecret ? 0o640 : 0o644
                status.st_uid = geteuid()
                status.st_gid = (isSecret ? ImportOutput.readers : nil) ?? getegid()
            }
            try directory.replace(
                name, with: Array(file.text.utf8), by: ".\(name).new", like: status)
        } catch { throw SwitchFault(error.description) }
        files[name] = file
    }

    /// Renames a file so that timerd does not read it any more. What a user has changed in it is not lost.
    func remove(_ name: String) throws(SwitchFault) {
        do throws(Directory.Failure) {
            try directory.rename(name, to: "\(name).off")
            try directory.sync()
        } catch { throw SwitchFault(error.description) }
        files[name] = nil
    }
}
