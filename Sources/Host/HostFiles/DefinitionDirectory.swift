// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A directory beside a configuration file that has definitions which were made by commands, each in a file
/// `NAME.toml`. Only root and the owner of the configuration can write to it.
public struct DefinitionDirectory: Sendable {
    /// The directory of jobs that run once, in the one that has the configuration file.
    public static let oneOffs = "one-off.d"
    /// The directory of other jobs, which also has files that people write.
    public static let jobs = "jobs.d"

    private let name: String

    /// The directory that has the configuration file.
    private let parent: String
    private let config: String

    /// The directory beside a configuration file.
    ///
    /// - Parameters:
    ///   - name: of the directory.
    ///   - config: the path of the file.
    public init(_ name: String, besideConfig config: String) {
        self.name = name
        let slash = config.utf8.lastIndex(of: UInt8(ascii: "/"))
        parent = slash.map { $0 == config.startIndex ? "/" : String(config[..<$0]) } ?? "."
        self.config = slash.map { String(config[config.utf8.index(after: $0)...]) } ?? config
    }

    /// The path of the directory; relative if that of the configuration file is.
    public var path: String { "\(parent == "/" ? "" : parent)/\(name)" }

    /// Puts a definition into the directory, which is made if there is none. It is on the disk when this returns.
    ///
    /// - Parameter job: its name.
    /// - Returns: false if there is one of this name; it is as it was.
    /// - Throws: `Directory.Failure`; then nothing is there.
    public func add(_ job: String, _ bytes: [UInt8]) throws(Directory.Failure) -> Bool {
        let (directory, above) = try openOrMake()
        // Who may enter the directory may read the file: the scheduler is another user.
        let isNew = try directory.create(
            "\(job).toml", with: bytes, by: ".\(job).\(getpid()).new")
        guard isNew else { return false }
        do throws(Directory.Failure) {
            // The directory may be new, so its own entry must be on the disk as well.
            try above.sync()
        } catch {
            unlinkat(directory.descriptor, "\(job).toml", 0)
            throw error
        }
        return true
    }

    /// The directory, which is made if there is none.
    public func open() throws(Directory.Failure) -> Directory { try openOrMake().directory }

    private func openOrMake() throws(Directory.Failure) -> (directory: Directory, above: Directory)
    {
        let above = try parentDirectory()
        if try above.status(of: name) == nil { try make(in: above) }
        let directory = try above.existingSubdirectory(name)
        removeStale(directory)
        return (directory, above)
    }

    /// Removes definitions, for good when this returns. Those that are not there are fine, and so is
    /// a directory that is not there.
    public func remove(_ names: [String]) throws(Directory.Failure) {
        let above = try parentDirectory()
        guard try above.status(of: name) != nil else { return }
        let directory = try above.existingSubdirectory(name)
        for name in names where try directory.status(of: "\(name).toml") != nil {
            try directory.remove("\(name).toml")
        }
        try directory.sync()
    }

    /// How old a file is that a killed process left, in seconds: no process writes to one for so long.
    private static let leftAfter = 3600

    /// Removes the files of processes that were killed before they were done. What cannot be removed
    /// does no harm.
    private func removeStale(_ directory: Directory) {
        let end = time(nil) - Self.leftAfter
        for name in Descriptor.names(in: directory.descriptor) {
            guard name.hasPrefix("."), name.hasSuffix(".new"),
                let status = try? directory.status(of: name), status.st_mtim.tv_sec < end
            else { continue }
            unlinkat(directory.descriptor, name, 0)
        }
    }

    /// The directory that has the configuration. The daemon and the runner trust the files that are
    /// written here, so it must belong to a configuration that exists and is safe; in any other
    /// place nothing is written.
    private func parentDirectory() throws(Directory.Failure) -> Directory {
        var status = stat()
        if stat(parent, &status) == 0, status.st_uid != 0, status.st_uid != geteuid() {
            throw Directory.Failure(
                description: "\(parent): belongs to uid \(status.st_uid); do this as that user")
        }
        let above = try Directory.existing(parent)
        guard try above.status(of: config) != nil else {
            throw Directory.Failure(description: "\(parent)/\(config): there is no such file")
        }
        return above
    }

    /// Makes the directory, with the group and the mode of the one that it is in, because the
    /// scheduler reads both. It gets its name only then: if this process is killed before, the
    /// scheduler does not find a directory that it cannot read.
    private func make(in above: Directory) throws(Directory.Failure) {
        var status = stat()
        let new = ".\(name).\(getpid()).new"
        guard fstat(above.descriptor, &status) == 0,
            mkdirat(above.descriptor, new, 0o700) == 0 || errno == EEXIST
        else {
            throw Directory.Failure(description: "\(path): cannot be made: \(systemError())")
        }
        fchownat(above.descriptor, new, uid_t.max, status.st_gid, AT_SYMLINK_NOFOLLOW)
        fchmodat(above.descriptor, new, status.st_mode & 0o755, 0)
        guard renameat(above.descriptor, new, above.descriptor, name) != 0 else { return }
        let code = errno
        unlinkat(above.descriptor, new, AT_REMOVEDIR)
        // Another process may have made it at the same time.
        guard [EEXIST, ENOTEMPTY].contains(code) else {
            throw Directory.Failure(description: "\(path): cannot be made: \(systemError(code))")
        }
    }
}
